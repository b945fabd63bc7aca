//! Text of unknown origin as Markdown: no output can end its own quotation, or move the cursor of who reads it.

/// A quotation of one line.
pub(super) fn code(text: &str) -> String {
    let text = clean_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A quotation of lines.
pub(super) fn block(text: &str) -> String {
    let text = clean(text.trim_end());
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

/// Without control characters; the end of a line is shown as a sign.
pub(super) fn clean_line(text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']).replace("\r\n", "\n");
    text.chars().map(|it| if it == '\n' { '↵' } else { visible(it) }).collect()
}

/// Cut between characters, with a mark that says how much is missing.
pub(super) fn shorten(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(bytes_max);
    format!("{} [… {} bytes left out]", &text[..kept], text.len() - kept)
}

/// As many of the items as fit, and how many did not.
pub(super) fn list(items: Vec<String>, bytes_max: usize) -> String {
    let all = items.len();
    let mut text = String::new();
    for (shown, item) in items.into_iter().enumerate() {
        let item = format!("- {item}\n");
        if text.len() + item.len() > bytes_max {
            text.extend(["- and ", &(all - shown).to_string(), " more\n"]);
            break;
        }
        text.push_str(&item);
    }
    text
}

fn clean(text: &str) -> String {
    text.chars().map(|it| if it == '\n' { it } else { visible(it) }).collect()
}

fn visible(it: char) -> char {
    if it.is_control() && it != '\t' { '\u{fffd}' } else { it }
}

fn longest_run(text: &str) -> usize {
    text.split(|it| it != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_cannot_be_ended_by_what_it_quotes() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("`a` b"), "`` `a` b ``");
        assert_eq!(code("one\ntwo\x1b[31m"), "`one↵two\u{fffd}[31m`");
        assert_eq!(block("````\n# PASS"), "`````\n````\n# PASS\n`````\n");
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("aéé", 2), "a [… 4 bytes left out]");
        let items = ["one", "two", "three"].map(str::to_owned).to_vec();
        assert_eq!(list(items, 12), "- one\n- two\n- and 1 more\n");
    }
}
