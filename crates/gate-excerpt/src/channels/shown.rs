//! Reads the text that a document keeps of a failure: what it says, and where it failed in the project's own files.

use gate_core::Location;

use crate::clean::Log;
use crate::limits::BLOCK_LINES_MAX;
use crate::parsers::{Context, text_place};

/// The message of a failure's text, without its stack, and the place in the project's own files.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) message: String,
    pub(super) location: Option<Location>,
    /// Cleaned of colours.
    pub(super) text: String,
}

/// Reads a failure's text in whatever form its runner prints it.
pub(super) fn read(text: &str, cx: &Context<'_>) -> Shown {
    let log = Log::read(text.as_bytes());
    let inner = Context { log: &log, taken: &vec![false; log.len()], ..*cx };
    let lines = || log.slice(0..log.len().min(BLOCK_LINES_MAX));
    let (told, location) = text_place(&inner);
    let first = lines().map(|it| it.1.trim()).find(|it| !it.is_empty()).unwrap_or_default();
    let message = told.filter(|it| !it.is_empty()).unwrap_or_else(|| first.to_owned());
    let text: Vec<&str> = lines().map(|it| it.1).collect();
    Shown { message, location, text: text.join("\n") }
}
