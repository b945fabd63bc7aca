//! Where a diff does not fit, from git's words: which file, which line, which hunk.

use std::fmt;

/// More places than these are not told.
const PLACES_MAX: usize = 5;
const WORDS_CHARS_MAX: usize = 500;

/// Why git did not take a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    places: Vec<Place>,
    /// What else git says.
    words: Vec<String>,
}

/// A hunk that does not fit.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    path: String,
    /// Of the baseline's file, as the hunk's head has it.
    line: u64,
    /// Its number in the file, and its own line in the diff, where it is found.
    hunk: Option<(usize, usize)>,
}

impl Refusal {
    /// Reads what `git apply` printed.
    pub(super) fn read(words: &str, diff: &str) -> Self {
        let mut refusal = Self::default();
        for line in words.lines() {
            let line = line.trim_start_matches("error: ").trim_start_matches("fatal: ");
            let place = line.strip_prefix("patch failed: ").and_then(|it| it.rsplit_once(':'));
            if let Some((path, Ok(line))) = place.map(|(path, line)| (path, line.parse())) {
                let hunk = hunk(diff, path, line);
                refusal.places.push(Place { path: path.to_owned(), line, hunk });
            } else if !line.ends_with(": patch does not apply") && !line.trim().is_empty() {
                let line = line.replace("in index", "in the baseline");
                refusal.words.push(line.chars().filter(|it| !it.is_control()).collect());
            }
        }
        refusal
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> =
            self.places.iter().take(PLACES_MAX).map(ToString::to_string).collect();
        if let more @ 1.. = self.places.len().saturating_sub(PLACES_MAX) {
            parts.push(format!("{more} more hunks do not fit"));
        }
        parts.extend(self.words.iter().take(PLACES_MAX).cloned());
        if parts.is_empty() {
            parts.push("git refused it without a word".to_owned());
        }
        let text: String = parts.join("; ").chars().take(WORDS_CHARS_MAX).collect();
        f.write_str(&text)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: String = self.path.chars().flat_map(char::escape_debug).collect();
        match self.hunk {
            Some((number, at)) => write!(
                f,
                "hunk {number} of `{path}` (line {at} of the diff) does not fit the baseline at line {}",
                self.line
            ),
            None => write!(f, "a hunk of `{path}` does not fit the baseline at line {}", self.line),
        }
    }
}

/// Finds the hunk of a file that begins at this line of the old file. It informs only: git decided.
fn hunk(diff: &str, path: &str, line: u64) -> Option<(usize, usize)> {
    let mut is_here = false;
    let mut number = 0;
    // Lines of the hunk that are still to come, in the old and in the new file.
    let mut left = (0_u64, 0_u64);
    for (index, text) in diff.lines().enumerate() {
        if left != (0, 0) {
            match text.bytes().next() {
                Some(b'-') => left.0 = left.0.saturating_sub(1),
                Some(b'+') => left.1 = left.1.saturating_sub(1),
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
            continue;
        }
        if let Some(name) = text.strip_prefix("+++ ").or_else(|| text.strip_prefix("--- ")) {
            let name = name.split('\t').next().unwrap_or(name);
            let is_new_file = text.starts_with("--- ");
            let matches = name.trim_end().split_once('/').is_some_and(|(_, it)| it == path);
            is_here = matches || (is_here && !is_new_file);
            number = 0;
        } else if let Some((old, new)) = ranges(text) {
            number += 1;
            if is_here && old.0 == line {
                return Some((number, index + 1));
            }
            left = (old.1, new.1);
        }
    }
    None
}

/// The start and the length on both sides of `@@ -a,b +c,d @@`.
fn ranges(line: &str) -> Option<((u64, u64), (u64, u64))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a b/src/a\n--- a/src/a\n+++ b/src/a\n\
        @@ -1,2 +1,2 @@\n-@@ -9,1 +9,1 @@\n+x\n same\n@@ -12,1 +12,2 @@ fn x\n-old\n+new\n+--- a/b\n\
        --- a/src/b\n+++ b/src/b\n@@ -12 +12 @@\n-old\n+new\n";

    #[test]
    fn a_hunk_that_does_not_fit_is_told_with_its_place() {
        let words = "error: patch failed: src/a:12\nerror: src/a: patch does not apply\n\
            error: patch failed: src/b:12\nerror: src/b: patch does not apply\n";
        let told = Refusal::read(words, DIFF).to_string();
        assert_eq!(
            told,
            "hunk 2 of `src/a` (line 8 of the diff) does not fit the baseline at line 12; \
             hunk 1 of `src/b` (line 14 of the diff) does not fit the baseline at line 12"
        );
        assert_eq!(hunk(DIFF, "src/a", 9), None);
        assert_eq!(hunk(DIFF, "src/c", 12), None);
    }

    #[test]
    fn other_words_are_kept_and_bounded() {
        let read = |words: &str| Refusal::read(words, DIFF).to_string();
        assert_eq!(read("error: corrupt patch at line 7\n"), "corrupt patch at line 7");
        assert_eq!(
            read("error: x: does not exist in index\n"),
            "x: does not exist in the baseline"
        );
        assert_eq!(read(""), "git refused it without a word");
        assert!(read(&"error: patch failed: a:1\n".repeat(50)).contains("45 more hunks"));
        assert!(read(&"x".repeat(9_000)).chars().count() <= WORDS_CHARS_MAX);
    }
}
