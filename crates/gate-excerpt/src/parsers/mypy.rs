//! mypy, plain and `--pretty`, where a long message goes on in the next lines; dmypy.

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static ROW: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:[A-Za-z]:)?[^\s:][^:]*):(?:(\d+):)?(?:(\d+):)?(?:\d+:\d+:)? (error|note|warning): (.*)$",
    )
});
static CODE: Pattern = Pattern::new(|| pattern(r"^(.*?) *\[([a-z][a-z-]*)\]$"));
static SUMMARY: Pattern =
    Pattern::new(|| pattern(r"^(?:Found \d+ errors? in \d+ files?|Success: no issues found)"));

/// A shorter line was not wrapped.
const WRAPPED_BYTES_MIN: usize = 40;
/// Lines of one message.
const MESSAGE_LINES_MAX: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mypy;

impl LogParser for Mypy {
    fn tool(&self) -> &'static str {
        "mypy"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "mypy" | "dmypy")
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Found ", "Success: ", ": error: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.contains(" source file") && SUMMARY.is_match(line))
            || (line.contains(".py:")
                && line.contains(": error: ")
                && line.ends_with(']')
                && ROW.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut problems = Vec::new();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || line.starts_with(' ') || !line.contains(": ") {
                continue;
            }
            let Some(found) = ROW.captures(line) else { continue };
            let problem = problem(cx, index, &found);
            next = problem.cut.range.end;
            // Notes explain the error above them, or reveal a type.
            let is_note = group(&found, 4) == "note";
            if !is_note {
                problems.push(problem);
            }
        }
        let taken = problems.iter().map(|it: &Problem| it.cut.range.clone()).collect();
        Draft { problems, taken, ..Draft::default() }
    }
}

fn problem(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let mut message = group(found, 5).to_owned();
    let mut end = index + 1;
    // It goes on until its code; source and marks are indented.
    for (at, line) in cx.log.slice(index + 1..index + MESSAGE_LINES_MAX) {
        let is_rest = cx.log.line(at - 1).len() >= WRAPPED_BYTES_MIN
            && !CODE.is_match(&message)
            && !line.is_empty()
            && !line.starts_with(' ')
            && !ROW.is_match(line)
            && !SUMMARY.is_match(line);
        if !is_rest {
            break;
        }
        message = format!("{} {}", message.trim_end(), line.trim());
        end = at + 1;
    }
    let source = cx.log.slice(end..end + 2).take_while(|it| it.1.starts_with("    "));
    let end = source.last().map_or(end, |it| it.0 + 1);
    let coded = CODE.captures(&message);
    let code = coded.as_ref().map(|it| group(it, 2).to_owned());
    let message = coded.map_or(message.clone(), |it| group(&it, 1).to_owned());
    let place = cx.paths.place(group(found, 1), number(found, 2), number(found, 3));
    let severity = if group(found, 4) == "error" { Severity::Error } else { Severity::Warning };
    let cut = Cut::new(index..end, (index..end).collect());
    Problem { severity, code, ..Problem::error(message, cut).at(Some(place.location)) }
}
