//! CTRF, the Common Test Report Format, as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Status, Suite, clean, command_line, decision, details, line, name, outcome, status, suites,
};
use crate::{FindingBody, VerdictBody};

/// The version of the format that is written.
const SPEC_VERSION: &str = "0.0.0";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    status: &'static str,
    duration: u64,
    suite: [String; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    raw_status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

pub(super) fn write(verdict: &VerdictBody) -> String {
    let suites = suites(verdict);
    let tests: Vec<Test> = suites.iter().flat_map(tests).collect();
    let of = |status: &str| tests.iter().filter(|it| it.status == status).count();
    let took: u64 = verdict.executions.iter().map(|it| it.duration_ms).sum();
    let stop = verdict.decided_at.timestamp_millis();
    let document = json!({
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": verdict.run_id,
        "timestamp": verdict.decided_at,
        "generatedBy": "donegate",
        "results": {
            "tool": { "name": "donegate", "version": env!("CARGO_PKG_VERSION") },
            "summary": {
                "tests": tests.len(),
                "passed": of("passed"),
                "failed": of("failed"),
                "skipped": of("skipped"),
                "pending": of("pending"),
                "other": of("other"),
                "suites": suites.len(),
                "start": stop.saturating_sub_unsigned(took),
                "stop": stop,
            },
            "tests": tests,
            "extra": extra(verdict, &suites),
        },
    });
    pretty(&document)
}

/// What the format has no word for.
fn extra(verdict: &VerdictBody, suites: &[Suite<'_>]) -> Value {
    let checks = suites.iter().filter_map(|it| it.execution.map(|execution| (it.name, execution)));
    let checks = checks.map(|(name, execution)| {
        json!({
            "check": name,
            "command": command_line(execution),
            "outcome": outcome(execution),
            "tests": execution.tests,
        })
    });
    json!({
        "decision": decision(verdict),
        "next_step": verdict.next_step,
        "round": verdict.round,
        "rounds_max": verdict.rounds_max,
        "findings_left_out": verdict.findings_left_out,
        "executions": checks.collect::<Vec<_>>(),
    })
}

fn tests(suite: &Suite<'_>) -> Vec<Test> {
    if suite.findings.is_empty() {
        return vec![Test {
            name: clean(suite.name),
            status: "passed",
            duration: suite.execution.map_or(0, |it| it.duration_ms),
            suite: [clean(suite.name)],
            message: None,
            trace: None,
            raw_status: suite.execution.map(outcome).unwrap_or_default(),
            file_path: None,
            line: None,
        }];
    }
    suite.findings.iter().map(|it| test(suite.name, it)).collect()
}

fn test(suite: &str, finding: &FindingBody) -> Test {
    Test {
        name: name(finding),
        status: match status(finding) {
            Status::Failed => "failed",
            Status::Error | Status::Recorded => "other",
        },
        duration: 0,
        suite: [clean(suite)],
        message: Some(clean(&finding.title)),
        trace: Some(details(finding)).filter(|it| !it.is_empty()),
        raw_status: finding.kind.clone(),
        file_path: finding.location.as_ref().map(|it| clean(&it.file)),
        line: line(finding),
    }
}

/// With line ends, for people.
pub(super) fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{hostile, inconclusive, passed, verdict};

    #[test]
    fn every_document_has_the_form_of_the_published_schema() {
        let schema: Value = serde_json::from_str(include_str!("ctrf.schema.json")).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        for verdict in [verdict(), passed(), hostile(), inconclusive()] {
            let document: Value = serde_json::from_str(&write(&verdict)).unwrap();
            let faults: Vec<String> = schema
                .iter_errors(&document)
                .map(|it| format!("{}: {it}", it.instance_path()))
                .collect();
            assert!(faults.is_empty(), "{faults:#?}\n{document:#}");
        }
    }

    #[test]
    fn a_failing_test_has_its_file_and_its_line() {
        let document: Value = serde_json::from_str(&write(&verdict())).unwrap();
        let results = &document["results"];
        assert_eq!(results["summary"]["tests"], 4);
        assert_eq!(results["summary"]["failed"], 2);
        assert_eq!(results["tests"][0]["name"], "test_page > names the next");
        assert_eq!(results["tests"][0]["filePath"], "tests/test cursor.py");
        assert_eq!(results["tests"][0]["line"], 42);
        assert_eq!(results["tests"][0]["trace"], "expected: 'o_101'\nactual: None\nE\tassert");
        assert_eq!(
            results["summary"]["stop"].as_i64().unwrap()
                - results["summary"]["start"].as_i64().unwrap(),
            2880
        );
    }
}
