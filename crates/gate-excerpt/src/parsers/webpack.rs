//! webpack and rspack, and Next.js, whose build names the file above the message.

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `ERROR in ./src/main.js 1:0-27`, also with the message behind it.
static TITLE: Pattern = Pattern::new(|| pattern(r"^(ERROR|WARNING) in (\S.*)$"));
static PLACE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:\[\w+\] )?((?:\.{0,2}/|[A-Za-z]:[\\/])?[\w@.\[\]()+/\\-]+\.\w+)(?:[ :(](\d+)[:,](\d+)(?:-\d+(?::\d+)?)?\)?)?$",
    )
});
/// Behind a message: `Unexpected token (3:4)`.
static POSITION: Pattern = Pattern::new(|| pattern(r"\((\d+):(\d+)\)$"));
/// Of Next.js: a file, perhaps with its place.
static NEXT_FILE: Pattern = Pattern::new(|| pattern(r"^(\./\S+\.\w+)(?::(\d+):(\d+))?$"));
/// What its rows of lint say: `12:3  Error: message  rule`.
static NEXT_ROW: Pattern =
    Pattern::new(|| pattern(r"^(\d+):(\d+)  (Error|Warning): (.+?)(?: {2}(\S+))?$"));

/// Lines of one error.
const BLOCK_LINES_MAX: usize = 60;
/// Lines below a message's first that say more.
const MORE_LINES_MAX: usize = 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Webpack;

impl LogParser for Webpack {
    fn tool(&self) -> &'static str {
        "webpack"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "webpack" | "rspack" | "webpack-cli") || is_next(call)
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["ERROR in ", " compiled with ", "Failed to compile"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("ERROR in ") && TITLE.is_match(line))
            || (line.starts_with("webpack ") && line.contains(" compiled with "))
            || line == "Failed to compile."
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let is_next_js =
            cx.calls.iter().any(is_next) || cx.lines().any(|it| it.1.contains("Next.js "));
        let mut draft = Draft { tool: is_next_js.then_some("next"), ..Draft::default() };
        let mut next = 0;
        let mut file: Option<Place> = None;
        let mut has_failed = false;
        for (index, line) in cx.lines() {
            if index < next {
                continue;
            }
            if let Some(found) = (line.contains(" in ")).then(|| TITLE.captures(line)).flatten() {
                let problem = titled(cx, index, &found);
                next = problem.cut.range.end;
                draft.problems.push(problem);
            } else if line.starts_with("Failed to compile") {
                has_failed = true;
            } else if let Some(found) = has_failed.then(|| NEXT_FILE.captures(line)).flatten() {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                let below = cx.log.line(index + 1);
                if !NEXT_ROW.is_match(below) && !below.trim().is_empty() {
                    let cut = Cut::new(index..block_end(cx, index + 1), vec![index, index + 1]);
                    next = cut.range.end;
                    let location = positioned(cx, place.clone(), below).location;
                    draft.problems.push(Problem::error(below.trim(), cut).at(Some(location)));
                }
                file = Some(place);
            } else if let (Some(place), Some(found)) =
                (&file, has_failed.then(|| NEXT_ROW.captures(line)).flatten())
            {
                let location = cx
                    .paths
                    .place(&place.location.file, number(&found, 1), number(&found, 2))
                    .location;
                let problem = Problem::error(group(&found, 4), Cut::line(index)).at(Some(location));
                let severity =
                    if group(&found, 3) == "Error" { Severity::Error } else { Severity::Warning };
                draft.problems.push(Problem {
                    severity,
                    code: found.get(5).map(|it| it.as_str().to_owned()),
                    ..problem
                });
            }
        }
        draft.taken.extend(draft.problems.iter().map(|it| it.cut.range.clone()));
        draft
    }
}

fn is_next(call: &Call) -> bool {
    call.program == "next" && matches!(call.subcommand(), "build" | "lint")
}

/// Up to a blank line or the next title.
fn block_end(cx: &Context<'_>, start: usize) -> usize {
    let is_part = |it: &(usize, &str)| !it.1.trim().is_empty() && !TITLE.is_match(it.1);
    let lines = cx.log.slice(start..start + BLOCK_LINES_MAX).take_while(is_part);
    lines.last().map_or(start, |it| it.0 + 1)
}

fn titled(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let behind = group(found, 2);
    let end = block_end(cx, index + 1);
    let place = PLACE.captures(behind);
    let place = place.map(|it| cx.paths.place(group(&it, 1), number(&it, 2), number(&it, 3)));
    let mut keys = vec![index];
    let mut message = if place.is_some() { String::new() } else { behind.to_owned() };
    // How it was looked for is no part of the message.
    let is_detail = |it: &str| {
        it.starts_with([' ', '|', '>', '@'])
            || it.starts_with("resolve '")
            || it.starts_with("BREAKING CHANGE")
    };
    for (at, line) in cx.log.slice(index + 1..end).take(MORE_LINES_MAX) {
        if !message.is_empty() && is_detail(line) {
            break;
        }
        message = format!("{message} {}", line.trim()).trim_start().to_owned();
        keys.push(at);
    }
    let place = place.map(|it| positioned(cx, it, cx.log.line(index + 1)));
    let severity = if group(found, 1) == "ERROR" { Severity::Error } else { Severity::Warning };
    let problem = Problem::error(message, Cut::new(index..end, keys));
    Problem { severity, ..problem.at(place.map(|it| it.location)) }
}

/// A place without a line takes that of the message.
fn positioned(cx: &Context<'_>, place: Place, message: &str) -> Place {
    if place.location.line.is_some() {
        return place;
    }
    let Some(found) = POSITION.captures(message.trim()) else { return place };
    cx.paths.place(&place.location.file, number(&found, 1), number(&found, 2))
}
