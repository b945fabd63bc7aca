//! javac's errors, and those of kotlinc: the place, the source line, the symbol.

use std::ops::Range;

use gate_core::Severity;

use crate::draft::Problem;
use crate::parsers::{Context, lines};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `src/A.java:6: error: cannot find symbol`; behind ant's `[javac]`.
static ERROR: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:\[javac\] )?((?:[A-Za-z]:[\\/])?[^:\s][^:]*\.(?:java|groovy|scala)):(\d+)(?::(\d+))?: (error|warning): (.*)$",
    )
});
/// `e: file:///w/A.kt:3:5 Unresolved reference`, `e: /w/A.kt: (3, 5): …`.
static KOTLIN: Pattern = Pattern::new(|| {
    pattern(
        r"^(e|w): ((?:file://)?(?:[A-Za-z]:[\\/])?[^:\s][^:]*\.kts?):(?:(\d+):(\d+):?| \((\d+), (\d+)\):) (.*)$",
    )
});
/// `error: file not found: x.java`, `error: package x does not exist`: no place.
static BARE: Pattern = Pattern::new(|| pattern(r"^(?:\[javac\] )?error: (.*)$"));

/// Lines of one error.
const ERROR_LINES_MAX: usize = 10;

pub(super) fn is_error(line: &str) -> bool {
    ERROR.is_match(line) || KOTLIN.is_match(line)
}

/// The errors of a range, each once.
pub(in crate::parsers) fn problems(cx: &Context<'_>, range: Range<usize>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for (index, line) in cx.lines_in(range.clone()) {
        if !line.contains(": ") {
            continue;
        }
        let problem = java(cx, index, line, range.end).or_else(|| kotlin(cx, index, line));
        problems.extend(problem);
    }
    let is_named = cx.calls.iter().any(|it| it.program == "javac");
    if is_named && problems.is_empty() {
        let bare = cx.lines_in(range).filter_map(|(at, line)| {
            let found = BARE.captures(line)?;
            Some(Problem::error(group(&found, 1), Cut::line(at)))
        });
        problems.extend(bare);
    }
    problems
}

fn java(cx: &Context<'_>, index: usize, line: &str, end: usize) -> Option<Problem> {
    let found = ERROR.captures(line)?;
    let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
    let body: Vec<(usize, &str)> = cx
        .log
        .slice(index + 1..end)
        .take(ERROR_LINES_MAX)
        .take_while(|it| it.1.starts_with([' ', '\t']) && !ERROR.is_match(it.1))
        .collect();
    // `symbol:   class ArrayList`, and for a wrong type `required:` and `found:`.
    let labels = ["symbol:", "location:", "required:", "found:", "reason:"];
    let is_label = |it: &str| {
        let text = it.trim_start().trim_start_matches("[javac]").trim_start();
        labels.iter().any(|label| text.starts_with(label))
    };
    let told = body.iter().map(|it| it.1).filter(|it| is_label(it));
    let message = lines::joined([group(&found, 5)].into_iter().chain(told));
    let mut keys = vec![index];
    keys.extend(body.iter().map(|it| it.0));
    let cut = Cut::new(index..body.last().map_or(index, |it| it.0) + 1, keys);
    let is_error = group(&found, 4) == "error";
    let severity = if is_error { Severity::Error } else { Severity::Warning };
    Some(Problem { severity, ..Problem::error(message, cut).at(Some(place.location)) })
}

fn kotlin(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = KOTLIN.captures(line)?;
    let row = number(&found, 3).or_else(|| number(&found, 5));
    let column = number(&found, 4).or_else(|| number(&found, 6));
    let place = cx.paths.place(group(&found, 2), row, column);
    let severity = if group(&found, 1) == "e" { Severity::Error } else { Severity::Warning };
    let problem = Problem::error(group(&found, 7), Cut::line(index));
    Some(Problem { severity, ..problem.at(Some(place.location)) })
}
