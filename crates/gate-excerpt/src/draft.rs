//! What a parser found, before it is bounded, masked, and shown with its lines.

use std::ops::Range;

use gate_core::{Diagnostic, FailingTest, Location, LogStream, Severity, TestPhase, shorten_pair};

use crate::classify::{self, Class};
use crate::clean::Log;
use crate::compare;
use crate::limits::{
    COMPARED_BYTES_MAX, FAILING_TESTS_SHOWN_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX,
};
use crate::redact::redact;
use crate::select::{Cut, excerpt, shorten};

/// The word for it in this crate.
pub(crate) use gate_core::TestCounts as Counts;

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
    /// Lines with problems that nobody read closely, for they are too many.
    pub(crate) left_out: u64,
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

    /// Whether it says more than that another tool failed.
    pub(crate) fn has_cause(&self) -> bool {
        let is_cause =
            |it: &Problem| it.severity == Severity::Error && it.class != Some(Class::Echo);
        !self.failures.is_empty() || self.problems.iter().any(is_cause)
    }
}

/// A failing test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) phase: TestPhase,
    pub(crate) message: String,
    /// Where a parser gives neither side, they are looked for in the message and the lines of the cut.
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
    pub(crate) location: Option<Location>,
    pub(crate) cut: Cut,
}

impl Failure {
    /// With its lines, if it is among the first.
    pub(crate) fn finish(self, log: &Log, stream: LogStream, index: usize) -> FailingTest {
        let is_shown = index < FAILING_TESTS_SHOWN_MAX;
        let Self { name, phase, message, mut expected, mut actual, location, cut } = self;
        if is_shown && expected.is_none() && actual.is_none() {
            let sides = compare::find(&message, log, &cut).unwrap_or_default();
            (expected, actual) = (sides.expected, sides.actual);
        }
        let (expected, actual) = sides(expected, actual);
        FailingTest {
            name: shorten(&name, NAME_BYTES_MAX),
            phase,
            message: one_line(&message),
            expected,
            actual,
            location,
            excerpt: if is_shown { excerpt(log, stream, &cut) } else { None },
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
    /// Where the parser knows better than what the message says.
    pub(crate) class: Option<Class>,
    /// Where else the same is wrong.
    pub(crate) also_at: Vec<Location>,
    /// How often it is said, this time among them.
    pub(crate) times: u32,
}

impl Problem {
    pub(crate) fn error(message: impl Into<String>, cut: Cut) -> Self {
        let message = message.into();
        Self {
            severity: Severity::Error,
            code: None,
            message,
            location: None,
            cut,
            class: None,
            also_at: Vec::new(),
            times: 1,
        }
    }

    pub(crate) fn warning(message: impl Into<String>, cut: Cut) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message, cut) }
    }

    /// What the gate itself has to say of its reading.
    pub(crate) fn note(message: impl Into<String>, cut: Cut) -> Self {
        Self { class: Some(Class::Note), ..Self::warning(message, cut) }
    }

    /// How much it looks like the cause of the others.
    pub(crate) fn class(&self) -> Class {
        match (self.class, self.severity) {
            (Some(class), _) => class,
            (None, Severity::Warning) => Class::Warning,
            (None, Severity::Error) => classify::of_error(&self.message, self.code.as_deref()),
        }
    }

    pub(crate) fn at(self, location: Option<Location>) -> Self {
        Self { location, ..self }
    }

    pub(crate) fn finish(self, log: &Log, stream: LogStream) -> Diagnostic {
        let Self { severity, code, message, location, cut, also_at, times, class: _ } = self;
        let excerpt = excerpt(log, stream, &cut);
        let message = one_line(&message);
        Diagnostic { severity, code, message, location, also_at, times, excerpt }
    }
}

/// Both sides of a comparison, bounded where they differ, and masked.
fn sides(expected: Option<String>, actual: Option<String>) -> (Option<String>, Option<String>) {
    match (expected, actual) {
        (Some(expected), Some(actual)) => {
            let (expected, actual) = (redact(&expected), redact(&actual));
            let (expected, actual) = shorten_pair(&expected, &actual, COMPARED_BYTES_MAX);
            (Some(expected), Some(actual))
        }
        (expected, actual) => {
            let one = |it: Option<String>| it.map(|it| shorten(&redact(&it), COMPARED_BYTES_MAX));
            (one(expected), one(actual))
        }
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
