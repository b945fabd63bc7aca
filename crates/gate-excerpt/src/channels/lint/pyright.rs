//! Pyright and basedpyright with `--outputjson`.

use gate_core::Severity;
use serde::Deserialize;

use super::{Told, settle};
use crate::channels::json::{self, Figure, list, or_default};
use crate::channels::{Broken, Channel, Document, Found, Head};
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(in crate::channels) const PYRIGHT: Channel =
    Channel { tool: "pyright", programs: &["pyright", "basedpyright"], is, read };

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(default, deserialize_with = "list")]
    general_diagnostics: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "or_default")]
    file: String,
    #[serde(default, deserialize_with = "or_default")]
    severity: String,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "or_default")]
    rule: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    range: Option<Range>,
}

#[derive(Debug, Default, Deserialize)]
struct Range {
    #[serde(default, deserialize_with = "or_default")]
    start: Start,
}

/// Counted from 0.
#[derive(Debug, Default, Deserialize)]
struct Start {
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    character: Figure,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{") && head.text.contains("\"generalDiagnostics\"")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (report, length): (Report, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    for it in report.general_diagnostics.into_iter().take(ENTRIES_MAX) {
        let start = it.range.unwrap_or_default().start;
        let told = Told {
            file: it.file,
            line: start.line.0.map(|it| it.saturating_add(1)),
            column: start.character.0.map(|it| it.saturating_add(1)),
            code: it.rule,
            message: it.message,
        };
        let is_error = it.severity == "error";
        let severity = if is_error { Severity::Error } else { Severity::Warning };
        found.draft.problems.push(told.problem(severity, document, 0, cx));
    }
    settle(&mut found.draft.problems, cx);
    Ok(found)
}
