//! Cargo and rustc with `--message-format=json`, `--error-format=json`: one message in a line, among others' lines.

use serde::Deserialize;

use super::json::{self, list, or_default};
use super::{Broken, Channel, Document, Found, Head};
use crate::draft::Problem;
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(super) const CARGO: Channel =
    Channel { tool: "cargo", programs: &["cargo", "cross", "rustc", "clippy-driver"], is, read };

/// Words of messages that only sum up.
const SUMMARIES: [&str; 4] =
    ["aborting due to ", "could not compile ", "For more information", "Some errors have"];

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default, deserialize_with = "or_default")]
    reason: String,
    message: Option<Message>,
    // rustc's own lines have no envelope.
    #[serde(default, deserialize_with = "or_default")]
    level: String,
    #[serde(default, deserialize_with = "or_default")]
    code: Option<Code>,
    #[serde(default, deserialize_with = "list")]
    spans: Vec<Span>,
    #[serde(default, deserialize_with = "or_default")]
    rendered: String,
}

/// rustc's own `message` is a text, cargo's an object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Message {
    Text(String),
    Whole(Box<Diagnostic>),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    message: String,
    level: String,
    #[serde(default, deserialize_with = "or_default")]
    code: Option<Code>,
    #[serde(default, deserialize_with = "list")]
    spans: Vec<Span>,
    #[serde(default, deserialize_with = "or_default")]
    rendered: String,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    column_start: u32,
    #[serde(default)]
    is_primary: bool,
    #[serde(default, deserialize_with = "or_default")]
    label: String,
    /// The macro call that it comes from.
    expansion: Option<Box<Expansion>>,
}

#[derive(Debug, Deserialize)]
struct Expansion {
    span: Span,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{\"reason\":\"")
        || head.starts("{\"$message_type\":\"diagnostic\"")
        || (head.starts("{\"message\":") && head.has_all(&["\"level\":", "\"spans\":"]))
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let mut found = Found::default();
    let mut seen = std::collections::HashSet::new();
    for line in json::lines::<Line>(document.bytes).take(ENTRIES_MAX) {
        found.length = line.end;
        let Some(diagnostic) = line.value.diagnostic() else { continue };
        // A library and its tests are compiled apart, and say the same.
        let is_new = seen.insert(diagnostic.rendered.clone()) || diagnostic.rendered.is_empty();
        if is_new && let Some(problem) = problem(diagnostic, document, line.at, cx) {
            found.draft.problems.push(problem);
        }
    }
    if found.length == 0 {
        return Err("no line of it is a message of the compiler".to_owned().into());
    }
    Ok(found)
}

impl Line {
    fn diagnostic(self) -> Option<Diagnostic> {
        let Self { reason, message, level, code, spans, rendered } = self;
        match message? {
            Message::Whole(diagnostic) if reason == "compiler-message" => Some(*diagnostic),
            Message::Text(message) if reason.is_empty() && !level.is_empty() => {
                Some(Diagnostic { message, level, code, spans, rendered })
            }
            Message::Whole(_) | Message::Text(_) | Message::Other(_) => None,
        }
    }
}

fn problem(
    it: Diagnostic,
    document: &Document<'_>,
    at: usize,
    cx: &Context<'_>,
) -> Option<Problem> {
    let Diagnostic { message, level, code, spans, rendered } = it;
    let is_summary = SUMMARIES.iter().any(|it| message.starts_with(it))
        || (spans.is_empty() && message.ends_with("emitted"));
    if is_summary || level == "failure-note" || level == "note" || level == "help" {
        return None;
    }
    let primary = spans.iter().find(|it| it.is_primary).or_else(|| spans.first());
    let place = primary.map(|it| own(it, cx));
    let label = primary.map(|it| it.label.as_str()).filter(|it| !it.is_empty());
    let told = label.map_or_else(|| message.clone(), |label| format!("{message}: {label}"));
    let text = if rendered.is_empty() { told.clone() } else { rendered };
    let cut = document.cut(at, text);
    let problem = match level.as_str() {
        "warning" => Problem::warning(told, cut),
        _ => Problem::error(told, cut),
    };
    Some(Problem { code: code.map(|it| it.code), ..problem.at(place) })
}

/// The span in the project's own files: an error in a macro of a library is at its call.
fn own(span: &Span, cx: &Context<'_>) -> gate_core::Location {
    let place =
        |it: &Span| cx.paths.place(&it.file_name, Some(it.line_start), Some(it.column_start));
    let calls = std::iter::successors(Some(span), |it| Some(&it.expansion.as_ref()?.span));
    let mut places = calls.map(place);
    places.find(|it| it.is_own).unwrap_or_else(|| place(span)).location
}
