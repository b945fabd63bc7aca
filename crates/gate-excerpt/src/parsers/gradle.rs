//! Gradle: failed tests, compile errors, and what went wrong. Of tests that passed it prints nothing by default.

use std::ops::Range;

use super::java::{javac_problems, trace};
use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static TASK: Pattern = Pattern::new(|| pattern(r"^> Task (:\S+)(?: ([A-Z-]+))?$"));
/// `FooTest > bar() FAILED`
static RESULT: Pattern = Pattern::new(|| pattern(r"^(\S.*? > .+?) (PASSED|FAILED|SKIPPED)$"));
static SUMMARY: Pattern =
    Pattern::new(|| pattern(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$"));
static WHERE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:Build|Settings|Script|Initialization script|Precompiled script)\S* (?:file )?'(.+)' line: (\d+)$",
    )
});

const WRONG: &str = "* What went wrong:";
/// Lines of one explanation.
const WRONG_LINES_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Gradle;

impl LogParser for Gradle {
    fn tool(&self) -> &'static str {
        "gradle"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "gradle" | "gradlew" | "gradlew.bat" | "gradle.bat")
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["> Task :", "* What went wrong:", "FAILURE: Build ", "Starting a Gradle Daemon"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("> Task :")
            || line == WRONG
            || line.starts_with("FAILURE: Build ")
            || line.starts_with("Starting a Gradle Daemon")
    }

    fn captured(&self, cx: &Context<'_>) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut start = None;
        for (index, line) in cx.log.slice(0..cx.log.len()) {
            if line.ends_with(" STANDARD_OUT") || line.ends_with(" STANDARD_ERROR") {
                start = Some(index + 1);
            } else if !line.starts_with("    ") && !line.is_empty() {
                ranges.extend(start.take().map(|it| it..index));
            }
        }
        ranges
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut tests = Tests::default();
        let mut wrong = Vec::new();
        let mut place = None;
        for (index, line) in cx.lines() {
            if let Some(found) = line.strip_prefix("> Task ").and_then(|_| TASK.captures(line)) {
                tests.task(group(&found, 1), group(&found, 2));
            } else if line.ends_with("ED")
                && let Some(found) = RESULT.captures(line)
            {
                match group(&found, 2) {
                    "PASSED" => tests.passed += 1,
                    "SKIPPED" => tests.skipped += 1,
                    _ => draft.failures.push(failure(cx, index, group(&found, 1))),
                }
            } else if let Some(found) = SUMMARY.captures(line) {
                let [all, failed, skipped] = [1, 2, 3].map(|it| lines::count(group(&found, it)));
                let passed = Some(all.saturating_sub(failed).saturating_sub(skipped));
                draft.add_counts(Counts { passed, failed, errors: 0, skipped });
            } else if line.starts_with("* Where:") {
                place = WHERE
                    .captures(cx.log.line(index + 1))
                    .map(|it| cx.paths.location(group(&it, 1), number(&it, 2)));
            } else if line == WRONG {
                wrong.push(explained(cx, index).at(place.take()));
            }
        }
        if draft.counts.is_none() {
            draft.counts = tests.counts(draft.failures.len() as u64);
        }
        let died = wrong.iter().any(|it| it.message.contains("Gradle Test Executor"));
        draft.unfinished = u32::from(died);
        draft.problems = javac_problems(cx, 0..cx.log.len());
        draft
            .problems
            .dedup_by(|two, one| two.message == one.message && two.location == one.location);
        let is_told = draft.has_error();
        let is_echo = |it: &Problem| {
            it.location.is_none()
                && (it.message.contains("There were failing tests")
                    || it.message.contains("Compilation failed")
                    || it.message.contains("Compilation error"))
        };
        wrong.retain(|it| !(is_told && is_echo(it)));
        draft.problems.extend(wrong);
        draft
    }
}

/// What the tasks and the lines of single tests say.
#[derive(Debug, Default)]
struct Tests {
    passed: u64,
    skipped: u64,
    /// Test tasks without sources, and those that ran.
    empty: u32,
    others: u32,
}

impl Tests {
    fn task(&mut self, name: &str, status: &str) {
        let last = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
        let is_test =
            (last.ends_with("test") || last.ends_with("unittest")) && !last.starts_with("compile");
        if is_test {
            self.empty += u32::from(status == "NO-SOURCE");
            self.others += u32::from(status != "NO-SOURCE");
        }
    }

    fn counts(&self, failed: u64) -> Option<Counts> {
        let (passed, skipped) = (Some(self.passed), self.skipped);
        if self.passed > 0 {
            Some(Counts { passed, failed, errors: 0, skipped })
        } else if failed > 0 {
            // How many passed is not printed.
            Some(Counts { passed: None, failed, errors: 0, skipped })
        } else {
            (self.empty > 0 && self.others == 0).then_some(Counts::NONE)
        }
    }
}

/// A test's name, and its exception, indented.
fn failure(cx: &Context<'_>, index: usize, name: &str) -> Failure {
    let name = name.to_owned();
    let first = cx.log.slice(index + 1..index + 3).find(|it| !it.1.trim().is_empty());
    let Some((at, _)) = first.filter(|it| it.1.starts_with("    ")) else {
        return Failure { name, cut: Cut::line(index), ..Failure::default() };
    };
    let trace = trace::read(cx, at, cx.log.len());
    let mut cut = trace.cut;
    cut.range.start = index;
    cut.keys.insert(0, index);
    Failure { name, message: trace.message, location: trace.location, cut, ..Failure::default() }
}

fn explained(cx: &Context<'_>, index: usize) -> Problem {
    let below = cx.log.slice(index + 1..index + 1 + WRONG_LINES_MAX);
    let body: Vec<(usize, &str)> =
        below.take_while(|it| !it.1.trim().is_empty() && !it.1.starts_with("* ")).collect();
    let message = lines::joined(body.iter().map(|it| it.1));
    let end = body.last().map_or(index, |it| it.0) + 1;
    Problem::error(message, Cut::new(index..end, (index..end).collect()))
}
