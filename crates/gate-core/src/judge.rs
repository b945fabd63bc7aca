//! The decision.

use std::collections::{HashMap, HashSet};

use crate::check::{Reason, missing};
use crate::limits::{FINDINGS_MAX, TITLE_BYTES_MAX};
use crate::{
    Blame, Check, Contract, Decision, Evidence, Excerpt, Execution, Finding, FindingKind, Location,
    ProtectedChange,
};

/// So many findings of each check come before further ones of any.
const FINDINGS_OF_CHECK_FIRST: usize = 10;

/// A decision with its reasons, before it is known what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// PASS, FAIL, or INCONCLUSIVE.
    pub decision: Decision,
    /// Whose fault it is, unless it is a PASS.
    pub blame: Option<Blame>,
    /// What to fix first comes first; at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// Findings beyond the bound.
    pub findings_left_out: u32,
}

/// Decides a run. Reads no clock, disk, or network: same input, same verdict.
#[must_use]
pub fn judge(contract: &Contract, evidence: &Evidence) -> Judgement {
    let checks = contract.checks().iter().flat_map(|check| check.apply(evidence));
    let deliverables = contract
        .deliverables()
        .iter()
        .filter_map(|path| missing(path, evidence.file(path)).map(|it| unsigned(it, true)));
    let protected = evidence.protected_changes.iter().map(protected_change);
    Judgement::of(checks.chain(deliverables).chain(protected).collect(), contract)
}

/// Decides by one command alone: for a log that was read outside of a run.
#[must_use]
pub fn judge_alone(check: &Check, execution: &Execution) -> Judgement {
    Judgement::from_findings(check.apply_to(execution))
}

/// Decides a run that could not gather evidence: the reporter fails only for the reporter's own fault.
#[must_use]
pub fn without_evidence(kind: FindingKind, blame: Blame, title: impl Into<String>) -> Judgement {
    let reason = Reason::new(kind, title).blame(blame);
    Judgement::from_findings(vec![unsigned(reason, true)])
}

impl Judgement {
    /// Shows these lines with the first finding.
    #[must_use]
    pub fn showing(mut self, excerpt: Excerpt) -> Self {
        if let Some(first) = self.findings.first_mut() {
            first.excerpt = Some(excerpt);
        }
        self
    }

    /// From findings that each know their check; the criteria that rest on it are named here.
    pub(crate) fn of(findings: Vec<Finding>, contract: &Contract) -> Self {
        let named = findings.into_iter().map(|it| name_criteria(it, contract));
        Self::from_findings(named.collect())
    }

    fn from_findings(mut findings: Vec<Finding>) -> Self {
        // Stable: what was found first stays first among equals.
        findings.sort_by_key(|it| (!it.blocking, rank(it.kind)));
        for finding in &mut findings {
            finding.title = one_line(&finding.title);
        }
        let blame = worst_blame(&findings);
        let decision = match blame {
            None => Decision::Pass,
            Some(Blame::Reporter) => Decision::Fail,
            Some(Blame::Contract | Blame::Gate) => Decision::Inconclusive,
        };
        let left_out = findings.len().saturating_sub(FINDINGS_MAX);
        let findings = the_first(findings);
        let findings_left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        Self { decision, blame, findings, findings_left_out }
    }
}

/// The first [`FINDINGS_MAX`], of which a check that finds much takes no other's place.
fn the_first(findings: Vec<Finding>) -> Vec<Finding> {
    let mut of_checks: HashMap<Option<String>, usize> = HashMap::new();
    let mut places: Vec<(bool, usize)> = Vec::with_capacity(findings.len());
    for (index, finding) in findings.iter().enumerate() {
        let before = of_checks.entry(finding.check.clone()).or_default();
        *before += 1;
        places.push((*before > FINDINGS_OF_CHECK_FIRST, index));
    }
    places.sort_unstable();
    places.truncate(FINDINGS_MAX);
    let kept: HashSet<usize> = places.into_iter().map(|it| it.1).collect();
    let numbered = findings.into_iter().enumerate();
    numbered.filter(|(index, _)| kept.contains(index)).map(|it| it.1).collect()
}

/// A yardstick that is broken, or a gate that is, comes before what they measured.
fn worst_blame(findings: &[Finding]) -> Option<Blame> {
    let blames = || findings.iter().filter(|it| it.blocking).map(|it| it.blame);
    [Blame::Gate, Blame::Contract, Blame::Reporter]
        .into_iter()
        .find(|it| blames().any(|b| b == *it))
}

/// What hides other things is fixed before them.
const fn rank(kind: FindingKind) -> u8 {
    match kind {
        FindingKind::GateFault
        | FindingKind::SourceUnusable
        | FindingKind::BaselineUnusable
        | FindingKind::SetupFailed
        | FindingKind::IsolationUnavailable
        | FindingKind::CommandNotFound
        | FindingKind::CommandNotExecutable
        | FindingKind::PathMissing
        | FindingKind::VacuousCheck
        | FindingKind::BaselineUncounted => 0,
        FindingKind::FileMissing | FindingKind::FileEmpty => 1,
        // A command that was ended stands before what it had told by then.
        FindingKind::CommandFailed
        | FindingKind::CommandKilled
        | FindingKind::TimedOut
        | FindingKind::OutputLimit
        | FindingKind::CpuLimit
        | FindingKind::OutOfMemory
        | FindingKind::DiskLimit
        | FindingKind::TestFailed => 2,
        FindingKind::NoTestsRan
        | FindingKind::TooFewTests
        | FindingKind::FewerTestsThanBaseline
        | FindingKind::OutputContradictsExit => 3,
        FindingKind::NotRun | FindingKind::ProtectedFileChanged => 4,
    }
}

/// Not blocking: the baseline's file was used, so the change had no effect on the answer.
fn protected_change(change: &ProtectedChange) -> Finding {
    let (path, what) = match change {
        ProtectedChange::Changed(path) => (path, "was changed"),
        ProtectedChange::Deleted(path) => (path, "was deleted"),
        ProtectedChange::Added(path) => (path, "was added where the contract protects"),
    };
    let title = format!("`{path}` {what}; it is protected by the contract, whose own was used");
    let location = Location { file: path.as_str().to_owned(), line: None, column: None };
    let reason = Reason::new(FindingKind::ProtectedFileChanged, title).at(Some(location));
    unsigned(reason, false)
}

fn unsigned(reason: Reason, blocking: bool) -> Finding {
    reason.into_finding(None, blocking)
}

fn name_criteria(mut finding: Finding, contract: &Contract) -> Finding {
    if let Some(check) = &finding.check {
        let resting = contract.criteria().iter().filter(|it| it.checks.contains(check));
        finding.criteria = resting.map(|it| it.id.clone()).collect();
    }
    finding
}

fn one_line(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.len() <= TITLE_BYTES_MAX {
        return title;
    }
    let mut end = TITLE_BYTES_MAX - '…'.len_utf8();
    while !title.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &title[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{command, command_check, contract, evidence, execution, parts};
    use crate::{
        Check, CheckKind, FailingTest, FileFact, Outcome, TestPhase, TestTally, TreePath,
        check::FilesCheck,
    };

    fn verdict(outcome: Outcome, tally: Option<TestTally>) -> (Decision, Vec<FindingKind>) {
        let judged = judge(&contract(), &evidence(vec![execution(outcome, tally)]));
        (judged.decision, judged.findings.iter().map(|it| it.kind).collect())
    }

    fn tally(passed: u64, failed: u64, skipped: u64) -> Option<TestTally> {
        Some(TestTally { passed, failed, skipped })
    }

    const GREEN: Outcome = Outcome::Exited { code: 0 };

    #[test]
    fn tests_that_ran_and_passed_are_a_pass() {
        assert_eq!(verdict(GREEN, tally(3, 0, 0)), (Decision::Pass, vec![]));
    }

    #[test]
    fn exit_status_zero_without_a_single_test_fails() {
        let no_tests = (Decision::Fail, vec![FindingKind::NoTestsRan]);
        assert_eq!(verdict(GREEN, tally(0, 0, 0)), no_tests);
        assert_eq!(verdict(GREEN, tally(0, 0, 12)), no_tests);
        assert_eq!(verdict(GREEN, None), no_tests);
    }

    #[test]
    fn a_summary_with_failures_beats_exit_status_zero() {
        let (decision, findings) = verdict(GREEN, tally(2, 1, 0));
        assert_eq!(
            (decision, findings),
            (Decision::Fail, vec![FindingKind::OutputContradictsExit])
        );
    }

    #[test]
    fn a_test_binary_that_never_printed_its_summary_fails() {
        let mut run = execution(GREEN, tally(2, 0, 0));
        run.reading.unfinished_suites = 1;
        assert_eq!(judge(&contract(), &evidence(vec![run])).decision, Decision::Fail);
    }

    #[test]
    fn fewer_tests_than_the_contract_asks_for_fail() {
        let mut parts = parts();
        let run = command(&["cargo", "test"]);
        parts.checks[0].kind = CheckKind::Tests(crate::check::TestsCheck {
            at_least: 12,
            ..crate::check::TestsCheck::new(run)
        });
        let contract = Contract::parse(parts).unwrap();
        let judged = judge(&contract, &evidence(vec![execution(GREEN, tally(11, 0, 3))]));
        assert_eq!(judged.findings[0].kind, FindingKind::TooFewTests);
        assert_eq!(judged.findings[0].criteria, ["AC1"]);
    }

    #[test]
    fn a_command_that_ended_in_any_other_way_than_asked_fails() {
        use FindingKind as Kind;
        let ends = [
            (Outcome::Exited { code: 101 }, Kind::CommandFailed),
            (Outcome::Killed { signal: 11 }, Kind::CommandKilled),
            (Outcome::TimedOut { limit_ms: 1 }, Kind::TimedOut),
            (Outcome::OutputLimitExceeded { limit_bytes: 1 }, Kind::OutputLimit),
            (Outcome::CpuLimitExceeded { limit_ms: 1 }, Kind::CpuLimit),
            (Outcome::OutOfMemory { limit_bytes: 1 }, Kind::OutOfMemory),
            (Outcome::DiskLimitExceeded { limit_bytes: 1 }, Kind::DiskLimit),
            (Outcome::NotRun, Kind::NotRun),
        ];
        for (outcome, kind) in ends {
            assert_eq!(verdict(outcome, tally(1, 0, 0)), (Decision::Fail, vec![kind]));
        }
    }

    #[test]
    fn a_command_that_was_ended_tells_the_failing_tests_of_its_log_after_its_end() {
        use FindingKind as Kind;
        let failing = |name: &str| FailingTest {
            name: name.to_owned(),
            phase: TestPhase::Call,
            message: "no".to_owned(),
            expected: None,
            actual: None,
            location: None,
            excerpt: None,
        };
        for (outcome, end) in [
            (Outcome::Killed { signal: 11 }, Kind::CommandKilled),
            (Outcome::TimedOut { limit_ms: 1 }, Kind::TimedOut),
            (Outcome::OutOfMemory { limit_bytes: 1 }, Kind::OutOfMemory),
        ] {
            let mut run = execution(outcome, tally(1, 2, 0));
            run.reading.failing_tests = vec![failing("a"), failing("b")];
            let judged = judge(&contract(), &evidence(vec![run]));
            let told: Vec<_> = judged.findings.iter().map(|it| it.kind).collect();
            assert_eq!(told, [end, Kind::TestFailed, Kind::TestFailed]);
            assert_eq!(judged.findings[2].title, "b: no");
        }
        let mut run = execution(Outcome::NotFound, None);
        run.reading.failing_tests = vec![failing("a")];
        assert_eq!(judge(&contract(), &evidence(vec![run])).findings.len(), 1);
    }

    #[test]
    fn a_program_that_does_not_exist_is_the_contracts_fault() {
        let judged = judge(&contract(), &evidence(vec![execution(Outcome::NotFound, None)]));
        assert_eq!(
            (judged.decision, judged.blame),
            (Decision::Inconclusive, Some(Blame::Contract))
        );
    }

    #[test]
    fn a_missing_program_of_the_workspace_is_the_reporters_fault() {
        let mut run = execution(Outcome::NotFound, None);
        run.command = command(&["./run-tests.sh"]);
        let judged = judge(&contract(), &evidence(vec![run]));
        assert_eq!((judged.decision, judged.blame), (Decision::Fail, Some(Blame::Reporter)));
    }

    #[test]
    fn a_check_whose_command_was_never_started_is_no_yes() {
        let judged = judge(&contract(), &evidence(vec![]));
        assert_eq!((judged.decision, judged.blame), (Decision::Inconclusive, Some(Blame::Gate)));
    }

    #[test]
    fn what_does_not_block_is_recorded_and_passes() {
        let mut parts = parts();
        let mut lint = command_check("lint", &["ruff", "check"]);
        lint.blocking = false;
        parts.checks.push(lint);
        let contract = Contract::parse(parts).unwrap();
        let mut lint = execution(Outcome::Exited { code: 1 }, None);
        lint.check = "lint".to_owned();
        let judged = judge(&contract, &evidence(vec![execution(GREEN, tally(1, 0, 0)), lint]));
        assert_eq!((judged.decision, judged.findings.len()), (Decision::Pass, 1));
    }

    #[test]
    fn a_file_that_is_missing_or_empty_fails() {
        let path = |it: &str| TreePath::parse(it).unwrap();
        let mut parts = parts();
        parts.deliverables = vec![path("guide.md")];
        let kind = CheckKind::Files(FilesCheck { paths: vec![path("empty.rs"), path("src")] });
        parts.checks.push(Check::new("files", kind));
        let contract = Contract::parse(parts).unwrap();
        let mut seen = evidence(vec![execution(GREEN, tally(1, 0, 0))]);
        seen.files = vec![
            (path("empty.rs"), FileFact::File { size_bytes: 0 }),
            (path("src"), FileFact::Directory { entries: 2 }),
        ];
        let judged = judge(&contract, &seen);
        let titles: Vec<_> = judged.findings.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["`empty.rs` is empty", "`guide.md` does not exist"]);
        assert_eq!(judged.decision, Decision::Fail);
    }

    #[test]
    fn a_changed_protected_file_is_recorded() {
        let mut seen = evidence(vec![execution(GREEN, tally(1, 0, 0))]);
        seen.protected_changes =
            vec![ProtectedChange::Changed(TreePath::parse("tests/a.rs").unwrap())];
        let judged = judge(&contract(), &seen);
        assert_eq!(judged.decision, Decision::Pass);
        assert_eq!(judged.findings[0].kind, FindingKind::ProtectedFileChanged);
    }

    #[test]
    fn findings_and_titles_are_bounded() {
        let many =
            (0..FINDINGS_MAX + 5).map(|_| Reason::new(FindingKind::TestFailed, "é\n".repeat(900)));
        let judged = Judgement::from_findings(many.map(|it| it.into_finding(None, true)).collect());
        assert_eq!((judged.findings.len(), judged.findings_left_out), (FINDINGS_MAX, 5));
        assert!(judged.findings.iter().all(|it| it.title.len() <= TITLE_BYTES_MAX));
    }
}
