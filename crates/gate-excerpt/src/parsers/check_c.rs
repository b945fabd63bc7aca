//! Check, the unit test library for C: `t.c:3:F:case:test:0: message`.

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static SUMMARY: Pattern =
    Pattern::new(|| pattern(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$"));
static FAILED: Pattern =
    Pattern::new(|| pattern(r"^(\S[^:]*):(\d+):([FE]):([^:]*):([^:]+):(-?\d+): (.*)$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct CheckC;

impl LogParser for CheckC {
    fn tool(&self) -> &'static str {
        "check"
    }

    fn is_called(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["%: Checks: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.contains("%: Checks: ") && SUMMARY.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut starts = 0;
        for (index, line) in cx.lines() {
            starts += usize::from(line.starts_with("Running suite(s): "));
            if let Some(found) = SUMMARY.captures(line) {
                let [all, failures, errors] = [1, 2, 3].map(|it| lines::count(group(&found, it)));
                // An error is a test that died.
                let failed = failures + errors;
                let passed = Some(all.saturating_sub(failed));
                runs.push(Counts { passed, failed, ..Counts::NONE });
            } else if line.contains(":F:") || line.contains(":E:") {
                let Some(found) = FAILED.captures(line) else { continue };
                // The iteration of a loop test tells its runs apart.
                let run = group(&found, 6);
                let run = if run == "0" { String::new() } else { format!(":{run}") };
                draft.failures.push(Failure {
                    name: format!("{}{run}", group(&found, 5)),
                    message: group(&found, 7).to_owned(),
                    location: Some(cx.paths.location(group(&found, 1), number(&found, 2))),
                    cut: Cut::line(index),
                    ..Failure::default()
                });
            }
        }
        draft.unfinished = u32::from(starts > runs.len());
        lines::keep_started(starts, &mut runs);
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}
