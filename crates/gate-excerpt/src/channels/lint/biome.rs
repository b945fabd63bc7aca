//! Biome with `--reporter=json`, also its older form with byte spans.

use gate_core::Severity;
use serde::Deserialize;

use super::{Told, settle};
use crate::channels::json::{self, Figure, Word, list, or_default};
use crate::channels::{Broken, Channel, Document, Found, Head};
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(in crate::channels) const BIOME: Channel =
    Channel { tool: "biome", programs: &["biome"], is, read };

#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default, deserialize_with = "list")]
    diagnostics: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "or_default")]
    category: String,
    #[serde(default, deserialize_with = "or_default")]
    severity: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    #[serde(default, deserialize_with = "or_default")]
    message: Text,
    #[serde(default, deserialize_with = "or_default")]
    location: Location,
}

/// A text, or pieces of marked text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Pieces(#[serde(deserialize_with = "list")] Vec<Piece>),
    Other(serde::de::IgnoredAny),
}

impl Default for Text {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

#[derive(Debug, Deserialize)]
struct Piece {
    #[serde(default, deserialize_with = "or_default")]
    content: Word,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(default, deserialize_with = "or_default")]
    path: Path,
    #[serde(default, deserialize_with = "or_default")]
    start: Start,
    #[serde(default, deserialize_with = "list")]
    span: Vec<usize>,
    #[serde(default, deserialize_with = "or_default")]
    source_code: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Path {
    Plain(String),
    File { file: String },
    Other(serde::de::IgnoredAny),
}

impl Default for Path {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

#[derive(Debug, Default, Deserialize)]
struct Start {
    #[serde(default)]
    line: Figure,
    #[serde(default)]
    column: Figure,
}

fn is(head: &Head<'_>) -> bool {
    head.starts("{")
        && head.has_all(&["\"summary\"", "\"diagnostics\""])
        && (head.text.contains("\"unchanged\"") || head.text.contains("\"suggestedFixesSkipped\""))
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (report, length): (Report, usize) = json::first(document.bytes)?;
    let mut found = Found { length, ..Found::default() };
    for it in report.diagnostics.into_iter().take(ENTRIES_MAX) {
        let is_error = matches!(it.severity.as_str(), "error" | "fatal");
        let severity = if is_error { Severity::Error } else { Severity::Warning };
        found.draft.problems.push(told(it).problem(severity, document, 0, cx));
    }
    settle(&mut found.draft.problems, cx);
    Ok(found)
}

fn told(it: Message) -> Told {
    let (line, column) = it.location.start();
    let message = match it.message {
        Text::Plain(text) => text,
        Text::Pieces(pieces) => pieces.into_iter().map(|it| it.content.0).collect(),
        Text::Other(_) => String::new(),
    };
    let file = match it.location.path {
        Path::Plain(file) | Path::File { file } => file,
        Path::Other(_) => String::new(),
    };
    let message = if message.is_empty() { it.description } else { message };
    Told { file, line, column, code: Some(it.category), message }
}

impl Location {
    /// Where there is no line, it is counted in the source that stands beside the span.
    fn start(&self) -> (Option<u32>, Option<u32>) {
        let (Start { line, column }, before) = (&self.start, self.before());
        let lines = before.map(|it| it.bytes().filter(|it| *it == b'\n').count() + 1);
        let columns = before.map(|it| it.len() - it.rfind('\n').map_or(0, |it| it + 1) + 1);
        let figure = |it: Option<usize>| it.and_then(|it| u32::try_from(it).ok());
        (line.0.or(figure(lines)), column.0.or(figure(columns)))
    }

    fn before(&self) -> Option<&str> {
        let text = self.source_code.get(..*self.span.first()?)?;
        (!self.source_code.is_empty()).then_some(text)
    }
}
