//! JUnit XML in the dialects of nextest, pytest, surefire, and the many others; the root may be one suite.
//!
//! The cases are counted one by one: the totals that the attributes claim are often wrong.

use gate_core::{Location, TestPhase};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{Channel, Document, Found, Head, shown};
use crate::compare;
use crate::draft::{Counts, Failure};
use crate::limits::{ENTRIES_MAX, FAILING_TESTS_MAX, NAME_BYTES_MAX};
use crate::parsers::Context;
use crate::select::shorten;

/// See the module.
pub(super) const JUNIT: Channel =
    Channel { tool: "", programs: &["cat", "junit2html", "xunit-viewer"], is, read };

/// Bytes of one failure's text that are kept.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// One test.
#[derive(Debug, Default)]
struct Case {
    name: String,
    class: String,
    file: String,
    line: Option<u32>,
    outcome: Outcome,
    message: String,
    kind: String,
    text: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    #[default]
    Passed,
    Skipped,
    Failed,
    Error,
}

/// Who wrote it, as far as it shows.
#[derive(Debug, Default)]
struct Dialect {
    tool: &'static str,
    suites: Vec<String>,
}

fn is(head: &Head<'_>) -> bool {
    let start = head.text.trim_start();
    let is_xml = ["<?xml", "<testsuite", "<!--"].iter().any(|it| start.starts_with(it));
    is_xml && head.text.contains("<testsuite")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, String> {
    let mut reader = Reader::from_reader(&document.bytes[..]);
    reader.config_mut().check_end_names = true;
    let mut found = Found::default();
    let mut counts = Counts::NONE;
    let mut dialect = Dialect::default();
    let mut case: Option<Case> = None;
    let mut in_failure = false;
    let (mut depth, mut cases, mut case_at) = (0_usize, 0_usize, 0);
    loop {
        let at = position(&reader);
        let event = reader.read_event().map_err(|it| broken(&it.to_string()))?;
        match event {
            Event::Eof if depth > 0 => return Err(broken("it ends too early")),
            Event::Eof => break,
            Event::Start(tag) => {
                depth += 1;
                match tag.local_name().as_ref() {
                    b"testcase" => (case, case_at) = (Some(Case::read(&tag)), at),
                    b"testsuite" | b"testsuites" => dialect.open(&tag),
                    _ => in_failure = case.as_mut().is_some_and(|it| it.child(&tag)),
                }
            }
            Event::Empty(tag) => match tag.local_name().as_ref() {
                b"testcase" => {
                    cases += 1;
                    Case::read(&tag).count(&mut counts);
                }
                b"testsuite" | b"testsuites" => {
                    dialect.open(&tag);
                    dialect.suites.pop();
                }
                b"property" => dialect.property(&tag),
                _ => {
                    if let Some(case) = &mut case {
                        case.child(&tag);
                    }
                }
            },
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                in_failure = false;
                match tag.local_name().as_ref() {
                    b"testcase" => {
                        cases += 1;
                        let Some(case) = case.take() else { continue };
                        case.count(&mut counts);
                        let is_shown = found.draft.failures.len() < FAILING_TESTS_MAX;
                        if case.is_failed() && is_shown {
                            found
                                .draft
                                .failures
                                .push(case.failure(&dialect, case_at, document, cx));
                        }
                    }
                    b"testsuite" | b"testsuites" => drop(dialect.suites.pop()),
                    _ => {}
                }
                if depth == 0 {
                    found.length = position(&reader);
                    break;
                }
            }
            Event::Text(text) if in_failure => add(&mut case, &text.decode().unwrap_or_default()),
            Event::CData(text) if in_failure => add(&mut case, &text.decode().unwrap_or_default()),
            Event::GeneralRef(name) if in_failure => add(&mut case, &entity(&name)),
            _ => {}
        }
        if cases > ENTRIES_MAX {
            return Err(format!("it has more than {ENTRIES_MAX} tests"));
        }
    }
    if found.length == 0 && cases == 0 {
        found.length = position(&reader);
    }
    found.draft.counts = Some(counts);
    found.draft.tool = (!dialect.tool.is_empty()).then_some(dialect.tool);
    Ok(found)
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn broken(why: &str) -> String {
    format!("it is no whole XML: {why}")
}

fn add(case: &mut Option<Case>, text: &str) {
    if let Some(case) = case {
        let room = TEXT_BYTES_MAX.saturating_sub(case.text.len());
        let end = (0..=room.min(text.len())).rev().find(|it| text.is_char_boundary(*it));
        case.text.push_str(&text[..end.unwrap_or(0)]);
    }
}

/// One of the five that XML has, or a character's number.
fn entity(name: &quick_xml::events::BytesRef<'_>) -> String {
    if let Ok(Some(character)) = name.resolve_char_ref() {
        return character.to_string();
    }
    let name = name.decode().unwrap_or_default();
    quick_xml::escape::resolve_xml_entity(&name).unwrap_or_default().to_owned()
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok()??;
    let text = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&text).map(Into::into).unwrap_or(text))
}

impl Dialect {
    fn open(&mut self, tag: &BytesStart<'_>) {
        let name = attribute(tag, "name").unwrap_or_default();
        let has = |it: &str| attribute(tag, it).is_some();
        let tool = match name.as_str() {
            "nextest-run" => "cargo-nextest",
            "pytest" | "pytest tests" => "pytest",
            "jest tests" => "jest",
            "vitest tests" => "vitest",
            "Mocha Tests" => "mocha",
            "rspec" => "rspec",
            "AllTests" => "gtest",
            "bun test" => "bun",
            "deno test" => "deno",
            _ if has("assertions") && has("file") => "phpunit",
            _ if attribute(tag, "xsi:noNamespaceSchemaLocation")
                .is_some_and(|it| it.contains("surefire")) =>
            {
                "maven"
            }
            _ => "",
        };
        if self.tool.is_empty() {
            self.tool = tool;
        }
        self.suites.push(shorten(&name, NAME_BYTES_MAX));
    }

    fn property(&mut self, tag: &BytesStart<'_>) {
        if self.tool.is_empty() && attribute(tag, "name").as_deref() == Some("go.version") {
            self.tool = "go-test";
        }
    }

    /// As the runner prints it, as far as the attributes tell.
    fn name(&self, case: &Case) -> String {
        let Case { name, class, file, .. } = case;
        let suite = self.suites.last().map_or("", String::as_str);
        match self.tool {
            "cargo-nextest" => format!("{suite} {name}"),
            "pytest" => python_name(class, name, file),
            "go-test" | "bats" => name.clone(),
            "maven" | "phpunit" => {
                format!("{class}{}{name}", if self.tool == "maven" { "." } else { "::" })
            }
            "gtest" => format!("{class}.{name}"),
            "rspec" | "mocha" | "jest" | "vitest" => name.clone(),
            _ if class.is_empty() || name.contains(class.as_str()) => name.clone(),
            _ => format!("{class}.{name}"),
        }
    }
}

/// `tests.test_a.TestA` and `test_b` of `tests/test_a.py` are `tests/test_a.py::TestA::test_b`.
fn python_name(class: &str, name: &str, file: &str) -> String {
    if class.is_empty() {
        // A file that could not be collected has its module as name.
        return format!("{}.py", name.replace('.', "/"));
    }
    let module = file.trim_end_matches(".py").replace(['/', '\\'], ".");
    let (path, classes) = match class.strip_prefix(module.as_str()).filter(|_| !file.is_empty()) {
        Some(rest) => (file.to_owned(), rest.trim_start_matches('.').to_owned()),
        None => {
            // Classes are written with a capital letter, modules are not.
            let parts: Vec<&str> = class.split('.').collect();
            let is_class = |it: &&str| it.starts_with(|it: char| it.is_uppercase());
            let at = parts.iter().position(is_class).unwrap_or(parts.len());
            (format!("{}.py", parts[..at].join("/")), parts[at..].join("."))
        }
    };
    let classes = if classes.is_empty() {
        String::new()
    } else {
        format!("::{}", classes.replace('.', "::"))
    };
    format!("{path}{classes}::{name}")
}

impl Case {
    fn read(tag: &BytesStart<'_>) -> Self {
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
    fn child(&mut self, tag: &BytesStart<'_>) -> bool {
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

    fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed | Outcome::Error)
    }

    fn count(&self, counts: &mut Counts) {
        match self.outcome {
            Outcome::Passed => counts.passed = counts.passed.map(|it| it.saturating_add(1)),
            Outcome::Skipped => counts.skipped += 1,
            Outcome::Failed => counts.failed += 1,
            Outcome::Error => counts.errors += 1,
        }
    }

    fn phase(&self) -> TestPhase {
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

    fn failure(
        self,
        dialect: &Dialect,
        at: usize,
        document: &Document<'_>,
        cx: &Context<'_>,
    ) -> Failure {
        let name = dialect.name(&self);
        let phase = self.phase();
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
    fn place(&self, dialect: &Dialect, cx: &Context<'_>) -> Option<Location> {
        let line = match dialect.tool {
            "pytest" => self.line.map(|it| it.saturating_add(1)),
            _ => self.line,
        };
        (!self.file.is_empty()).then(|| cx.paths.location(&self.file, line))
    }
}
