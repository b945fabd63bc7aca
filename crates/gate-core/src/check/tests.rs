//! `tests`: did tests run, and did all that ran pass? Exit status 0 alone is not a yes.

use super::Reason;
use super::command::{did_not_run, ended, errors, failed, with_known};
use crate::{CommandLine, Execution, FailedTest, FindingKind, PathPattern, TestTally};

/// The parameters of a `tests` check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestsCheck {
    /// What is run.
    pub run: CommandLine,
    /// Tests that must be executed; skipped and ignored ones do not count. At least 1.
    pub at_least: u64,
    /// Whether at least as many must be executed as on the untouched baseline.
    pub not_fewer_than_baseline: bool,
    /// Files that it writes for machines to read.
    pub results: Vec<PathPattern>,
}

impl TestsCheck {
    /// One test at least.
    #[must_use]
    pub fn new(run: CommandLine) -> Self {
        Self { run, at_least: 1, not_fewer_than_baseline: false, results: Vec::new() }
    }

    pub(super) fn apply(
        &self,
        execution: Option<&Execution>,
        baseline: Option<TestTally>,
    ) -> Vec<Reason> {
        let Some(execution) = execution else { return vec![did_not_run()] };
        let code = match ended(execution) {
            Ok(code) => code,
            Err(reason) => {
                let mut known = failing_tests(execution);
                if known.is_empty() {
                    known = errors(execution);
                }
                return with_known(reason, execution, known);
            }
        };
        let mut reasons = failing_tests(execution);
        if code != 0 && reasons.is_empty() {
            reasons = failed(execution, code);
        }
        // A failed run says enough; the rules below are for a run that claims to be green.
        if code == 0 {
            reasons.extend(contradictions(execution));
            reasons.extend(self.too_few(execution, baseline));
        } else if execution.reading.tally.is_some_and(|it| it.executed() == 0) {
            reasons.push(no_tests(execution));
        }
        reasons
    }

    fn too_few(&self, execution: &Execution, baseline: Option<TestTally>) -> Option<Reason> {
        let tally = execution.reading.tally.unwrap_or_default();
        let executed = tally.executed();
        if executed == 0 {
            return Some(no_tests(execution));
        }
        let before = baseline.filter(|_| self.not_fewer_than_baseline).map(|it| it.executed());
        if let Some(before) = before.filter(|it| executed < *it) {
            let title = format!(
                "{executed} tests were executed, on the untouched baseline there were {before}{}",
                skipped(tally)
            );
            let reason = Reason::new(FindingKind::FewerTestsThanBaseline, title);
            return Some(reason.show(execution.reading.tail.clone()));
        }
        (executed < self.at_least).then(|| {
            let title = format!(
                "{executed} tests were executed, the contract asks for at least {}{}",
                self.at_least,
                skipped(tally)
            );
            Reason::new(FindingKind::TooFewTests, title).show(execution.reading.tail.clone())
        })
    }
}

fn failing_tests(execution: &Execution) -> Vec<Reason> {
    let failing = execution.reading.failing_tests.iter();
    failing
        .map(|test| {
            let message = match test.message.as_str() {
                "" => String::new(),
                message => format!(": {message}"),
            };
            Reason::new(FindingKind::TestFailed, format!("{}{message}", test.name))
                .at(test.location.clone())
                .of(FailedTest {
                    name: test.name.clone(),
                    phase: test.phase,
                    expected: test.expected.clone(),
                    actual: test.actual.clone(),
                })
                .show(test.excerpt.clone())
        })
        .collect()
}

/// Where the exit status says yes and the output says no.
fn contradictions(execution: &Execution) -> Option<Reason> {
    let reading = &execution.reading;
    let title = match reading.tally {
        Some(tally) if tally.failed > 0 => {
            format!("the exit status is 0, but {} tests failed", tally.failed)
        }
        _ if reading.unfinished_suites > 0 => format!(
            "{} test binaries started and never printed their summary, although the exit status is 0",
            reading.unfinished_suites
        ),
        Some(_) | None => return None,
    };
    Some(Reason::new(FindingKind::OutputContradictsExit, title).show(reading.tail.clone()))
}

fn no_tests(execution: &Execution) -> Reason {
    let title = match execution.reading.tally {
        Some(tally) => format!("no test was executed{}", skipped(tally)),
        None => {
            format!("no summary of a known test runner in the output of `{}`", execution.command)
        }
    };
    Reason::new(FindingKind::NoTestsRan, title).show(execution.reading.tail.clone())
}

fn skipped(tally: TestTally) -> String {
    match tally.skipped {
        0 => String::new(),
        skipped => format!(" ({skipped} skipped)"),
    }
}
