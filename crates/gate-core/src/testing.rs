//! Builders for tests: a valid default each, of which a test changes one thing.

use crate::check::{CommandCheck, TestsCheck};
use crate::{
    Captured, Check, CheckKind, CommandLine, Contract, ContractParts, Criterion, Environment,
    Evidence, Execution, Isolation, IsolationTier, LogRef, MemoryBound, Outcome, Reading,
    RunLimits, SetupUse, Sha256Digest, TestTally, Usage, WorkspaceKind,
};

/// A contract with one criterion, shown by one blocking `tests` check named `tests`.
#[must_use]
pub fn parts() -> ContractParts {
    let run = command(&["cargo", "test"]);
    ContractParts {
        title: "Cursor pagination".to_owned(),
        baseline: None,
        acceptance_files: None,
        deliverables: Vec::new(),
        criteria: vec![Criterion {
            id: "AC1".to_owned(),
            text: "A page names the next one".to_owned(),
            checks: vec!["tests".to_owned()],
        }],
        out_of_scope: Vec::new(),
        protected: Vec::new(),
        checks: vec![Check::new("tests", CheckKind::Tests(TestsCheck::new(run)))],
        environment: Environment::default(),
        limits: RunLimits::default(),
        rounds_max: 3,
        reports_max: 15,
        callback_url: None,
    }
}

/// The contract of [`parts`].
///
/// # Panics
/// Never: the parts fit together.
#[must_use]
pub fn contract() -> Contract {
    Contract::parse(parts()).expect("the parts above fit together")
}

/// A blocking `command` check.
#[must_use]
pub fn command_check(id: &str, words: &[&str]) -> Check {
    let kind =
        CheckKind::Command(CommandCheck { run: command(words), exit_code: 0, results: Vec::new() });
    Check::new(id, kind)
}

/// A command of words.
///
/// # Panics
/// When there is no word.
#[must_use]
pub fn command(words: &[&str]) -> CommandLine {
    let words = words.iter().map(ToString::to_string).collect();
    CommandLine::parse(words).expect("a test's command has a word")
}

/// An execution of the check `tests` that ended with `outcome` and printed a summary.
#[must_use]
pub fn execution(outcome: Outcome, tally: Option<TestTally>) -> Execution {
    let log = LogRef { sha256: Sha256Digest::from_bytes([0; 32]), size_bytes: 0 };
    Execution {
        check: "tests".to_owned(),
        command: command(&["cargo", "test"]),
        outcome,
        usage: Usage::default(),
        stragglers_killed: 0,
        process_limit_hit: false,
        logs: [log; 3],
        reading: Reading { tool: Some("cargo-test"), tally, ..Reading::default() },
    }
}

/// Evidence with these executions and nothing else.
#[must_use]
pub fn evidence(executions: Vec<Execution>) -> Evidence {
    Evidence {
        tree: Sha256Digest::from_bytes([7; 32]),
        isolation: isolation(),
        executions,
        files: Vec::new(),
        protected_changes: Vec::new(),
        changes: Vec::new(),
        changes_left_out: 0,
        baseline_tests: Vec::new(),
    }
}

/// What the tier `process` tells of itself.
#[must_use]
pub fn isolation() -> Isolation {
    Isolation {
        tier: IsolationTier::Process,
        kernel_uid: 0,
        landlock_abi: None,
        loopback: true,
        memory_bound: MemoryBound::None,
        workspace: WorkspaceKind::Copy,
        setup: SetupUse::None,
        limits: RunLimits::default(),
        known_gaps: vec!["nothing is hidden".to_owned()],
    }
}

/// A capture that holds all of `text`.
#[must_use]
pub fn captured(text: &str) -> Captured {
    let head = text.as_bytes().to_vec();
    Captured { total_bytes: head.len() as u64, head, tail: Vec::new() }
}
