//! SARIF 2.1.0: a result for each finding, a rule for each of their kinds.

use serde::Serialize;
use serde_json::{Value, json};

use super::ctrf::pretty;
use super::{Status, WHOLE_RUN, clean, command_line, decision, details, line, outcome, status};
use crate::{DecisionWord, FindingBody, LocationBody, VerdictBody};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// What paths are relative to; whoever reads it says where that is.
const ROOT: &str = "SRCROOT";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Value,
    invocations: [Value; 1],
    column_kind: &'static str,
    results: Vec<Finding>,
    properties: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Place; 1],
    properties: Value,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalPlace>,
    logical_locations: [LogicalPlace; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalPlace {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalPlace {
    fully_qualified_name: String,
    kind: &'static str,
}

pub(super) fn write(verdict: &VerdictBody) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for finding in &verdict.findings {
        if !kinds.contains(&finding.kind.as_str()) {
            kinds.push(&finding.kind);
        }
    }
    let result = |it| result(it, &kinds);
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: tool(&kinds),
            invocations: [json!({
                "executionSuccessful": verdict.decision != DecisionWord::Inconclusive,
                "endTimeUtc": verdict.decided_at,
            })],
            column_kind: "unicodeCodePoints",
            results: verdict.findings.iter().map(result).collect(),
            properties: properties(verdict),
        }],
    };
    pretty(&serde_json::to_value(log).expect("strings, numbers, and lists of them are JSON"))
}

fn tool(kinds: &[&str]) -> Value {
    let rules: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({ "id": kind, "shortDescription": { "text": kind.replace('_', " ") } }))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    json!({ "driver": { "name": "donegate", "version": version, "rules": rules } })
}

fn properties(verdict: &VerdictBody) -> Value {
    let executions = verdict.executions.iter().map(|it| {
        json!({
            "check": it.check,
            "command": command_line(it),
            "outcome": outcome(it),
            "tests": it.tests,
        })
    });
    json!({
        "run": verdict.run_id,
        "decision": decision(verdict),
        "nextStep": verdict.next_step,
        "round": verdict.round,
        "findingsLeftOut": verdict.findings_left_out,
        "executions": executions.collect::<Vec<_>>(),
    })
}

fn result(finding: &FindingBody, kinds: &[&str]) -> Finding {
    let details = details(finding);
    let text = match details.as_str() {
        "" => clean(&finding.title),
        details => format!("{}\n{details}", clean(&finding.title)),
    };
    let check = finding.check.as_deref().unwrap_or(WHOLE_RUN);
    let owner = match &finding.test {
        Some(test) => format!("{check}: {}", test.name),
        None => check.to_owned(),
    };
    Finding {
        rule_id: finding.kind.clone(),
        rule_index: kinds.iter().position(|it| *it == finding.kind).unwrap_or_default(),
        level: match status(finding) {
            Status::Failed | Status::Error => "error",
            Status::Recorded => "note",
        },
        message: Text { text },
        locations: [Place {
            physical_location: finding.location.as_ref().map(|it| physical(it, line(finding))),
            logical_locations: [LogicalPlace {
                fully_qualified_name: clean(&owner),
                kind: if finding.test.is_some() { "function" } else { "module" },
            }],
        }],
        properties: json!({
            "check": check,
            "criteria": finding.criteria,
            "blocking": finding.blocking,
            // Not `blame`: readers look for what git says of the line under that name.
            "blamed": finding.blame,
        }),
    }
}

fn physical(location: &LocationBody, line: Option<u32>) -> PhysicalPlace {
    let path = escape(&location.file);
    let is_absolute = path.starts_with('/');
    PhysicalPlace {
        artifact_location: Artifact {
            uri: if is_absolute { format!("file://{path}") } else { path },
            uri_base_id: (!is_absolute).then_some(ROOT),
        },
        region: line.map(|start_line| Region {
            start_line,
            start_column: location.column.filter(|it| *it > 0),
        }),
    }
}

/// As the path of a URI (RFC 3986).
fn escape(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.extend(
                [byte >> 4, byte & 15].map(|it| char::from(b"0123456789ABCDEF"[usize::from(it)])),
            );
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{hostile, inconclusive, passed, verdict};

    fn run(verdict: &VerdictBody) -> Value {
        let log: Value = serde_json::from_str(&write(verdict)).unwrap();
        assert_eq!(log["version"], "2.1.0");
        log["runs"][0].clone()
    }

    #[test]
    fn a_result_names_its_rule_its_level_and_its_place() {
        let run = run(&verdict());
        let rules: Vec<_> = run["tool"]["driver"]["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].clone())
            .collect();
        let results = run["results"].as_array().unwrap();
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index], result["ruleId"]);
        }
        assert_eq!(results[0]["level"], "error");
        assert_eq!(
            results[0]["message"]["text"],
            "test_page > names the next: assert None == 'o_101'\nexpected: 'o_101'\nactual: None\nE\tassert"
        );
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(
            place["artifactLocation"],
            json!({ "uri": "tests/test%20cursor.py", "uriBaseId": "SRCROOT" })
        );
        assert_eq!(place["region"], json!({ "startLine": 42, "startColumn": 5 }));
        let recorded = results.iter().find(|it| it["properties"]["blocking"] == false).unwrap();
        assert_eq!(recorded["level"], "note");
        assert!(recorded["locations"][0].get("physicalLocation").is_none());
    }

    #[test]
    fn every_document_has_what_the_standard_requires() {
        for verdict in [verdict(), passed(), hostile(), inconclusive()] {
            let run = run(&verdict);
            assert!(run["tool"]["driver"]["name"].is_string());
            assert!(run["invocations"][0]["executionSuccessful"].is_boolean());
            for result in run["results"].as_array().unwrap() {
                assert!(!result["message"]["text"].as_str().unwrap().is_empty());
                assert!(
                    ["error", "warning", "note", "none"]
                        .contains(&result["level"].as_str().unwrap())
                );
                if let Some(uri) =
                    result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str()
                {
                    let base = url::Url::parse("file:///root/").unwrap();
                    assert!(
                        base.join(uri).is_ok() && uri.is_ascii() && !uri.contains(':'),
                        "{uri}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_path_becomes_a_uri_whatever_is_in_it() {
        assert_eq!(escape("a/é b#?%:\\.rs"), "a/%C3%A9%20b%23%3F%25%3A%5C.rs");
    }
}
