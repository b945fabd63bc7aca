//! PHP's own errors: parse errors and uncaught exceptions, printed once for the log and once for the page.

use std::collections::HashSet;

use gate_core::Severity;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static ERROR: Pattern = Pattern::new(|| {
    pattern(r"^(?:PHP )?((?:Fatal|Parse|Recoverable fatal|Compile) error|Warning):\s+(.*)$")
});
static PLACE: Pattern = Pattern::new(|| pattern(r" in (\S.*?)(?: on line |:)(\d+)$"));
static FRAME: Pattern = Pattern::new(|| pattern(r"^#\d+ (\S.*?)\((\d+)\): "));

/// Lines of one error.
const ERROR_LINES_MAX: usize = 200;

/// See the module.
#[derive(Debug)]
pub(crate) struct Php;

impl LogParser for Php {
    fn tool(&self) -> &'static str {
        "php"
    }

    fn is_called(&self, call: &Call) -> bool {
        let version = call.program.trim_start_matches("php");
        call.program.starts_with("php")
            && version.chars().all(|it| it.is_ascii_digit() || it == '.')
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Fatal error: ", "Parse error: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("PHP Fatal error: ")
            || line.starts_with("PHP Parse error: ")
            || ((line.starts_with("Fatal error: ") || line.starts_with("Parse error: "))
                && line.contains(" in "))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut seen = HashSet::new();
        for (index, line) in
            cx.lines().filter(|it| it.1.contains("rror:") || it.1.contains("arning:"))
        {
            let Some(found) = ERROR.captures(line) else { continue };
            let problem = error(cx, index, group(&found, 1), group(&found, 2));
            if seen.insert(lines::key(&problem.message, problem.location.as_ref())) {
                draft.taken.push(problem.cut.range.clone());
                draft.problems.push(problem);
            }
        }
        draft
    }
}

fn error(cx: &Context<'_>, index: usize, kind: &str, text: &str) -> Problem {
    let place = |file: &str, line: Option<u32>| {
        let place = cx.paths.place(file, line, None);
        let is_vendor = place.location.file.contains("vendor/");
        Place { is_own: place.is_own && !is_vendor, ..place }
    };
    let mut message = text.trim_start_matches("Uncaught ").to_owned();
    let mut found = None;
    let mut end = index + 1;
    let mut keys = vec![index];
    let is_uncaught = text.starts_with("Uncaught ");
    let whole = cx.log.slice(index..index + ERROR_LINES_MAX);
    let mut in_message = true;
    for (at, line) in whole {
        end = at + 1;
        in_message &= !line.starts_with("Stack trace:");
        let is_place = in_message || line.starts_with("  thrown in ");
        if is_place
            && found.is_none()
            && let Some(it) = PLACE.captures(line)
        {
            let start = it.get(0).map_or(0, |it| it.start());
            if at == index {
                let cut = line.len() - start;
                message.truncate(message.len().saturating_sub(cut));
            } else if in_message {
                message = lines::joined([message.as_str(), &line[..start]]);
            }
            found = Some(place(group(&it, 1), number(&it, 2))).filter(|it| it.is_own);
            in_message = false;
        } else if at > index && in_message {
            message = lines::joined([message.as_str(), line]);
        } else if found.is_none()
            && let Some(it) = FRAME.captures(line)
        {
            // Thrown in a library: the first frame of the project.
            found = Some(place(group(&it, 1), number(&it, 2))).filter(|it| it.is_own);
            keys.push(at);
        }
        if !is_uncaught || line.starts_with("  thrown in ") {
            break;
        }
    }
    let severity = if kind == "Warning" { Severity::Warning } else { Severity::Error };
    let problem = Problem::error(format!("{kind}: {message}"), Cut::new(index..end, keys));
    Problem { severity, ..problem.at(found.map(|it| it.location)) }
}
