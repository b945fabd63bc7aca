//! Robot Framework: a line with a status for each test and each suite, what went wrong below it.

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static STATUS: Pattern = Pattern::new(|| pattern(r"^(.*?) *\| (PASS|FAIL|SKIP) \|$"));
static FIGURES: Pattern =
    Pattern::new(|| pattern(r"^(\d+) tests?, (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$"));
/// `[ ERROR ] Error in file '/w/a.robot' on line 2: Importing library 'X' failed: …`
static ERROR: Pattern = Pattern::new(|| {
    pattern(
        r"^\[ ERROR \] (?:Error in file '(.+?)' on line (\d+): |Parsing '(.+?)' failed: )?(.+)$",
    )
});

/// Lines of what one test says.
const BODY_LINES_MAX: usize = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Robot;

impl LogParser for Robot {
    fn tool(&self) -> &'static str {
        "robot"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "robot" | "pybot")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        !call.has_arg("--quiet") && call.chooses(&["--console", "-C"], &["verbose", "dotted"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["| PASS |", "| FAIL |", "| SKIP |"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.chars().count() == 78 && STATUS.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        // Each suite has figures; those of the outermost one come last.
        let mut last: Option<Counts> = None;
        let mut has_status = false;
        let mut title = "";
        for (index, line) in cx.lines() {
            if is_rule(line) {
                title = cx.log.line(index + 1);
            } else if let Some(found) = STATUS.captures(line) {
                has_status = true;
                let is_suite = FIGURES.is_match(cx.log.line(index + 1));
                if group(&found, 2) == "FAIL" && !is_suite {
                    // What a test writes to the console parts its name from its status.
                    let name = Some(group(&found, 1)).filter(|it| !it.trim_matches('.').is_empty());
                    draft.failures.push(failure(cx, index, name.unwrap_or(title)));
                }
            } else if let Some(found) = FIGURES.captures(line) {
                let [passed, failed, skipped] = [2, 3, 4].map(|it| lines::count(group(&found, it)));
                last = Some(Counts { passed: Some(passed), failed, errors: 0, skipped });
            } else if line.starts_with("Output:  ") {
                runs.extend(last.take());
            } else if let Some(found) = ERROR.captures(line) {
                draft.problems.push(error(cx, index, &found));
            }
        }
        runs.extend(last);
        lines::keep_own(cx, self, &mut runs);
        draft.unfinished = u32::from(has_status && runs.is_empty());
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

fn is_rule(line: &str) -> bool {
    line.len() == 78 && (line.bytes().all(|it| it == b'-') || line.bytes().all(|it| it == b'='))
}

/// The console names no file; where one file alone is run, it is that.
fn failure(cx: &Context<'_>, index: usize, name: &str) -> Failure {
    let below = cx.log.slice(index + 1..index + 1 + BODY_LINES_MAX);
    let body: Vec<(usize, &str)> = below.take_while(|it| !is_rule(it.1)).collect();
    let end = body.last().map_or(index, |it| it.0) + 1;
    let mut files = cx.calls.iter().flat_map(|it| &it.args).filter(|it| it.ends_with(".robot"));
    let file = files.next().filter(|_| files.next().is_none());
    Failure {
        name: name.split(" :: ").next().unwrap_or(name).trim().to_owned(),
        message: lines::joined(body.iter().map(|it| it.1)),
        location: file.map(|it| cx.paths.location(it, None)),
        cut: Cut::new(index..end, (index..end).collect()),
        ..Failure::default()
    }
}

fn error(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let file = found.get(1).or_else(|| found.get(3));
    let location = file.map(|it| cx.paths.location(it.as_str(), number(found, 2)));
    Problem::error(group(found, 4), Cut::line(index)).at(location)
}
