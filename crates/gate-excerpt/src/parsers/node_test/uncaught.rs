//! What a file threw before its tests could run: the runner itself says no more than that it failed.

use std::collections::HashMap;

use gate_core::{Location, TestPhase};

use crate::draft::{Draft, Failure};
use crate::parsers::{Context, js};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Where an error that nobody caught was thrown.
static THROWN_AT: Pattern =
    Pattern::new(|| pattern(r"^(?:# )?((?:file://)?(?:/|[A-Za-z]:)?\S+\.[cm]?[jt]sx?):(\d+)$"));
static ERROR: Pattern = Pattern::new(|| pattern(r"^(?:Uncaught )?\w*(?:Error|Exception)\b.*: "));

/// Lines between a place and its error, and of its stack.
const UNCAUGHT_LINES_MAX: usize = 12;

/// Of a file that could not be loaded, the runner says no more than that it failed; what it threw was printed before.
pub(super) fn tell(cx: &Context<'_>, draft: &mut Draft) {
    let is_bare = |it: &Failure| it.message.trim_matches('\'') == "test failed";
    if !draft.failures.iter().any(is_bare) {
        return;
    }
    let thrown = uncaught(cx);
    for failure in draft.failures.iter_mut().filter(|it| is_bare(it)) {
        let Some(file) = failure.location.as_ref().map(|it| it.file.as_str()) else { continue };
        let Some(found) = thrown.get(file) else { continue };
        failure.message.clone_from(&found.message);
        failure.location = found.location.clone();
        failure.cut = found.cut.clone();
        failure.phase = TestPhase::Collection;
    }
}

/// An error that ended a process.
#[derive(Debug)]
struct Uncaught {
    message: String,
    location: Option<Location>,
    cut: Cut,
}

/// By the file that threw first. `a.js:1`, the source, a caret, the error, its stack; in TAP each line is a comment.
fn uncaught(cx: &Context<'_>) -> HashMap<String, Uncaught> {
    let bare = |line: &'_ str| line.strip_prefix("# ").unwrap_or(line).to_owned();
    let mut all = HashMap::new();
    let mut next = 0;
    for (index, line) in cx.lines() {
        let may = line.contains("js:") || line.contains("ts:") || line.contains("sx:");
        if index < next || !may {
            continue;
        }
        let Some(found) = THROWN_AT.captures(line) else { continue };
        let near = cx.log.slice(index + 1..index + UNCAUGHT_LINES_MAX);
        let Some((at, text)) =
            { near }.map(|(at, it)| (at, bare(it))).find(|it| ERROR.is_match(&it.1))
        else {
            continue;
        };
        let end = cx.log.len().min(at + UNCAUGHT_LINES_MAX);
        let frames = cx.log.slice(at + 1..end).map(|it| bare(it.1));
        let own = { frames }.filter_map(|it| js::frame(cx, &it)).find(|it| it.is_own);
        let printed = cx.paths.place(group(&found, 1), number(&found, 2), None);
        let place = own.unwrap_or_else(|| printed.clone());
        next = at + 1;
        let file = if printed.is_own { printed.location.file } else { place.location.file.clone() };
        all.entry(file).or_insert(Uncaught {
            message: text,
            location: Some(place.location),
            cut: Cut::new(index..at + 2, vec![index, index + 1, at]),
        });
    }
    all
}
