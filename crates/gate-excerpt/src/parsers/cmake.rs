//! `CMake`'s configuration: the message of an error stands on the lines after its place.

use gate_core::Severity;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static AT: Pattern = Pattern::new(|| {
    pattern(
        r"^CMake (Error|Warning|Deprecation Warning|Deprecation Error)(?: \(dev\))?(?: (?:at|in) (.+?)(?::(\d+))?(?: \((\w+)\))?)?:(.*)$",
    )
});

/// Lines of a message.
const MESSAGE_LINES_MAX: usize = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Cmake;

impl LogParser for Cmake {
    fn tool(&self) -> &'static str {
        "cmake"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "cmake" || call.program == "cmake3"
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CMake Error"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("CMake Error")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let heads = cx.lines().filter(|it| it.1.starts_with("CMake "));
        for (index, line) in heads {
            let Some(found) = AT.captures(line) else { continue };
            let below = cx.log.slice(index + 1..index + 1 + MESSAGE_LINES_MAX);
            let body: Vec<(usize, &str)> =
                below.take_while(|it| it.1.is_empty() || it.1.starts_with("  ")).collect();
            // The first paragraph says what is wrong; the others how it could be put right.
            let texts = body.iter().map(|it| it.1);
            let first = texts.skip_while(|it| it.trim().is_empty());
            let message = lines::joined(
                [group(&found, 5)].into_iter().chain(first.take_while(|it| !it.trim().is_empty())),
            );
            let location = found.get(2).map(|it| cx.paths.location(it.as_str(), number(&found, 3)));
            let end = body.last().map_or(index, |it| it.0) + 1;
            let keys = (index..end.min(index + 4)).collect();
            let is_error = group(&found, 1).ends_with("Error");
            let severity = if is_error { Severity::Error } else { Severity::Warning };
            let problem = Problem::error(message, Cut::new(index..end, keys)).at(location);
            draft.taken.push(index..end);
            draft.problems.push(Problem { severity, ..problem });
        }
        // `CMake Error: …` without a place often only repeats that something went wrong.
        draft.problems.sort_by_key(|it| it.location.is_none());
        draft
    }
}
