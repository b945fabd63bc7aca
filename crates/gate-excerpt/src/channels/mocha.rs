//! Mocha's `--reporter json`, also as Cypress writes it.

use serde::Deserialize;

use super::json::{self, Word, list, or_default};
use super::{Broken, Channel, Document, Found, Head, shown};
use crate::compare;
use crate::draft::{Counts, Failure};
use crate::limits::FAILING_TESTS_MAX;
use crate::parsers::Context;

/// See the module.
pub(super) const MOCHA: Channel =
    Channel { tool: "mocha", programs: &["mocha", "_mocha"], is, read };

#[derive(Debug, Deserialize)]
struct Report {
    stats: Stats,
    #[serde(default, deserialize_with = "list")]
    failures: Vec<Test>,
}

#[derive(Debug, Deserialize)]
struct Stats {
    #[serde(default)]
    passes: u64,
    #[serde(default)]
    pending: u64,
    #[serde(default)]
    failures: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default, deserialize_with = "or_default")]
    full_title: String,
    #[serde(default, deserialize_with = "or_default")]
    file: String,
    #[serde(default, deserialize_with = "or_default")]
    err: Thrown,
}

#[derive(Debug, Default, Deserialize)]
struct Thrown {
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "or_default")]
    stack: String,
    #[serde(default, deserialize_with = "or_default")]
    expected: Word,
    #[serde(default, deserialize_with = "or_default")]
    actual: Word,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{") && head.has_all(&["\"stats\"", "\"suites\"", "\"passes\"", "\"pending\""])
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (report, length): (Report, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    let failures = report.failures.into_iter().take(FAILING_TESTS_MAX);
    found.draft.failures = failures.map(|it| failure(it, document, cx)).collect();
    let Stats { passes, pending, failures } = report.stats;
    found.draft.counts =
        Some(Counts { passed: Some(passes), failed: failures, errors: 0, skipped: pending });
    Ok(found)
}

fn failure(test: Test, document: &Document<'_>, cx: &Context<'_>) -> Failure {
    let Test { full_title, file, err } = test;
    let text = if err.stack.is_empty() { &err.message } else { &err.stack };
    let shown = shown::read(text, cx);
    let sides = compare::in_text(&err.message).unwrap_or_default();
    let told = |it: Word| (!it.0.is_empty()).then_some(it.0);
    let of_file = (!file.is_empty()).then(|| cx.paths.location(&file, None));
    Failure {
        name: full_title,
        message: if err.message.is_empty() { shown.message } else { err.message },
        expected: told(err.expected).or(sides.expected),
        actual: told(err.actual).or(sides.actual),
        location: shown.location.or(of_file),
        cut: document.cut(0, shown.text),
        ..Failure::default()
    }
}
