//! One test of a JUnit file, and the failure that it tells.

use gate_core::{Location, TestPhase};
use quick_xml::events::BytesStart;

use super::TEXT_BYTES_MAX;
use super::dialect::Dialect;
use crate::channels::{Document, shown};
use crate::compare;
use crate::draft::{Counts, Failure};
use crate::limits::NAME_BYTES_MAX;
use crate::parsers::Context;
use crate::select::shorten;

/// One test.
#[derive(Debug, Default)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) file: String,
    pub(super) line: Option<u32>,
    pub(super) outcome: Outcome,
    pub(super) message: String,
    pub(super) kind: String,
    pub(super) text: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    #[default]
    Passed,
    Skipped,
    Failed,
    Error,
}

pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok()??;
    let text = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&text).map(Into::into).unwrap_or(text))
}

impl Case {
    pub(super) fn read(tag: &BytesStart<'_>) -> Self {
        let text = |name: &str| {
            attribute(tag, name).map(|it| shorten(&it, NAME_BYTES_MAX)).unwrap_or_default()
        };
        let mut case = Self {
            name: text("name"),
            class: text("classname"),
            file: text("file"),
            line: text("line").parse().ok(),
            ..Self::default()
        };
        // gtest and ctest say it in an attribute.
        if matches!(text("status").as_str(), "notrun" | "disabled" | "skipped") {
            case.outcome = Outcome::Skipped;
        }
        case
    }

    /// What is in the case; whether its text tells a failure.
    pub(super) fn child(&mut self, tag: &BytesStart<'_>) -> bool {
        let outcome = match tag.local_name().as_ref() {
            b"failure" => Outcome::Failed,
            b"error" => Outcome::Error,
            b"skipped" | b"disabled" | b"ignored" => Outcome::Skipped,
            _ => return false,
        };
        let is_worse = outcome != Outcome::Skipped;
        if self.outcome == Outcome::Passed || is_worse && !self.is_failed() {
            self.outcome = outcome;
            self.message = attribute(tag, "message").unwrap_or_default();
            self.kind = attribute(tag, "type").unwrap_or_default();
            return is_worse;
        }
        false
    }

    pub(super) fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed | Outcome::Error)
    }

    pub(super) fn count(&self, dialect: &mut Dialect, counts: &mut Counts) {
        match self.outcome {
            Outcome::Passed => dialect.suites.last_mut().into_iter().for_each(|it| it.passed += 1),
            Outcome::Skipped => counts.skipped += 1,
            Outcome::Failed => counts.failed += 1,
            Outcome::Error => counts.errors += 1,
        }
    }

    pub(super) fn phase(&self) -> TestPhase {
        if self.message.starts_with("collection failure") {
            TestPhase::Collection
        } else if self.message.starts_with("failed on setup")
            || self.message == "test setup failure"
        {
            TestPhase::Setup
        } else if self.message.starts_with("failed on teardown")
            || self.message == "test teardown failure"
        {
            TestPhase::Teardown
        } else {
            TestPhase::Call
        }
    }

    pub(super) fn failure(
        self,
        dialect: &Dialect,
        at: usize,
        document: &Document<'_>,
        cx: &Context<'_>,
    ) -> Failure {
        let name = dialect.name(&self);
        // A file that could not be loaded is written as a test of its own.
        let is_file = dialect.suites.last().is_some_and(|it| it.name == self.name);
        let phase = if is_file { TestPhase::Collection } else { self.phase() };
        let shown = shown::read(&self.text, cx);
        let is_place = self.message.starts_with("thread '");
        let is_generic = phase != TestPhase::Call && !shown.message.is_empty();
        let message = match self.message.as_str() {
            "" => shown.message,
            _ if is_place || is_generic => shown.message,
            told => told.to_owned(),
        };
        let message = if message.is_empty() { self.kind.clone() } else { message };
        let sides = compare::in_text(&shown.text).or_else(|| compare::in_text(&message));
        let sides = sides.unwrap_or_default();
        let location = shown.location.or_else(|| self.place(dialect, cx));
        let text = if shown.text.is_empty() { message.clone() } else { shown.text };
        let cut = document.cut(at, format!("{name}\n{text}"));
        Failure {
            phase,
            message,
            expected: sides.expected,
            actual: sides.actual,
            location,
            cut,
            name,
        }
    }

    /// Of the test, where its text names no place. pytest counts lines from 0.
    pub(super) fn place(&self, dialect: &Dialect, cx: &Context<'_>) -> Option<Location> {
        let line = match dialect.tool {
            "pytest" => self.line.map(|it| it.saturating_add(1)),
            _ => self.line,
        };
        (!self.file.is_empty()).then(|| cx.paths.location(&self.file, line))
    }

    /// More of the text that tells the failure.
    pub(super) fn add(&mut self, text: &str) {
        let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
        let end = (0..=room.min(text.len())).rev().find(|it| text.is_char_boundary(*it));
        self.text.push_str(&text[..end.unwrap_or(0)]);
    }
}
