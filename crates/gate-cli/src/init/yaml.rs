//! Texts as YAML: plain where that is safe, else in quotes; and comments that stay comments whatever they say.

use std::fmt::Write;

/// Columns of a comment; a longer word has a line of its own.
const COLUMNS_MAX: usize = 110;

/// Plain words that YAML, in one of its versions, takes for something else than a text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// One line that is read as this text.
pub(super) fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for it in text.chars() {
        match it {
            '"' | '\\' => quoted.extend(['\\', it]),
            // Not printable for YAML, or the end of a line.
            _ if it.is_control() || matches!(it, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                write!(quoted, "\\u{:04x}", u32::from(it)).expect("a text can be written to");
            }
            _ => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

/// A list on one line.
pub(super) fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|it| scalar(it.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// The text as lines that begin with `#`, each with this many blanks before it.
pub(super) fn comment(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    let text: String = text.chars().map(|it| if is_line_safe(it) { it } else { ' ' }).collect();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.len() + word.len() + 3 > COLUMNS_MAX {
            push_comment(&mut lines, &line, indent);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    push_comment(&mut lines, &line, indent);
    lines
}

fn push_comment(lines: &mut String, line: &str, indent: usize) {
    writeln!(lines, "{:indent$}# {line}", "").expect("a text can be written to");
}

fn is_line_safe(it: char) -> bool {
    !it.is_control() && !matches!(it, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// Whether it is a text in every version of YAML, also inside of brackets.
fn is_plain(text: &str) -> bool {
    let letter = |it: char| it.is_ascii_alphanumeric() || "_./@+=-".contains(it);
    let mut rest = text.chars().skip_while(|it| "-./".contains(*it));
    // What begins like a number may be one.
    let begins = rest.next().is_some_and(|it| it.is_ascii_alphabetic());
    let is_reserved = RESERVED.contains(&text.to_ascii_lowercase().as_str());
    begins && text.chars().all(letter) && !is_reserved && !is_odd_number(text)
}

/// `.inf` and `.nan`, with or without a sign.
fn is_odd_number(text: &str) -> bool {
    let bare = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    matches!(bare.as_str(), ".inf" | ".nan")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "cargo",
            "--locked",
            "-D",
            "--",
            "./...",
            "tests/**",
            "true",
            "No",
            "-.inf",
            "12",
            "1e3",
            "0x1f",
            "a: b",
            "a #b",
            "\"\\",
            "",
            " ",
            "a\nb\u{85}\u{2028}\u{7f}",
            "[x]",
            "{a,b}",
            "é\u{1f600}",
            "--x=y",
            "@scope/x",
            "~",
            "-",
            "...",
        ] {
            let read: Vec<String> = serde_saphyr::from_str(&list([text])).unwrap();
            assert_eq!(read, [text], "{}", list([text]));
        }
    }

    #[test]
    fn a_comment_stays_one_whatever_it_says() {
        let text = comment("a\nchecks: []\u{2028}b\rc", 2);
        assert_eq!(text, "  # a checks: [] b c\n");
        assert!(comment(&"word ".repeat(80), 4).lines().all(|it| it.len() <= COLUMNS_MAX));
    }
}
