//! Reads Rust panics: what the panic says, and the place in the project's own files. Shared by the runners of Rust tests.

use std::ops::Range;

use super::Context;
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};

static PANIC: Pattern =
    Pattern::new(|| pattern(r"^\s*thread '(.+?)'(?: \(\d+\))? panicked at (.+?):(\d+):(\d+):$"));
/// As printed before Rust 1.73.
static OLD_PANIC: Pattern =
    Pattern::new(|| pattern(r"^\s*thread '(.+?)' panicked at '(.*)', (.+?):(\d+):(\d+)$"));
static FRAME: Pattern = Pattern::new(|| pattern(r"^\s+at (.+?):(\d+)(?::(\d+))?$"));
static SNAPSHOT_SOURCE: Pattern = Pattern::new(|| pattern(r"^\s*Source: (\S+?):(\d+)$"));
static SIDE: Pattern = Pattern::new(|| pattern(r"^\s*(left|right): (.*)$"));

/// Lines before a panic in which a snapshot library names its place.
const SNAPSHOT_LINES_MAX: usize = 500;
/// Lines of a panic's message.
const MESSAGE_LINES_MAX: usize = 40;

/// One panic.
#[derive(Debug)]
pub(super) struct Panic<'t> {
    pub(super) thread: &'t str,
    pub(super) message: String,
    pub(super) place: Place,
    /// Its first line and those of its message.
    pub(super) lines: Range<usize>,
}

/// Whether the line starts a panic.
pub(super) fn is_start(line: &str) -> bool {
    line.contains("panicked at") && (PANIC.is_match(line) || OLD_PANIC.is_match(line))
}

/// The first panic of a range, in time; a later one is often what the first one led to.
pub(super) fn first<'a>(cx: &Context<'a>, range: Range<usize>) -> Option<Panic<'a>> {
    all(cx, range).next()
}

/// The panics of a range.
pub(super) fn all<'a>(
    cx: &Context<'a>,
    range: Range<usize>,
) -> impl Iterator<Item = Panic<'a>> + use<'a> {
    let cx = *cx;
    let starts = cx.log.slice(range.clone()).filter(|(_, line)| line.contains("panicked at"));
    starts.filter_map(move |(index, line)| read(&cx, index, line, range.clone()))
}

fn read<'a>(
    cx: &Context<'a>,
    index: usize,
    line: &'a str,
    range: Range<usize>,
) -> Option<Panic<'a>> {
    let (thread, file, at, mut message) = if let Some(found) = PANIC.captures(line) {
        let thread = found.get(1)?.as_str();
        (thread, found.get(2)?.as_str(), (number(&found, 3), number(&found, 4)), String::new())
    } else {
        let found = OLD_PANIC.captures(line)?;
        let thread = found.get(1)?.as_str();
        let message = group(&found, 2).to_owned();
        (thread, found.get(3)?.as_str(), (number(&found, 4), number(&found, 5)), message)
    };
    let mut end = index + 1;
    let mut sides = Vec::new();
    for (at, line) in cx.log.slice(index + 1..range.end).take(MESSAGE_LINES_MAX) {
        if ends_message(line) {
            break;
        }
        end = at + 1;
        match SIDE.captures(line) {
            Some(found) => sides.push(format!("{}: {}", group(&found, 1), group(&found, 2))),
            None => {
                message.push(' ');
                message.push_str(line.trim());
            }
        }
    }
    let mut message = message.trim().to_owned();
    if !sides.is_empty() {
        message = format!("{message} ({})", sides.join(", "));
    }
    let place = own_place(cx, cx.paths.place(file, at.0, at.1), index, range);
    Some(Panic { thread, message, place, lines: index..end })
}

fn ends_message(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty()
        || text.starts_with("note: ")
        || text.starts_with("stack backtrace:")
        || text.starts_with("thread '")
        || text.starts_with("---- ")
        || text.starts_with("test result: ")
}

/// A panic in a library: the nearest own frame of its backtrace, or the place that a snapshot library names.
fn own_place(cx: &Context<'_>, place: Place, index: usize, range: Range<usize>) -> Place {
    if place.is_own {
        return place;
    }
    let stack = cx.log.slice(index + 1..range.end).take_while(|it| !is_start(it.1));
    let frames = stack
        .filter_map(|(_, line)| FRAME.captures(line))
        .map(|found| cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3)));
    let snapshots = cx.log.slice(range.start.max(index.saturating_sub(SNAPSHOT_LINES_MAX))..index);
    let sources = snapshots
        .filter_map(|(_, line)| SNAPSHOT_SOURCE.captures(line))
        .map(|found| cx.paths.place(group(&found, 1), number(&found, 2), None));
    frames.chain(sources).find(|it| it.is_own).unwrap_or(place)
}
