//! `ESLint` with `-f json`.

use gate_core::Severity;
use serde::Deserialize;

use super::{Told, settle};
use crate::channels::json::{self, Figure, List, list, or_default};
use crate::channels::{Broken, Channel, Document, Found, Head};
use crate::classify::Class;
use crate::draft::Problem;
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(in crate::channels) const ESLINT: Channel =
    Channel { tool: "eslint", programs: &["eslint", "eslint_d", "oxlint"], is, read };

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linted {
    file_path: String,
    #[serde(default, deserialize_with = "list")]
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default, deserialize_with = "or_default")]
    rule_id: Option<String>,
    #[serde(default)]
    severity: Figure,
    #[serde(default, deserialize_with = "or_default")]
    fatal: bool,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    column: Figure,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("[") && head.has_all(&["\"filePath\":", "\"messages\":"])
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (List(files), length): (List<Linted>, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    for file in files {
        for message in file.messages {
            if found.draft.problems.len() < ENTRIES_MAX {
                let problem = problem(&file.file_path, message, document, cx);
                found.draft.problems.push(problem);
            }
        }
    }
    settle(&mut found.draft.problems, cx);
    Ok(found)
}

fn problem(file: &str, it: Message, document: &Document<'_>, cx: &Context<'_>) -> Problem {
    let is_warning = it.severity.0 == Some(1) && !it.fatal;
    let told = Told {
        file: file.to_owned(),
        line: it.line.0,
        column: it.column.0,
        code: it.rule_id,
        message: it.message,
    };
    let severity = if is_warning { Severity::Warning } else { Severity::Error };
    let problem = told.problem(severity, document, 0, cx);
    // Nothing of a file that cannot be parsed is looked at.
    if it.fatal { Problem { class: Some(Class::Blocker), ..problem } } else { problem }
}
