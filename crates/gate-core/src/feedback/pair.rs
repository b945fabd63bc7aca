//! The two sides of a comparison, shortened together: where they differ is what must stay.

/// Shown of what both sides begin with.
const SAME_BYTES: usize = 60;

/// Both sides within `bytes_max` each, and the marks beside that; what is left out is what they have in common first.
#[must_use]
pub fn shorten_pair(expected: &str, actual: &str, bytes_max: usize) -> (String, String) {
    if expected.len().max(actual.len()) <= bytes_max {
        return (expected.to_owned(), actual.to_owned());
    }
    let same = expected.bytes().zip(actual.bytes()).take_while(|(one, two)| one == two).count();
    let start = if same >= expected.len().min(actual.len()).max(bytes_max / 2) {
        // One is the start of the other: its end is the difference.
        same.saturating_sub(bytes_max / 2)
    } else if same > bytes_max / 2 {
        same.saturating_sub(SAME_BYTES)
    } else {
        0
    };
    (window(expected, start, bytes_max), window(actual, start, bytes_max))
}

fn window(text: &str, start: usize, bytes_max: usize) -> String {
    let start = text.floor_char_boundary(start.min(text.len()));
    let end = text.floor_char_boundary((start + bytes_max).min(text.len()));
    let before = mark(start);
    let after = mark(text.len() - end);
    format!("{before}{}{after}", &text[start..end])
}

fn mark(bytes: usize) -> String {
    if bytes == 0 { String::new() } else { format!("[… {bytes} bytes left out]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sides_stay_as_they_are() {
        assert_eq!(shorten_pair("1", "2", 10), ("1".to_owned(), "2".to_owned()));
    }

    #[test]
    fn where_long_sides_differ_is_shown() {
        let same = "x".repeat(1000);
        let (expected, actual) =
            shorten_pair(&format!("{same}é{same}"), &format!("{same}e{same}"), 200);
        assert!(expected.starts_with("[… 940 bytes left out]") && expected.contains('é'));
        assert!(actual.starts_with("[… 940 bytes left out]") && actual.contains('e'));
        assert!(expected.ends_with(" bytes left out]"), "{expected}");
    }

    #[test]
    fn a_side_that_ends_too_early_is_shown_with_its_end() {
        let long = "y".repeat(900);
        let (expected, actual) = shorten_pair(&format!("{long}!"), &long, 100);
        assert_eq!(expected, format!("[… 850 bytes left out]{}!", "y".repeat(50)));
        assert_eq!(actual, format!("[… 850 bytes left out]{}", "y".repeat(50)));
    }

    #[test]
    fn sides_that_differ_at_once_keep_their_start() {
        let (expected, actual) = shorten_pair(&"a".repeat(300), "b", 100);
        assert_eq!(expected, format!("{}[… 200 bytes left out]", "a".repeat(100)));
        assert_eq!(actual, "b");
    }
}
