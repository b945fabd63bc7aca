//! Reads stacks of JavaScript. Shared by its runners and the generic reader.

use std::ops::Range;

use super::{Context, LogParser};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};

/// `at f (a.js:1:2)`, `at a.js:1:2`, `❯ f a.ts:1:2`.
static FRAME: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:at|❯) (?:.*\()?(?:async )?(?:\S+ )?((?:file://)?[^\s():][^\s()]*?):(\d+):(\d+)\)?(?: \{)?$",
    )
});
static CODE_FRAME: Pattern = Pattern::new(|| pattern(r"^\s*> *(\d+) \|"));

/// The file and line of one frame.
pub(crate) fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let text = line.trim_start();
    if !text.starts_with("at ") && !text.starts_with('❯') {
        return None;
    }
    let found = FRAME.captures(line)?;
    Some(cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3)))
}

/// The topmost frame in the project's own files, which is the deepest.
pub(crate) fn own_frame(cx: &Context<'_>, range: Range<usize>) -> Option<(usize, Place)> {
    let frames = cx.log.slice(range).filter_map(|(at, line)| Some((at, frame(cx, line)?)));
    frames.into_iter().find(|it| it.1.is_own)
}

/// The line that a runner marks in the source that it shows.
pub(crate) fn code_frame_line(cx: &Context<'_>, range: Range<usize>) -> Option<(usize, u32)> {
    cx.log.slice(range).find_map(|(at, line)| {
        let found = CODE_FRAME.captures(line)?;
        Some((at, number(&found, 1)?))
    })
}

/// Whether the command's words run this tool once: then its last summary is its own, whatever its tests print.
pub(crate) fn is_one_run(cx: &Context<'_>, parser: &dyn LogParser) -> bool {
    cx.is_named && cx.calls.iter().filter(|it| parser.is_called(it)).count() == 1
}

/// Whether the line shows one side of a comparison.
pub(crate) fn is_side(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("Expected") || text.starts_with("Received") || is_difference(text)
}

fn is_difference(text: &str) -> bool {
    text.starts_with("- ")
        || text.starts_with("+ ")
        || text.starts_with("-\t")
        || text.starts_with("+\t")
}
