//! Whether a contract can judge at all: decided on its untouched baseline, before anybody works on it.
//!
//! What is wrong here is the planner's to mend and never costs a reporter anything. What the commands
//! print on the baseline is evidence of the yardstick, not of work.

mod wanted;

use crate::check::Reason;
use crate::{
    Blame, Check, Contract, Decision, Evidence, Finding, FindingKind, Judgement, NextStep, Outcome,
    TaskState,
};

pub use wanted::{Wanted, WantedKind, wanted};

/// What a check's tests did on the untouched baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineTests {
    /// The check's id.
    pub check: String,
    /// The runner's own summary.
    pub tally: crate::TestTally,
    /// The failing ones, as the runner names them; the first [`BASELINE_TESTS_MAX`](crate::limits::BASELINE_TESTS_MAX).
    pub failing: Vec<String>,
}

impl Contract {
    /// Whether it names a baseline that it can be proven on.
    #[must_use]
    pub fn has_preflight(&self) -> bool {
        self.baseline().is_some()
    }
}

impl Check {
    /// Whether its command is run on the untouched baseline.
    #[must_use]
    pub const fn is_run_on_baseline(&self) -> bool {
        self.fails_on_baseline || self.compares_tests()
    }

    const fn compares_tests(&self) -> bool {
        match &self.kind {
            crate::CheckKind::Tests(check) => check.not_fewer_than_baseline,
            crate::CheckKind::Command(_) | crate::CheckKind::Files(_) => false,
        }
    }
}

/// Decides whether the contract can judge. `absent` is what its commands name and the gate did not find.
///
/// PASS, or INCONCLUSIVE: nobody has reported anything, so nobody can fail.
#[must_use]
pub fn preflight(contract: &Contract, evidence: &Evidence, absent: &[Wanted]) -> Judgement {
    let missing = absent.iter().map(|it| it.missing().into_finding(it.check.clone(), true));
    let unproven = contract.checks().iter().flat_map(|check| unproven(check, evidence));
    Judgement::of(missing.chain(unproven).collect(), contract)
}

/// What follows from it: the task goes back to where it waits for a report, or to the planner.
#[must_use]
pub const fn conclude_preflight(
    decision: Decision,
    blame: Option<Blame>,
    opens: TaskState,
) -> (NextStep, TaskState) {
    match (decision, blame) {
        (Decision::Pass, _) => (NextStep::Start, opens),
        (Decision::Fail | Decision::Inconclusive, Some(Blame::Gate) | None) => {
            (NextStep::NeedsHuman, TaskState::NeedsHuman)
        }
        (Decision::Fail | Decision::Inconclusive, Some(Blame::Contract | Blame::Reporter)) => {
            (NextStep::FixContract, TaskState::ContractRejected)
        }
    }
}

/// The tests of the baseline, for the runs that are compared with it.
#[must_use]
pub fn baseline_tests(contract: &Contract, evidence: &Evidence) -> Vec<BaselineTests> {
    let run = contract.checks().iter().filter(|it| it.is_run_on_baseline());
    run.filter_map(|check| {
        let reading = &evidence.execution(&check.id)?.reading;
        let failing = reading.failing_tests.iter().map(|it| it.name.clone());
        Some(BaselineTests {
            check: check.id.clone(),
            tally: reading.tally?,
            failing: failing.take(crate::limits::BASELINE_TESTS_MAX).collect(),
        })
    })
    .collect()
}

/// Why the check has not shown that it can say no, or cannot be compared with later.
fn unproven(check: &Check, evidence: &Evidence) -> Vec<Finding> {
    let sign = |it: Reason| it.blame(Blame::Contract).into_finding(Some(check.id.clone()), true);
    let execution = evidence.execution(&check.id);
    if let Some(Outcome::NotRun) = execution.map(|it| it.outcome) {
        let title = "the run's time was used up before it could be tried on the baseline; raise `run_seconds`";
        return vec![sign(Reason::new(FindingKind::NotRun, title))];
    }
    if let Some(broken) = execution.and_then(broken_command) {
        return vec![sign(broken)];
    }
    let mut findings = Vec::new();
    if check.fails_on_baseline {
        findings.extend(red(check, evidence));
    }
    let is_uncounted = execution.is_some_and(|it| it.reading.tally.is_none());
    if check.compares_tests() && is_uncounted {
        let title = "its tests could not be counted on the baseline, so nothing can be compared with it; have the runner print its summary, or remove `not_fewer_than_baseline`";
        let shown = execution.and_then(|it| it.reading.tail.clone());
        findings.push(sign(Reason::new(FindingKind::BaselineUncounted, title).show(shown)));
    }
    findings
}

/// Whatever the tree holds, it can only be looked for in the wrong place.
fn broken_command(execution: &crate::Execution) -> Option<Reason> {
    let program = execution.command.program();
    let (kind, what) = match execution.outcome {
        Outcome::NotFound => (FindingKind::CommandNotFound, "is not there"),
        Outcome::NotExecutable { .. } => (FindingKind::CommandNotExecutable, "cannot be executed"),
        Outcome::Exited { .. }
        | Outcome::Killed { .. }
        | Outcome::TimedOut { .. }
        | Outcome::OutputLimitExceeded { .. }
        | Outcome::CpuLimitExceeded { .. }
        | Outcome::OutOfMemory { .. }
        | Outcome::DiskLimitExceeded { .. }
        | Outcome::NotRun => return None,
    };
    Some(Reason::new(kind, format!("the program `{program}` {what} on the baseline")))
}

/// A yes on the untouched baseline is a yes that nobody has to work for. A no that says little is told, and does not block.
fn red(check: &Check, evidence: &Evidence) -> Vec<Finding> {
    let reasons = check.apply(evidence);
    if reasons.is_empty() {
        let title = "vacuous: it says yes on the untouched baseline, although it is marked `fails_on_baseline`; ask for what is not there yet, or remove the mark";
        let tail = evidence.execution(&check.id).and_then(|it| it.reading.tail.clone());
        let vacuous = Reason::new(FindingKind::VacuousCheck, title).blame(Blame::Contract);
        return vec![vacuous.show(tail).into_finding(Some(check.id.clone()), true)];
    }
    let says_little = |it: &Finding| {
        matches!(
            it.kind,
            FindingKind::NoTestsRan | FindingKind::TimedOut | FindingKind::OutOfMemory
        )
    };
    let notes = reasons.into_iter().filter(says_little);
    notes.map(|it| Finding { blocking: false, blame: Blame::Contract, ..it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{evidence, execution, parts};
    use crate::{CheckKind, TestTally, WorkspaceSource};

    fn contract(change: impl FnOnce(&mut Check)) -> Contract {
        let mut parts = parts();
        parts.baseline = Some(WorkspaceSource::Files(Vec::new()));
        change(&mut parts.checks[0]);
        Contract::parse(parts).unwrap()
    }

    fn must_fail() -> Contract {
        contract(|it| it.fails_on_baseline = true)
    }

    fn judged(contract: &Contract, outcome: Outcome, tally: Option<TestTally>) -> Judgement {
        preflight(contract, &evidence(vec![execution(outcome, tally)]), &[])
    }

    const GREEN: Outcome = Outcome::Exited { code: 0 };
    const RED: Outcome = Outcome::Exited { code: 1 };

    fn tally(passed: u64, failed: u64) -> Option<TestTally> {
        Some(TestTally { passed, failed, skipped: 0 })
    }

    #[test]
    fn a_check_that_fails_on_the_baseline_is_proven() {
        let judged = judged(&must_fail(), RED, tally(3, 1));
        assert_eq!((judged.decision, judged.findings.len()), (Decision::Pass, 0));
    }

    #[test]
    fn a_check_that_is_green_on_the_baseline_is_vacuous() {
        let judged = judged(&must_fail(), GREEN, tally(3, 0));
        assert_eq!(
            (judged.decision, judged.blame),
            (Decision::Inconclusive, Some(Blame::Contract))
        );
        assert_eq!(judged.findings[0].kind, FindingKind::VacuousCheck);
        assert_eq!(judged.findings[0].criteria, ["AC1"]);
    }

    #[test]
    fn a_check_that_is_not_marked_may_be_green() {
        let judged = judged(&contract(|_| {}), GREEN, tally(3, 0));
        assert_eq!(judged.decision, Decision::Pass);
    }

    #[test]
    fn a_no_for_want_of_tests_is_told_and_does_not_block() {
        let judged = judged(&must_fail(), RED, tally(0, 0));
        assert_eq!((judged.decision, judged.findings[0].blocking), (Decision::Pass, false));
    }

    #[test]
    fn a_program_that_is_not_there_proves_nothing() {
        for outcome in [Outcome::NotFound, Outcome::NotExecutable { errno: 13 }, Outcome::NotRun] {
            let judged = judged(&must_fail(), outcome, None);
            assert_eq!(judged.blame, Some(Blame::Contract), "{outcome:?}");
        }
    }

    #[test]
    fn tests_that_cannot_be_counted_cannot_be_compared_with() {
        let contract = contract(|it| {
            let CheckKind::Tests(check) = &mut it.kind else { panic!("it asks for tests") };
            check.not_fewer_than_baseline = true;
        });
        assert_eq!(judged(&contract, GREEN, tally(3, 0)).decision, Decision::Pass);
        let judged = judged(&contract, GREEN, None);
        assert_eq!(judged.findings[0].kind, FindingKind::BaselineUncounted);
    }

    #[test]
    fn the_planner_gets_back_what_is_broken_and_a_person_what_the_gate_could_not_do() {
        let of = |decision, blame| conclude_preflight(decision, blame, TaskState::Pending);
        assert_eq!(of(Decision::Pass, None), (NextStep::Start, TaskState::Pending));
        assert_eq!(
            of(Decision::Inconclusive, Some(Blame::Contract)),
            (NextStep::FixContract, TaskState::ContractRejected)
        );
        assert_eq!(
            of(Decision::Inconclusive, Some(Blame::Gate)),
            (NextStep::NeedsHuman, TaskState::NeedsHuman)
        );
    }
}
