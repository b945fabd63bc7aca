//! Builds the regular expressions of this crate. They are constants; the engine is linear in its input.

use std::sync::LazyLock;

use regex::Regex;

/// A pattern that is built when it is first needed.
pub(crate) type Pattern = LazyLock<Regex>;

/// Builds one; every caller passes a literal.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("patterns are literals, and the fixtures build each of them")
}

/// A captured group as text, empty where it took no part.
pub(crate) fn group<'t>(captures: &regex::Captures<'t>, index: usize) -> &'t str {
    captures.get(index).map_or("", |it| it.as_str())
}

/// A captured number that fits.
pub(crate) fn number(captures: &regex::Captures<'_>, index: usize) -> Option<u32> {
    captures.get(index).and_then(|it| it.as_str().parse().ok())
}
