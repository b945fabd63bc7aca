//! What stands around a diagnostic: how the compiler came to a header or a template, its source lines, its notes.

use super::Directories;
use crate::parsers::Context;
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};

/// Lines before an error in which its way is told.
const BEFORE_LINES: usize = 60;
/// Lines after an error in which its notes stand.
const AFTER_LINES: usize = 60;
/// Lines that are shown below an error.
const SHOWN_LINES: usize = 8;

/// `a.cpp:8:12:   required from here`, and the steps before it.
static REQUIRED: Pattern = Pattern::new(|| {
    pattern(
        r"^(\S[^:]*):(\d+):(?:(\d+):)?\s+(?:recursively )?(?:required (?:from|by)|in ['‘]?constexpr).*$",
    )
});
static INCLUDED: Pattern =
    Pattern::new(|| pattern(r"^(?:In file included from| +from) (.+?):(\d+)(?::(\d+))?[,:]$"));
/// Clang tells the way after the error.
static NOTE: Pattern = Pattern::new(|| {
    pattern(
        r"^(\S[^:]*):(\d+):(\d+): note: (?:in instantiation of|while |in implicit|in evaluation|in call to|expanded from).*$",
    )
});
static SOURCE: Pattern = Pattern::new(|| pattern(r"^\s+\d* *\|(?: |$)"));
static HEADING: Pattern = Pattern::new(|| {
    pattern(r"^(?:In file included from|\s+from |\S[^:]*: (?:In |At )|\S[^:]*:\d+:(?:\d+:)?\s)")
});
static ANY: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:\S[^:]*:\d+:(?:\d+:)? (?:fatal |internal compiler )?(?:error|warning)|\S+: \*\*\* |In file included|\S[^:]*: (?:In|At) )",
    )
});

/// The end of the lines that are shown with an error.
pub(super) fn end(cx: &Context<'_>, index: usize) -> usize {
    let below = cx.log.slice(index + 1..index + 1 + SHOWN_LINES);
    let is_part = |line: &str| SOURCE.is_match(line) || line.contains(": note: ");
    let is_marker = |line: &str| {
        let text = line.trim();
        !text.is_empty() && text.bytes().all(|it| matches!(it, b'^' | b'~' | b' ' | b'|'))
    };
    let mut end = index + 1;
    for (at, line) in below {
        if ANY.is_match(line) || line.trim().is_empty() {
            break;
        }
        // Clang and cppcheck show the source as it is, and a marker below it.
        if is_part(line)
            || is_marker(line)
            || is_marker(cx.log.line(at + 1))
            || at == end && line.starts_with("   ")
        {
            end = at + 1;
        } else {
            break;
        }
    }
    end
}

/// The line of the project that led to an error in somebody else's file.
pub(super) fn own_place(
    cx: &Context<'_>,
    directories: &Directories,
    index: usize,
) -> Option<(usize, Place)> {
    let place = |found: &regex::Captures<'_>| {
        let path = directories.resolve(cx, group(found, 1));
        cx.paths.place(&path, number(found, 2), number(found, 3))
    };
    let mut own: Option<(usize, Place)> = None;
    let mut included: Option<(usize, Place)> = None;
    let before = cx.log.slice(index.saturating_sub(BEFORE_LINES)..index).rev();
    for (at, line) in before.take_while(|it| is_context(it.1)) {
        if let Some(found) = REQUIRED.captures(line) {
            let place = place(&found);
            // The user's line says `here`; without one the innermost step in the project's files.
            if place.is_own && line.ends_with("required from here") {
                return Some((at, place));
            }
            own = if place.is_own { Some((at, place)) } else { own };
        } else if included.is_none()
            && let Some(found) = INCLUDED.captures(line)
        {
            included = Some((at, place(&found))).filter(|it| it.1.is_own);
        }
    }
    let after =
        cx.log.slice(index + 1..index + 1 + AFTER_LINES).take_while(|it| !ANY.is_match(it.1));
    let mut notes = after.filter_map(|(at, line)| Some((at, place(&NOTE.captures(line)?))));
    own.or_else(|| notes.find(|it| it.1.is_own)).or(included)
}

fn is_context(line: &str) -> bool {
    let is_diagnostic =
        line.contains(" error: ") || line.contains(" warning: ") || line.contains(" note: ");
    !is_diagnostic && (SOURCE.is_match(line) || HEADING.is_match(line))
}
