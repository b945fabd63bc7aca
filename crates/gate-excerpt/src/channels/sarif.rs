//! SARIF 2.1, as linters and scanners write it. Only what a finding needs is read.

use gate_core::Severity;
use serde::Deserialize;

use super::json::{self, Figure, list, or_default};
use super::{Broken, Channel, Document, Found, Head};
use crate::draft::Problem;
use crate::limits::ENTRIES_MAX;
use crate::parsers::Context;

/// See the module.
pub(super) const SARIF: Channel = Channel {
    tool: "",
    programs: &["clippy-sarif", "semgrep", "trivy", "codeql", "gosec", "sarif-fmt", "snyk"],
    is,
    read,
};

#[derive(Debug, Deserialize)]
struct Sarif {
    #[serde(default, deserialize_with = "list")]
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    #[serde(default, deserialize_with = "list")]
    results: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    #[serde(default, deserialize_with = "or_default")]
    rule_id: String,
    #[serde(default, deserialize_with = "or_default")]
    level: String,
    #[serde(default, deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    baseline_state: String,
    #[serde(default, deserialize_with = "or_default")]
    message: Text,
    #[serde(default, deserialize_with = "list")]
    locations: Vec<Location>,
    #[serde(default, deserialize_with = "list")]
    suppressions: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
struct Text {
    #[serde(default, deserialize_with = "or_default", alias = "markdown")]
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(default, deserialize_with = "or_default")]
    physical_location: Physical,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    #[serde(default, deserialize_with = "or_default")]
    artifact_location: Artifact,
    #[serde(default, deserialize_with = "or_default")]
    region: Region,
}

#[derive(Debug, Default, Deserialize)]
struct Artifact {
    #[serde(default, deserialize_with = "or_default")]
    uri: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    #[serde(default)]
    start_line: Figure,
    #[serde(default)]
    start_column: Figure,
}

fn is(head: &Head<'_>) -> bool {
    // The version may stand behind all results.
    head.starts("{")
        && head.text.contains("\"runs\"")
        && ["sarif", "\"2.1.0\""].iter().any(|it| head.text.contains(it))
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let (sarif, length): (Sarif, usize) = json::first(document.bytes)?;
    let results = sarif.runs.into_iter().flat_map(|it| it.results);
    let mut found = Found { length, ..Found::default() };
    found.draft.problems =
        results.take(ENTRIES_MAX).filter_map(|it| problem(it, document, cx)).collect();
    Ok(found)
}

fn problem(outcome: Outcome, document: &Document<'_>, cx: &Context<'_>) -> Option<Problem> {
    let is_finding = outcome.kind.is_empty() || outcome.kind == "fail";
    let is_gone = matches!(outcome.baseline_state.as_str(), "absent");
    if !is_finding || is_gone || !outcome.suppressions.is_empty() || outcome.level == "none" {
        return None;
    }
    let location = outcome.locations.into_iter().next().map(|it| it.physical_location);
    let location = location.filter(|it| !it.artifact_location.uri.is_empty()).map(|it| {
        let file = decoded(&it.artifact_location.uri);
        cx.paths.place(&file, it.region.start_line.0, it.region.start_column.0).location
    });
    let code = (!outcome.rule_id.is_empty()).then_some(outcome.rule_id);
    // `warning` is what a result without a level has.
    let severity = if outcome.level == "error" { Severity::Error } else { Severity::Warning };
    let place = location.as_ref().map(|it| format!("{}:{}", it.file, it.line.unwrap_or(0)));
    let shown = [place, code.clone(), Some(outcome.message.text.clone())];
    let shown: Vec<String> = shown.into_iter().flatten().collect();
    let cut = document.cut(0, shown.join(": "));
    Some(Problem { severity, code, ..Problem::error(outcome.message.text, cut).at(location) })
}

/// `file:///a%20b` is the path `/a b`.
fn decoded(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|it| str::from_utf8(it).ok());
        let byte = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        if bytes[at] == b'%'
            && let Some(byte) = byte
        {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
