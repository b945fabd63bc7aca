//! Ruff: `check` in its full and its concise form, old and new, and `format --check`.

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `F401 [*] message`, with the place below; the syntax has its own word.
static TITLE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:(?:error|warning)\[)?([A-Z]{1,6}\d{2,4}|invalid-syntax|unformatted|syntax-error|panic|[a-z]+(?:-[a-z]+)+)\]?:? (?:\[\*\] |\[-\] )?(.+)$",
    )
});
static ARROW: Pattern = Pattern::new(|| pattern(r"^ *--> (.+?):(\d+):(\d+)$"));
/// `a.py:1:8: F401 [*] message`, also as the title of an older full form.
static ROW: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:[A-Za-z]:)?[^\s:][^:]*):(\d+):(\d+): (?:([A-Z]{1,6}\d{2,4}|invalid-syntax):? )?(?:\[\*\] |\[-\] )?(.+)$",
    )
});
static WOULD: Pattern = Pattern::new(|| pattern(r"^Would reformat: (\S.*)$"));
static FAULT: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:error|warning): (Failed to (?:parse|lint|format|load|read) (\S+?)(?::(\d+):(\d+))?: .*|Failed to (?:parse|load) .*|E902 .*)$",
    )
});
static DIFF: Pattern = Pattern::new(|| pattern(r"^--- (\S.*\.pyi?)$"));
static HUNK: Pattern = Pattern::new(|| pattern(r"^@@ -(\d+)"));
static BANNER: Pattern = Pattern::new(|| {
    pattern(
        r"^\[\*\] \d+ fixable with |^Would reformat: |^\d+ files? would be reformatted, |^No fixes available \(\d+ hidden fix",
    )
});

/// Lines of one finding.
const BLOCK_LINES_MAX: usize = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ruff;

impl LogParser for Ruff {
    fn tool(&self) -> &'static str {
        "ruff"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "ruff"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["fixable with ", "ould reformat: ", " would be reformatted", "No fixes available"]
    }

    fn is_banner(&self, line: &str) -> bool {
        BANNER.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut problems = Vec::new();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || line.starts_with(' ') {
                continue;
            }
            let problem = titled(cx, index, line).or_else(|| row(cx, index, line));
            let problem = problem.or_else(|| fault(cx, index, line));
            let problem = problem.or_else(|| would(cx, index, line));
            if let Some(problem) = problem {
                next = problem.cut.range.end;
                problems.push(problem);
            }
        }
        let taken = problems.iter().map(|it| it.cut.range.clone()).collect();
        Draft { problems, taken, ..Draft::default() }
    }
}

fn titled(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let below = cx.log.line(index + 1);
    let arrow = below.contains("--> ").then(|| ARROW.captures(below)).flatten()?;
    let found = TITLE.captures(line)?;
    let place = cx.paths.place(group(&arrow, 1), number(&arrow, 2), number(&arrow, 3));
    let cut = Cut::new(index..block_end(cx, index + 2), vec![index, index + 1]);
    let problem = Problem::error(group(&found, 2), cut).at(Some(place.location));
    Some(Problem { code: Some(group(&found, 1).to_owned()), ..problem })
}

fn row(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = ROW.captures(line)?;
    let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
    let cut = Cut::new(index..block_end(cx, index + 1), vec![index]);
    let problem = Problem::error(group(&found, 5), cut).at(Some(place.location));
    Some(Problem { code: found.get(4).map(|it| it.as_str().to_owned()), ..problem })
}

/// The source with its marks, help, notes.
fn block_end(cx: &Context<'_>, start: usize) -> usize {
    let is_part = |line: &str| {
        let text = line.trim_start();
        text.starts_with(['|', '=', '+', '-'])
            || text.split_once(' ').is_some_and(|it| {
                it.0.bytes().all(|it| it.is_ascii_digit())
                    && it.1.trim_start().starts_with(['|', '+', '-'])
            })
            || line.starts_with("help: ")
            || line.starts_with("note: ")
            || text.starts_with("::: ")
    };
    let lines = cx.log.slice(start..start + BLOCK_LINES_MAX).take_while(|it| is_part(it.1));
    lines.last().map_or(start, |it| it.0 + 1)
}

fn fault(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = FAULT.captures(line)?;
    let place =
        found.get(2).map(|it| cx.paths.place(it.as_str(), number(&found, 3), number(&found, 4)));
    let problem =
        Problem::error(group(&found, 1), Cut::line(index)).at(place.map(|it| it.location));
    let is_warning = line.starts_with("warning");
    Some(Problem {
        severity: if is_warning { Severity::Warning } else { Severity::Error },
        ..problem
    })
}

/// `format --check` names the file; with `--diff` its hunks name the line.
fn would(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    if let Some(found) = WOULD.captures(line) {
        let location = cx.paths.location(group(&found, 1), None);
        return Some(Problem::error(line, Cut::line(index)).at(Some(location)));
    }
    let found = DIFF.captures(line)?;
    let hunk = HUNK.captures(cx.log.line(index + 2))?;
    let location = cx.paths.location(group(&found, 1), number(&hunk, 1));
    let body = cx.log.slice(index + 3..index + BLOCK_LINES_MAX);
    let is_part = |it: &(usize, &str)| it.1.is_empty() || it.1.starts_with([' ', '+', '-', '@']);
    let end = { body }.take_while(is_part).last().map_or(index + 3, |it| it.0 + 1);
    Some(
        Problem::error("File would be reformatted", Cut::new(index..end, vec![index]))
            .at(Some(location)),
    )
}
