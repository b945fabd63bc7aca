//! Builds the regular expressions of this crate. They are constants; the engine is linear in its input.

use std::ops::Deref;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A pattern that is built when it is first needed.
#[derive(Debug)]
pub(crate) struct Pattern(LazyLock<Regex>);

impl Pattern {
    pub(crate) const fn new(build: fn() -> Regex) -> Self {
        Self(LazyLock::new(build))
    }

    /// The groups, where it matches. Most lines do not, and to find that out is many times faster without groups.
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        if self.0.is_match(text) { self.0.captures(text) } else { None }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}

/// With words as ASCII has them: by Unicode's, each line that is not ASCII would be searched a hundred times slower.
pub(crate) fn ascii_words(text: &str) -> String {
    text.replace(r"\b", r"(?-u:\b)")
}

/// Builds one; every caller passes a literal.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(&ascii_words(text))
        .expect("patterns are literals, and the fixtures build each of them")
}

/// A captured group as text, empty where it took no part.
pub(crate) fn group<'t>(captures: &Captures<'t>, index: usize) -> &'t str {
    captures.get(index).map_or("", |it| it.as_str())
}

/// A captured number that fits.
pub(crate) fn number(captures: &Captures<'_>, index: usize) -> Option<u32> {
    captures.get(index).and_then(|it| it.as_str().parse().ok())
}
