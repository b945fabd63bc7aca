//! Stylelint with `-f json`.

use gate_core::Severity;
use serde::Deserialize;

use super::{Told, settle};
use crate::channels::json::{self, Figure, List, list, or_default};
use crate::channels::{Broken, Channel, Document, Found, Head};
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(in crate::channels) const STYLELINT: Channel =
    Channel { tool: "stylelint", programs: &["stylelint"], is, read };

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linted {
    #[serde(default, deserialize_with = "or_default")]
    source: String,
    #[serde(default, deserialize_with = "list")]
    warnings: Vec<Message>,
    #[serde(default, deserialize_with = "list")]
    invalid_option_warnings: Vec<Invalid>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    column: Figure,
    #[serde(default, deserialize_with = "or_default")]
    rule: String,
    #[serde(default, deserialize_with = "or_default")]
    severity: String,
    #[serde(default, deserialize_with = "or_default")]
    text: String,
}

#[derive(Debug, Deserialize)]
struct Invalid {
    #[serde(default, deserialize_with = "or_default")]
    text: String,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("[")
        && head.text.contains("\"source\":")
        && (head.text.contains("\"warnings\":") || head.text.contains("\"deprecations\":"))
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (List(files), length): (List<Linted>, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    let problems = &mut found.draft.problems;
    for Linted { source, warnings, invalid_option_warnings } in files {
        let options = invalid_option_warnings.into_iter().map(|it| {
            let told = Told { message: it.text, ..Told::default() };
            told.problem(Severity::Error, document, 0, cx)
        });
        problems.extend(options);
        for it in warnings.into_iter().take(ENTRIES_MAX.saturating_sub(problems.len())) {
            let is_warning = it.severity == "warning";
            let severity = if is_warning { Severity::Warning } else { Severity::Error };
            // The rule stands behind the text too.
            let message = it.text.trim_end_matches(&format!(" ({})", it.rule)).to_owned();
            let told = Told {
                file: source.clone(),
                line: it.line.0,
                column: it.column.0,
                code: Some(it.rule),
                message,
            };
            problems.push(told.problem(severity, document, 0, cx));
        }
    }
    settle(problems, cx);
    Ok(found)
}
