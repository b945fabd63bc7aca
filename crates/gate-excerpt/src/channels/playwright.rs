//! Playwright's `--reporter=json`.

use std::rc::Rc;

use gate_core::{Location, TestPhase};
use serde::Deserialize;

use super::json::{self, Figure, list, or_default};
use super::{Broken, Channel, Document, Found, Head, shown};
use crate::compare;
use crate::draft::{Counts, Failure, Problem};
use crate::limits::{ENTRIES_MAX, FAILING_TESTS_MAX, NAME_BYTES_MAX};
use crate::parsers::Context;
use crate::select::shorten;

/// See the module.
pub(super) const PLAYWRIGHT: Channel =
    Channel { tool: "playwright", programs: &["playwright"], is, read };

#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default, deserialize_with = "list")]
    suites: Vec<Suite>,
    #[serde(default, deserialize_with = "list")]
    errors: Vec<Thrown>,
}

#[derive(Debug, Deserialize)]
struct Suite {
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    file: String,
    #[serde(default, deserialize_with = "list")]
    specs: Vec<Test>,
    #[serde(default, deserialize_with = "list")]
    suites: Vec<Suite>,
}

#[derive(Debug, Deserialize)]
struct Test {
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    file: String,
    #[serde(default)]
    line: Figure,
    #[serde(default, deserialize_with = "list")]
    tests: Vec<Project>,
}

/// The same test in one browser.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Project {
    #[serde(default, deserialize_with = "or_default")]
    project_name: String,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, deserialize_with = "list")]
    results: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
struct Attempt {
    #[serde(default, deserialize_with = "or_default")]
    error: Option<Thrown>,
}

#[derive(Debug, Default, Clone, Deserialize)]
struct Thrown {
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "or_default")]
    stack: String,
    #[serde(default, deserialize_with = "or_default")]
    location: Option<At>,
}

#[derive(Debug, Default, Clone, Deserialize)]
struct At {
    #[serde(default, deserialize_with = "or_default")]
    file: String,
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    column: Figure,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{")
        && head.has_all(&["\"config\"", "\"rootDir\""])
        && head.text.contains("\"forbidOnly\"")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (report, length): (Report, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    let mut counts = Counts::NONE;
    // Nested no deeper than the JSON parser allows.
    let outermost = Rc::new(Vec::new());
    let mut waiting: Vec<(Rc<Vec<String>>, Suite)> =
        report.suites.into_iter().rev().map(|it| (Rc::clone(&outermost), it)).collect();
    let mut left = ENTRIES_MAX;
    while let Some((mut titles, suite)) = waiting.pop() {
        let Suite { title, file, specs, suites } = suite;
        // The outermost suite is the file.
        if title != file && !title.is_empty() {
            Rc::make_mut(&mut titles).push(shorten(&title, NAME_BYTES_MAX));
        }
        waiting.extend(suites.into_iter().rev().map(|it| (Rc::clone(&titles), it)));
        for spec in specs {
            left = left.checked_sub(1).ok_or_else(|| "it has too many tests".to_owned())?;
            for project in &spec.tests {
                match project.status.as_str() {
                    "skipped" => counts.skipped += 1,
                    "unexpected" => counts.failed += 1,
                    _ => counts.passed = counts.passed.map(|it| it + 1),
                }
                if project.status == "unexpected" && found.draft.failures.len() < FAILING_TESTS_MAX
                {
                    found.draft.failures.push(failure(&titles, &spec, project, document, cx));
                }
            }
        }
    }
    for error in report.errors.iter().take(FAILING_TESTS_MAX) {
        counts.errors += 1;
        let shown = shown::read(&error.message, cx);
        let location = error.place(cx).or(shown.location);
        found
            .draft
            .problems
            .push(Problem::error(shown.message, document.cut(0, shown.text)).at(location));
    }
    found.draft.counts = Some(counts);
    Ok(found)
}

impl Thrown {
    fn place(&self, cx: &Context<'_>) -> Option<Location> {
        let at = self.location.as_ref().filter(|it| !it.file.is_empty())?;
        Some(cx.paths.place(&at.file, at.line.0, at.column.0).location)
    }
}

fn failure(
    titles: &[String],
    spec: &Test,
    project: &Project,
    document: &Document<'_>,
    cx: &Context<'_>,
) -> Failure {
    let thrown = project.results.iter().find_map(|it| it.error.clone()).unwrap_or_default();
    let shown = shown::read(&thrown.message, cx);
    let stack = shown::read(&thrown.stack, cx);
    let browser = Some(format!("[{}]", project.project_name)).filter(|it| it != "[]");
    let parts = browser.iter().chain([&spec.file]).chain(titles).chain([&spec.title]);
    let name: Vec<&str> = parts.map(String::as_str).filter(|it| !it.is_empty()).collect();
    let of_test = || Some(cx.paths.location(&spec.file, spec.line.0));
    let sides = compare::in_text(&shown.text).unwrap_or_default();
    Failure {
        name: name.join(" › "),
        phase: TestPhase::Call,
        message: shown.message,
        expected: sides.expected,
        actual: sides.actual,
        location: thrown.place(cx).or(stack.location).or_else(of_test),
        cut: document.cut(0, shown.text),
    }
}
