//! Maven: what surefire and failsafe say of tests, what the compiler said, why a goal failed. Each error is told once.

mod goals;
mod surefire;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::Draft;
use surefire::Surefire;

/// See the module.
#[derive(Debug)]
pub(crate) struct Maven;

impl LogParser for Maven {
    fn tool(&self) -> &'static str {
        "maven"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(
            call.program.as_str(),
            "mvn" | "mvnw" | "mvnd" | "mvnDebug" | "mvn.cmd" | "mvnw.cmd"
        )
    }

    fn tells_figures(&self, call: &Call) -> bool {
        // The reports of `surefire` are its only figures then.
        let is_silent = |it: &String| {
            let is_quiet = it == "--quiet" || (it.starts_with("-q") && !it.starts_with("--"));
            is_quiet
                || it == "-l"
                || it.starts_with("--log-file")
                || it.contains("printSummary=false")
        };
        !call.args.iter().any(is_silent)
    }

    fn marks(&self) -> &'static [&'static str] {
        &["[INFO] Scanning for projects...", "[ERROR] Failed to execute goal ", " T E S T S"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line == "[INFO] Scanning for projects..."
            || line.starts_with("[ERROR] Failed to execute goal ")
            || line.ends_with(" T E S T S")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut surefire = Surefire::default();
        for (index, line) in cx.lines() {
            surefire.line(cx, index, line);
        }
        surefire.finish(&mut draft);
        let has_failures = !draft.failures.is_empty();
        draft.problems = goals::problems(cx, has_failures);
        draft
    }
}

/// The level of a line, and its text.
fn split(line: &str) -> (&str, &str) {
    for level in ["ERROR", "INFO", "WARNING", "FATAL"] {
        let rest = line.strip_prefix('[').and_then(|it| it.strip_prefix(level));
        if let Some(rest) = rest.and_then(|it| it.strip_prefix(']')) {
            return (level, rest.strip_prefix(' ').unwrap_or(rest));
        }
    }
    ("", line)
}
