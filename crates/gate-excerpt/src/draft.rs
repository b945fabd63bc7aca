//! What a parser found, before it is bounded, masked, and shown with its lines.

use std::ops::Range;

use gate_core::{Diagnostic, FailingTest, Location, LogStream, Severity, TestTally};

use crate::clean::Log;
use crate::limits::{FAILING_TESTS_SHOWN_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX};
use crate::redact::redact;
use crate::select::{Cut, excerpt, shorten};

/// A runner's figures, finer than a [`TestTally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Executed and passed; none where the runner prints failures only.
    pub passed: Option<u64>,
    /// Executed and failed.
    pub failed: u64,
    /// Set-ups, collections, and suites that failed before a test could.
    pub errors: u64,
    /// Not executed: skipped, ignored, expected to fail, to do.
    pub skipped: u64,
}

impl Counts {
    /// The runner said that there was nothing to execute.
    pub(crate) const NONE: Self = Self { passed: Some(0), failed: 0, errors: 0, skipped: 0 };

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
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
    pub(crate) fn total(&self) -> u64 {
        let passed = self.passed.unwrap_or(0);
        passed.saturating_add(self.failed).saturating_add(self.errors).saturating_add(self.skipped)
    }

    /// The tally; none where it is not known how many passed.
    pub(crate) fn tally(&self) -> Option<TestTally> {
        let failed = self.failed.saturating_add(self.errors);
        self.passed.map(|passed| TestTally { passed, failed, skipped: self.skipped })
    }
}

/// All that one parser found.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// In place of the parser's own name, where it reads more than one tool.
    pub(crate) tool: Option<&'static str>,
    /// Only from the runner's own summary, or for suites without one from its own lines.
    pub(crate) counts: Option<Counts>,
    pub(crate) unfinished: u32,
    pub(crate) failures: Vec<Failure>,
    pub(crate) problems: Vec<Problem>,
    /// Lines that are this tool's, or were printed by its tests: no other parser looks at them.
    pub(crate) taken: Vec<Range<usize>>,
}

impl Draft {
    pub(crate) fn add_counts(&mut self, counts: Counts) {
        self.counts = Some(self.counts.map_or(counts, |it| it.plus(counts)));
    }

    pub(crate) fn has_error(&self) -> bool {
        !self.failures.is_empty() || self.problems.iter().any(|it| it.severity == Severity::Error)
    }
}

/// A failing test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
    pub(crate) cut: Cut,
}

impl Failure {
    /// With its lines, if it is among the first.
    pub(crate) fn finish(self, log: &Log, stream: LogStream, index: usize) -> FailingTest {
        let is_shown = index < FAILING_TESTS_SHOWN_MAX;
        FailingTest {
            name: shorten(&self.name, NAME_BYTES_MAX),
            message: one_line(&self.message),
            location: self.location,
            excerpt: if is_shown { excerpt(log, stream, &self.cut) } else { None },
        }
    }
}

/// An error or a warning.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
    pub(crate) cut: Cut,
}

impl Problem {
    pub(crate) fn error(message: impl Into<String>, cut: Cut) -> Self {
        let message = message.into();
        Self { severity: Severity::Error, code: None, message, location: None, cut }
    }

    pub(crate) fn at(self, location: Option<Location>) -> Self {
        Self { location, ..self }
    }

    pub(crate) fn finish(self, log: &Log, stream: LogStream) -> Diagnostic {
        let Self { severity, code, message, location, cut } = self;
        let excerpt = excerpt(log, stream, &cut);
        Diagnostic { severity, code, message: one_line(&message), location, excerpt }
    }
}

/// Bounded, masked, without line ends.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() > MESSAGE_BYTES_MAX {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    shorten(&redact(&line), MESSAGE_BYTES_MAX)
}
