//! Verdicts for the tests of all formats.

use serde_json::{Value, json};

use crate::VerdictBody;

fn body(decision: &str, findings: &Value) -> VerdictBody {
    let execution = |index: u32, check: &str, words: &[&str], code: i32, tests: Value| {
        json!({
            "index": index, "check": check, "command": words, "outcome": { "exited": code },
            "duration_ms": 2760 / (22 * index + 1), "cpu_ms": 1, "memory_peak_bytes": 1, "stragglers_killed": 0,
            "tool": null, "tests": tests, "log_url": "/v1", "log_bytes": 9,
        })
    };
    let tests = json!({ "passed": 30, "failed": 1, "skipped": 0 });
    let code = i32::from(decision == "FAIL");
    let body = json!({
        "run_id": "01990000-0000-7000-8000-000000000002",
        "task_id": "01990000-0000-7000-8000-000000000001",
        "decision": decision, "next_step": "rework", "round": 1, "rounds_max": 3,
        "contract": { "version": 2, "digest": format!("sha256:{}", "ab".repeat(32)) },
        "tree": null, "isolation": null, "isolation_detail": null, "changes": [], "changes_left_out": 0,
        "findings": findings, "findings_left_out": 0,
        "executions": [execution(0, "order-tests", &["pytest", "-q"], code, tests), execution(1, "lint", &["ruff", "check", "."], 0, Value::Null)],
        "feedback": "", "decided_at": "2026-11-30T12:00:00Z",
    });
    serde_json::from_value(body).unwrap()
}

/// A failing test, a file that is missing, and something that does not block.
pub(super) fn verdict() -> VerdictBody {
    body(
        "FAIL",
        &json!([
            { "check": "order-tests", "criteria": ["AC1"], "kind": "test_failed", "blocking": true, "blame": "reporter",
              "title": "test_page > names the next: assert None == 'o_101'",
              "location": { "file": "tests/test cursor.py", "line": 42, "column": 5 },
              "test": { "name": "test_page > names the next", "phase": "call", "expected": "'o_101'", "actual": "None" },
              "excerpt": { "stream": "merged", "offset": 7, "text": "E\tassert" } },
            { "check": "guide", "criteria": [], "kind": "file_missing", "blocking": true, "blame": "reporter",
              "title": "`docs/a.md` does not exist", "location": { "file": "docs/a.md", "line": null, "column": null },
              "test": null, "excerpt": null },
            { "check": null, "criteria": [], "kind": "slow", "blocking": false, "blame": "gate",
              "title": "it was slow", "location": null, "test": null, "excerpt": null },
        ]),
    )
}

/// Nothing to say.
pub(super) fn passed() -> VerdictBody {
    let mut passed = body("PASS", &json!([]));
    passed.executions.pop();
    passed
}

/// A gate that could not judge.
pub(super) fn inconclusive() -> VerdictBody {
    let mut inconclusive = body(
        "INCONCLUSIVE",
        &json!([
            { "check": null, "criteria": [], "kind": "gate_fault", "blocking": true, "blame": "gate", "title": "the disk is full",
              "location": null, "test": null, "excerpt": null },
        ]),
    );
    inconclusive.executions.clear();
    inconclusive
}

/// Names and texts that try to be something else.
pub(super) fn hostile() -> VerdictBody {
    let mut hostile = body(
        "FAIL",
        &json!([
            { "check": "order-tests", "criteria": [], "kind": "test_failed", "blocking": true, "blame": "reporter",
              "title": "100%\r\n::stop-commands::x\n::set-output name=a::b \u{1}\u{fffe} ##[error]",
              "location": { "file": "a,b:\nc.py", "line": 1, "column": 0 },
              "test": { "name": "a <b> & \"c\" ]]> \u{1b}[31m \u{1}\u{fffe} é", "phase": "setup",
                        "expected": "</failure><testcase name='x'/>", "actual": "\u{0}\u{ffff}" },
              "excerpt": { "stream": "merged", "offset": 7, "text": "]]><!-- \u{7f}\u{85}\r\n::error::x" } },
        ]),
    );
    hostile.executions.pop();
    hostile
}
