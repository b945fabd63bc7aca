//! Jest's `--json`, and Vitest's reporter of the same form.

use gate_core::TestPhase;
use serde::Deserialize;

use super::json::{self, Figure, list, or_default};
use super::{Broken, Channel, Document, Found, Head, shown};
use crate::compare;
use crate::draft::{Counts, Failure};
use crate::limits::FAILING_TESTS_MAX;
use crate::parsers::Context;

/// See the module.
pub(super) const JEST: Channel =
    Channel { tool: "jest", programs: &["jest"], is: |head| is(head) && !is_vitest(head), read };
/// See the module.
pub(super) const VITEST: Channel =
    Channel { tool: "vitest", programs: &["vitest"], is: |head| is(head) && is_vitest(head), read };

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    num_total_tests: u64,
    #[serde(default)]
    num_passed_tests: u64,
    #[serde(default)]
    num_failed_tests: u64,
    #[serde(default)]
    num_pending_tests: u64,
    #[serde(default)]
    num_todo_tests: u64,
    #[serde(default, deserialize_with = "list")]
    test_results: Vec<Suite>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    #[serde(default, deserialize_with = "or_default", alias = "testFilePath")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "list")]
    assertion_results: Vec<Test>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default, deserialize_with = "list")]
    ancestor_titles: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, deserialize_with = "list")]
    failure_messages: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    location: Option<At>,
}

#[derive(Debug, Deserialize)]
struct At {
    #[serde(default)]
    line: Figure,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{") && head.has_all(&["\"numTotalTestSuites\"", "\"numFailedTest"])
}

fn is_vitest(head: &Head<'_>) -> bool {
    // Jest sorts its keys and counts suites that could not be run; Vitest does neither.
    !head.text.contains("\"numRuntimeErrorTestSuites\"")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (report, length): (Report, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    let mut broken = 0;
    for suite in report.test_results {
        let tests = suite.assertion_results.iter();
        let failed: Vec<&Test> = tests.filter(|it| it.status == "failed").collect();
        if suite.status == "failed" && failed.is_empty() {
            broken += 1;
            if found.draft.failures.len() < FAILING_TESTS_MAX {
                found.draft.failures.push(file(&suite, document, cx));
            }
        }
        let room = FAILING_TESTS_MAX.saturating_sub(found.draft.failures.len());
        let failures = failed.into_iter().take(room).map(|it| failure(&suite, it, document, cx));
        found.draft.failures.extend(failures);
    }
    let executed = report.num_passed_tests.saturating_add(report.num_failed_tests);
    if executed > report.num_total_tests {
        return Err("it counts more tests than there are".to_owned().into());
    }
    found.draft.counts = Some(Counts {
        passed: Some(report.num_passed_tests),
        failed: report.num_failed_tests,
        errors: broken,
        skipped: report.num_pending_tests.saturating_add(report.num_todo_tests),
    });
    Ok(found)
}

/// A file that could not be loaded.
fn file(suite: &Suite, document: &Document<'_>, cx: &Context<'_>) -> Failure {
    let shown = shown::read(&suite.message, cx);
    let name = cx.paths.relative(&suite.name);
    let location = shown.location.unwrap_or_else(|| cx.paths.location(&suite.name, None));
    Failure {
        phase: TestPhase::Collection,
        message: shown.message,
        location: Some(location),
        cut: document.cut(0, format!("{name}\n{}", shown.text)),
        name,
        ..Failure::default()
    }
}

fn failure(suite: &Suite, test: &Test, document: &Document<'_>, cx: &Context<'_>) -> Failure {
    let titles = test.ancestor_titles.iter().chain([&test.title]);
    let name = titles.filter(|it| !it.is_empty()).map(String::as_str).collect::<Vec<_>>();
    let shown = shown::read(&test.failure_messages.join("\n"), cx);
    let line = test.location.as_ref().and_then(|it| it.line.0);
    let location = shown.location.unwrap_or_else(|| cx.paths.location(&suite.name, line));
    let sides = compare::in_text(&shown.text).unwrap_or_default();
    Failure {
        name: name.join(" > "),
        message: shown.message,
        expected: sides.expected,
        actual: sides.actual,
        location: Some(location),
        cut: document.cut(0, shown.text),
        ..Failure::default()
    }
}
