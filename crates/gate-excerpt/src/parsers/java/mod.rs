//! Java: javac's errors, and exceptions that end a program. The traces are read for Maven and Gradle too.

mod javac;
pub(super) mod trace;

pub(super) use javac::problems as javac_problems;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, pattern};

static UNCAUGHT: Pattern = Pattern::new(|| {
    pattern(r#"^Exception in thread "[^"]*" ([\w.$]+(?:Exception|Error|Throwable)\S*.*)$"#)
});
/// The launcher, before anything ran.
static LAUNCHER: Pattern = Pattern::new(|| {
    pattern(
        r"^(Error: (?:Could not find or load main class|Main method not found|Unable to |LinkageError|A JNI error|Invalid or corrupt).*|Error occurred during initialization.*|Caused by: java\.lang\.ClassNotFoundException.*)$",
    )
});

/// See the module.
#[derive(Debug)]
pub(crate) struct Java;

impl LogParser for Java {
    fn tool(&self) -> &'static str {
        "java"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "java" | "javac" | "kotlin" | "kotlinc" | "ant")
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Exception in thread ", ".java:", ".groovy:", ".scala:", ".kt:", ".kts:"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("Exception in thread ") && UNCAUGHT.is_match(line))
            || ((line.contains(" error: ") || line.starts_with("e: ")) && javac::is_error(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let problems = javac::problems(cx, 0..cx.log.len());
        let mut draft = Draft { problems, ..Draft::default() };
        let is_compiler = !draft.problems.is_empty();
        for (index, line) in cx.lines() {
            if line.starts_with("Exception in thread ") && UNCAUGHT.is_match(line) {
                let trace = trace::read(cx, index, cx.log.len());
                draft.taken.push(trace.cut.range.clone());
                draft.problems.push(Problem::error(trace.message, trace.cut).at(trace.location));
            } else if line.starts_with("Error")
                && let Some(found) = LAUNCHER.captures(line)
            {
                let cut = crate::select::Cut::new(index..index + 2, vec![index]);
                draft.problems.push(Problem::error(group(&found, 1), cut));
            }
        }
        let javac = cx.calls.iter().any(|it| it.program == "javac");
        draft.tool = (is_compiler && javac).then_some("javac");
        draft
    }
}
