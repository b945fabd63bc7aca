//! The bytes that secrets are made of.

/// A set of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `A-Z0-9`.
    Upper,
    /// `0-9a-f`, in either case.
    Hex,
    /// `A-Za-z0-9`.
    Alphanumeric,
    /// Those, and `_`.
    Word,
    /// Those, and `-`.
    Dashed,
    /// Those, and `.`.
    Dotted,
    /// `A-Za-z0-9+/=`, `_`, `-`, `%`, and what else stands in tokens of headers.
    Token,
    /// All that is not blank, a quote, or the end of something.
    Value,
}

impl Class {
    pub(super) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Token => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
            }
            Self::Value => {
                !byte.is_ascii_whitespace()
                    && !byte.is_ascii_control()
                    && !matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'&')
            }
        }
    }

    /// How many bytes from here on are of it.
    pub(super) fn run(self, text: &[u8]) -> usize {
        let bytes = text.iter().take_while(|it| self.has(**it)).count();
        #[cfg(test)]
        work::add(bytes);
        bytes
    }
}

/// Whether it is made by a machine, by its looks: letters with digits, and nothing that code is made of.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    value.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !has(|it| b"<>()[]{}|\\".contains(it))
        && !value.starts_with(b"0x")
        && !value.windows(2).any(|it| it == b"::")
        && !is_place(value)
}

/// A path, a variable, or a placeholder: where a secret would be, and not one.
pub(super) fn is_place(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or(b' ');
    let is_drive = value.len() > 2 && first.is_ascii_alphabetic() && &value[1..3] == b":\\";
    b"/.~$<{[(%*&!".contains(&first) || is_drive
}

/// How many bytes were looked at, for the tests.
#[cfg(test)]
pub(super) mod work {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(bytes: usize) {
        BYTES.with(|it| it.set(it.get() + bytes));
    }

    pub(crate) fn bytes(of: impl FnOnce()) -> usize {
        BYTES.with(|it| it.set(0));
        of();
        BYTES.with(Cell::get)
    }
}
