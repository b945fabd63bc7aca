//! What a command printed, and what was read in it.

use crate::Location;

/// One of the three logs that are kept of each execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogStream {
    /// What it wrote to standard output.
    Stdout,
    /// What it wrote to standard error.
    Stderr,
    /// Both, in the order in which the gate read them.
    Merged,
}

impl LogStream {
    /// The word for it in JSON and paths.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Merged => "merged",
        }
    }
}

/// The start and the end of one stream; what is between was counted, not kept in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, where there were more than `head` holds.
    pub tail: Vec<u8>,
    /// All bytes that were printed.
    pub total_bytes: u64,
}

impl Captured {
    /// Bytes that are neither in the head nor in the tail.
    #[must_use]
    pub fn left_out_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }
}

/// A bounded slice of a log, as lossy text, with the place where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The log that it was taken from.
    pub stream: LogStream,
    /// Of its first byte in the raw log.
    pub offset: u64,
    /// The lines, cleaned of colours.
    pub text: String,
}

/// A runner's own summary, summed over all that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestTally {
    /// Executed and passed.
    pub passed: u64,
    /// Executed and failed, errors included.
    pub failed: u64,
    /// Not executed: skipped, ignored, xfail, todo.
    pub skipped: u64,
}

impl TestTally {
    /// Tests that really ran.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.passed + self.failed
    }
}

/// A runner's figures, finer than a [`TestTally`]: as it printed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestCounts {
    /// Executed and passed; none where the runner prints failures only.
    pub passed: Option<u64>,
    /// Executed and failed.
    pub failed: u64,
    /// Set-ups, collections, and suites that failed before a test could.
    pub errors: u64,
    /// Not executed: skipped, ignored, expected to fail, to do.
    pub skipped: u64,
}

impl TestCounts {
    /// The runner said that there was nothing to execute.
    pub const NONE: Self = Self { passed: Some(0), failed: 0, errors: 0, skipped: 0 };

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let passed = match (self.passed, other.passed) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        Self {
            passed,
            failed: self.failed.saturating_add(other.failed),
            errors: self.errors.saturating_add(other.errors),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }

    /// All tests that it speaks of.
    #[must_use]
    pub fn total(&self) -> u64 {
        let passed = self.passed.unwrap_or(0);
        passed.saturating_add(self.failed).saturating_add(self.errors).saturating_add(self.skipped)
    }

    /// The tally; none where it is not known how many passed.
    #[must_use]
    pub fn tally(&self) -> Option<TestTally> {
        let failed = self.failed.saturating_add(self.errors);
        self.passed.map(|passed| TestTally { passed, failed, skipped: self.skipped })
    }
}

/// When a test failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum TestPhase {
    /// Its file could not be loaded.
    Collection,
    /// What it needs could not be made.
    Setup,
    /// In its own body.
    #[default]
    Call,
    /// When it was cleaned up after.
    Teardown,
}

impl TestPhase {
    /// The word for it in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Collection => "collection",
            Self::Setup => "setup",
            Self::Call => "call",
            Self::Teardown => "teardown",
        }
    }
}

/// A test that a runner called failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailingTest {
    /// As the runner prints it.
    pub name: String,
    /// When it failed.
    pub phase: TestPhase,
    /// The assertion or the panic, one line.
    pub message: String,
    /// What it should have been, where the runner prints both sides of a comparison.
    pub expected: Option<String>,
    /// What it was.
    pub actual: Option<String>,
    /// Where it failed, in the workspace.
    pub location: Option<Location>,
    /// The lines that show it.
    pub excerpt: Option<Excerpt>,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It stops the command.
    Error,
    /// It does not.
    Warning,
}

/// An error or warning with its place: a compiler's, a linter's, an interpreter's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The tool's own code, such as `E0308`.
    pub code: Option<String>,
    /// One line.
    pub message: String,
    /// Where, in the workspace.
    pub location: Option<Location>,
    /// Other places where the same is wrong, the first of them.
    pub also_at: Vec<Location>,
    /// How often it was said, at least once.
    pub times: u32,
    /// The lines that show it.
    pub excerpt: Option<Excerpt>,
}

/// What a log says. It informs and never decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The tool whose output it is, where one was known.
    pub tool: Option<&'static str>,
    /// The runner's own summary, where one was seen.
    pub tally: Option<TestTally>,
    /// The same, as fine as the runner printed it; also where it does not say how many passed.
    pub counts: Option<TestCounts>,
    /// Test binaries or files that started and never printed their summary.
    pub unfinished_suites: u32,
    /// Failing tests, in the order in which they should be fixed.
    pub failing_tests: Vec<FailingTest>,
    /// Errors before warnings, the first cause first.
    pub diagnostics: Vec<Diagnostic>,
    /// The last telling lines, for when nothing above says anything.
    pub tail: Option<Excerpt>,
}

impl Reading {
    /// Whether the runner's own summary was seen, of everything that it started.
    #[must_use]
    pub const fn has_summary(&self) -> bool {
        self.counts.is_some() && self.unfinished_suites == 0
    }
}
