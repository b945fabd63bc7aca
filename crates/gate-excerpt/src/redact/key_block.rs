//! Private keys: what stands between `-----BEGIN … PRIVATE KEY-----` and its end, or as far as it looks like a key.

use std::ops::Range;

use super::class::Class;

pub(super) const BEGIN: &str = "-----BEGIN ";
pub(super) const END: &str = "-----END ";

/// More is not one key.
pub(super) const BLOCK_BYTES_MAX: usize = 32 * 1024;
/// The words of a first line.
const TITLE_BYTES_MAX: usize = 64;
/// A line of a key in which something else stands first must be this long.
const PREFIXED_BYTES_MIN: usize = 40;

/// The key that begins with the line at `at`.
pub(super) fn after_begin(text: &[u8], at: usize) -> Option<Range<usize>> {
    let title = at + BEGIN.len();
    let start = title + title_end(&text[title..])?;
    let limit = text.len().min(start + BLOCK_BYTES_MAX);
    let mut end = start;
    let mut line = start;
    while line < limit {
        let stop =
            text[line..limit].iter().position(|it| *it == b'\n').map_or(limit, |it| line + it);
        let closes = find(&text[line..stop], END.as_bytes()).map(|it| line + it);
        let words = &text[line..closes.unwrap_or(stop)];
        if is_material(words) || is_header(words) {
            end = closes.unwrap_or(stop);
        } else if is_prefixed(words) {
            end = stop;
        } else {
            // What stands before the mark of the end is a prefix of the line.
            end = closes.filter(|_| line > start).map_or(end, |_| line);
            break;
        }
        if closes.is_some() {
            break;
        }
        line = stop + 1;
    }
    let body = text[start..end].trim_ascii();
    (body.len() >= 4).then_some(start..end)
}

/// The lines of a key whose first one was cut off, above the end at `at`.
pub(super) fn before_end(text: &[u8], at: usize) -> Option<Range<usize>> {
    title_end(&text[at + END.len()..])?;
    let floor = at.saturating_sub(BLOCK_BYTES_MAX);
    let mut start = at;
    while start > floor {
        let above = &text[floor..start - 1];
        let line = above.iter().rposition(|it| *it == b'\n').map_or(floor, |it| floor + it + 1);
        let words = text[line..start].trim_ascii();
        if words.is_empty() || !is_material(words) || words.contains(&b' ') {
            break;
        }
        start = line;
    }
    (start < at).then_some(start..at)
}

/// Behind `RSA PRIVATE KEY-----`.
fn title_end(text: &[u8]) -> Option<usize> {
    let title = &text[..text.len().min(TITLE_BYTES_MAX)];
    let end = find(title, b"-----")?;
    let is_key = find(&title[..end], b"PRIVATE KEY").is_some()
        && title[..end]
            .iter()
            .all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == b' ');
    is_key.then_some(end + 5)
}

/// Base64, as it is written in files and in the strings of programs.
fn is_material(line: &[u8]) -> bool {
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let is_escape = byte == b'\\' && bytes.next_if(|it| matches!(it, b'n' | b'r')).is_some();
        let is_plain = byte.is_ascii_alphanumeric() || b"+/=\r \t\"'".contains(&byte);
        if !is_escape && !is_plain {
            return false;
        }
    }
    // Words of a sentence are no key.
    let words = line.split(|it| matches!(it, b' ' | b'\t')).filter(|it| !it.is_empty());
    words.count() <= 1
}

/// `Proc-Type: 4,ENCRYPTED`.
fn is_header(line: &[u8]) -> bool {
    let names: [&[u8]; 5] =
        [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: ", b"Charset: "];
    names.iter().any(|it| line.trim_ascii_start().starts_with(it))
}

/// A line of a key behind a time or a step.
fn is_prefixed(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let start =
        line.iter().rposition(|it| matches!(it, b' ' | b'\t' | b'|')).map_or(0, |it| it + 1);
    let word = &line[start..];
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    word.len() >= PREFIXED_BYTES_MIN
        && word.iter().all(|it| Class::Alphanumeric.has(*it) || b"+/=".contains(it))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}
