//! Linters whose JSON is one flat list, or one object in a line: ruff, mypy, pylint, shellcheck, hadolint.

use gate_core::Severity;
use serde::Deserialize;

use super::{Told, settle};
use crate::channels::json::{self, Figure, List, Word, list, or_default};
use crate::channels::{Broken, Channel, Document, Found, Head};
use crate::draft::Problem;
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;
use crate::table;

/// Ruff, also its `json-lines`.
pub(in crate::channels) const RUFF: Channel = Channel {
    tool: "ruff",
    programs: &["ruff"],
    is: |head| starts(head) && head.has_all(&["\"filename\":", "\"end_location\":"]),
    read,
};
/// Mypy's `--output json`: an object in a line.
pub(in crate::channels) const MYPY: Channel = Channel {
    tool: "mypy",
    programs: &["mypy", "dmypy"],
    is: |head| head.starts("{\"file\": \"") && head.has_all(&["\"hint\":", "\"severity\":"]),
    read,
};
/// Pylint, also its `json2`.
pub(in crate::channels) const PYLINT: Channel = Channel {
    tool: "pylint",
    programs: &["pylint"],
    is: |head| {
        starts(head)
            && head.has_all(&["\"type\":", "\"module\":", "\"obj\":"])
            && (head.text.contains("\"message-id\":") || head.text.contains("\"messageId\":"))
    },
    read,
};
/// Shellcheck, `json` and `json1`.
pub(in crate::channels) const SHELLCHECK: Channel = Channel {
    tool: "shellcheck",
    programs: &["shellcheck"],
    is: |head| starts(head) && head.has_all(&["\"endLine\":", "\"level\":", "\"code\":"]),
    read,
};
/// Hadolint.
pub(in crate::channels) const HADOLINT: Channel = Channel {
    tool: "hadolint",
    programs: &["hadolint"],
    is: |head| {
        let is_code = head.text.contains("\"DL") || head.text.contains("\"SC");
        starts(head) && is_code && head.has_all(&["\"level\":", "\"column\":"])
    },
    read,
};

/// One problem under all its names.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "or_default", alias = "filename", alias = "path")]
    file: String,
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    column: Figure,
    /// Ruff's.
    #[serde(default, deserialize_with = "or_default")]
    location: Option<Start>,
    #[serde(default, deserialize_with = "or_default", alias = "message-id", alias = "messageId")]
    code: Word,
    #[serde(default, deserialize_with = "or_default", alias = "level", alias = "type")]
    severity: Word,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "or_default")]
    hint: String,
}

#[derive(Debug, Default, Deserialize)]
struct Start {
    #[serde(default)]
    row: Figure,
    #[serde(default)]
    column: Figure,
}

/// Messages below a name; others are in a list.
#[derive(Debug, Deserialize)]
struct Named {
    #[serde(deserialize_with = "list", alias = "comments")]
    messages: Vec<Message>,
}

fn starts(head: &Head<'_>) -> bool {
    head.starts("[") || head.starts("{")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let mut found = Found::default();
    match report(document.bytes) {
        Ok((messages, length)) => {
            let told = messages.into_iter().take(ENTRIES_MAX);
            found.draft.problems = told.filter_map(|it| problem(it, document, 0, cx)).collect();
            found.length = length;
        }
        Err(broken) => {
            for line in json::lines::<Message>(document.bytes).take(ENTRIES_MAX) {
                if let Some(problem) = problem(line.value, document, line.at, cx) {
                    found.draft.problems.push(problem);
                    found.length = line.end;
                }
            }
            if found.length == 0 {
                // Now all lines were looked at.
                return Err(broken.why.into());
            }
        }
    }
    settle(&mut found.draft.problems, cx);
    Ok(found)
}

/// Serde's untagged enums keep a copy of what they look at.
fn report(bytes: &[u8]) -> Result<(Vec<Message>, usize), Broken> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        json::first::<List<Message>>(bytes).map(|it| (it.0.0, it.1))
    } else {
        json::first::<Named>(bytes).map(|it| (it.0.messages, it.1))
    }
}

fn problem(it: Message, document: &Document<'_>, at: usize, cx: &Context<'_>) -> Option<Problem> {
    if it.file.is_empty() || it.message.is_empty() {
        return None;
    }
    let start = it.location.unwrap_or_default();
    // Shellcheck writes the number alone.
    let is_number = it.code.0.bytes().all(|it| it.is_ascii_digit()) && !it.code.0.is_empty();
    let code = if is_number { format!("SC{}", it.code.0) } else { it.code.0 };
    // Of mypy's notes, those with a hint are told with what they explain.
    let message = match it.hint.as_str() {
        "" => it.message,
        hint => format!("{} ({hint})", it.message),
    };
    let severity = match it.severity.0.as_str() {
        "" => Severity::Error,
        word => table::severity(word),
    };
    let told = Told {
        file: it.file,
        line: it.line.0.or(start.row.0),
        column: it.column.0.or(start.column.0),
        code: Some(code),
        message,
    };
    Some(told.problem(severity, document, at, cx))
}
