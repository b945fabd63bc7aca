//! The checks: one mechanical question each, of a kind.

mod command;
mod files;
mod tests;

pub use command::CommandCheck;
pub use files::FilesCheck;
pub(crate) use files::missing;
pub use tests::TestsCheck;

use crate::{
    Blame, CommandLine, Evidence, Excerpt, Execution, FailedTest, Finding, FindingKind, Location,
    PathPattern, TreePath,
};

/// One question of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Such as `order-tests`.
    pub id: String,
    /// Whether a no prevents a PASS.
    pub blocking: bool,
    /// Whether it must say no on the untouched baseline, so that a yes later says something.
    pub fails_on_baseline: bool,
    /// What is asked.
    pub kind: CheckKind,
}

/// What a check asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckKind {
    /// Does a command end as expected?
    Command(CommandCheck),
    /// Do the tests pass, and did any run?
    Tests(TestsCheck),
    /// Are the files there, and not empty?
    Files(FilesCheck),
}

impl Check {
    /// One that blocks, with nothing special about it.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: CheckKind) -> Self {
        Self { id: id.into(), blocking: true, fails_on_baseline: false, kind }
    }

    /// Answers the question: no finding is a yes.
    #[must_use]
    pub fn apply(&self, evidence: &Evidence) -> Vec<Finding> {
        let made = match &self.kind {
            CheckKind::Command(check) => check.apply(self.execution(evidence)),
            CheckKind::Tests(check) => {
                let baseline = evidence.baseline_of(&self.id);
                check.apply(self.execution(evidence), baseline.map(|it| it.tally))
            }
            CheckKind::Files(check) => check.apply(evidence),
        };
        self.sign(made)
    }

    /// Answers a question that a command alone can answer.
    pub(crate) fn apply_to(&self, execution: &Execution) -> Vec<Finding> {
        self.sign(match &self.kind {
            CheckKind::Command(check) => check.apply(Some(execution)),
            CheckKind::Tests(check) => check.apply(Some(execution), None),
            CheckKind::Files(_) => Vec::new(),
        })
    }

    /// The command that the check owns.
    #[must_use]
    pub fn command(&self) -> Option<&CommandLine> {
        match &self.kind {
            CheckKind::Command(check) => Some(&check.run),
            CheckKind::Tests(check) => Some(&check.run),
            CheckKind::Files(_) => None,
        }
    }

    /// The files that its command writes for machines to read.
    #[must_use]
    pub fn results(&self) -> &[PathPattern] {
        match &self.kind {
            CheckKind::Command(check) => &check.results,
            CheckKind::Tests(check) => &check.results,
            CheckKind::Files(_) => &[],
        }
    }

    /// The paths that the check looks at.
    #[must_use]
    pub fn paths(&self) -> &[TreePath] {
        match &self.kind {
            CheckKind::Files(check) => &check.paths,
            CheckKind::Command(_) | CheckKind::Tests(_) => &[],
        }
    }

    /// The kind's word in JSON and tables.
    #[must_use]
    pub const fn kind_word(&self) -> &'static str {
        match &self.kind {
            CheckKind::Command(_) => "command",
            CheckKind::Tests(_) => "tests",
            CheckKind::Files(_) => "files",
        }
    }

    fn sign(&self, made: Vec<Reason>) -> Vec<Finding> {
        made.into_iter().map(|it| it.into_finding(Some(self.id.clone()), self.blocking)).collect()
    }

    fn execution<'a>(&self, evidence: &'a Evidence) -> Option<&'a Execution> {
        evidence.execution(&self.id)
    }
}

/// A finding before its check signs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    kind: FindingKind,
    blame: Blame,
    title: String,
    location: Option<Location>,
    test: Option<Box<FailedTest>>,
    excerpt: Option<Excerpt>,
}

impl Reason {
    pub(crate) fn new(kind: FindingKind, title: impl Into<String>) -> Self {
        let title = title.into();
        let blame = Blame::Reporter;
        Self { kind, blame, title, location: None, test: None, excerpt: None }
    }

    /// Signs it with the check that made it; what concerns the whole run has none.
    pub(crate) fn into_finding(self, check: Option<String>, blocking: bool) -> Finding {
        let Self { kind, blame, title, location, test, excerpt } = self;
        let (criteria, test) = (Vec::new(), test.map(|it| *it));
        Finding { check, criteria, kind, blocking, blame, title, location, test, excerpt }
    }

    pub(crate) fn blame(self, blame: Blame) -> Self {
        Self { blame, ..self }
    }

    pub(crate) fn at(self, location: Option<Location>) -> Self {
        Self { location, ..self }
    }

    pub(crate) fn of(self, test: FailedTest) -> Self {
        Self { test: Some(Box::new(test)), ..self }
    }

    pub(crate) fn show(self, excerpt: Option<Excerpt>) -> Self {
        Self { excerpt, ..self }
    }
}
