//! Small readings of lines that several parsers share.

use std::ops::Range;

use gate_core::Location;

use super::{Context, LogParser};
use crate::paths::Place;

/// The texts in one line, without blank ones.
pub(super) fn joined<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut line = String::new();
    for text in texts.into_iter().map(str::trim).filter(|it| !it.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(text);
    }
    line
}

/// Of the runs that the command's words start once, the last is the runner's own: what is printed before is a test's.
pub(super) fn keep_own<T>(cx: &Context<'_>, parser: &dyn LogParser, runs: &mut Vec<T>) {
    if cx.is_named && cx.calls.iter().filter(|it| parser.is_called(it)).count() == 1 {
        runs.drain(..runs.len().saturating_sub(1));
    }
}

/// No more runs end than have started: the runner's own summaries are the last ones.
pub(super) fn keep_started<T>(starts: usize, runs: &mut Vec<T>) {
    if starts > 0 {
        runs.drain(..runs.len().saturating_sub(starts));
    }
}

/// The first line of a range that gives a place in the project's own files.
pub(super) fn first_own(
    cx: &Context<'_>,
    range: Range<usize>,
    place: impl Fn(&str) -> Option<Place>,
) -> Option<(usize, Place)> {
    let mut found = cx.log.slice(range).filter_map(|(at, line)| Some((at, place(line)?)));
    found.find(|it| it.1.is_own)
}

/// A count in the text: `12`, `1,234`.
pub(super) fn count(text: &str) -> u64 {
    text.trim().replace(',', "").parse().unwrap_or(0)
}

/// What tells one message at one place from another, so that each is told once.
pub(super) fn key(message: &str, location: Option<&Location>) -> String {
    let place = location.map(|it| format!("{}:{:?}:{:?}", it.file, it.line, it.column));
    format!("{}\0{message}", place.unwrap_or_default())
}
