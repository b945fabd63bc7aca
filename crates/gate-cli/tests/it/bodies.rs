//! Bodies as the gate answers them, made of `gate-api`'s own types.

use gate_api::{
    InvalidField, ProblemBody, ProblemKind, ReportAccepted, RunBody, RunKindWord, RunStateWord,
    TaskBody, VerdictBody,
};
use serde_json::json;
use uuid::Uuid;

pub(crate) const TASK: &str = "01990000-0000-7000-8000-000000000001";
pub(crate) const RUN: &str = "01990000-0000-7000-8000-000000000002";
pub(crate) const REPORT: &str = "01990000-0000-7000-8000-000000000003";

/// A decision with its next step.
pub(crate) type Decided = (&'static str, &'static str);

pub(crate) const PASS: Decided = ("PASS", "complete");
pub(crate) const FAIL: Decided = ("FAIL", "rework");

pub(crate) fn verdict((decision, next_step): Decided) -> VerdictBody {
    let finding = json!({
        "check": "order-tests", "criteria": ["AC1"], "kind": "test_failed", "blocking": true,
        "blame": "reporter", "title": "test_page: assert None == 'o_101'",
        "location": { "file": "tests/test_cursor.py", "line": 42, "column": null },
        "excerpt": { "stream": "stdout", "offset": 7, "text": "E   assert None == 'o_101'" },
    });
    let findings = if decision == "PASS" { json!([]) } else { json!([finding]) };
    let body = json!({
        "run_id": RUN, "task_id": TASK, "decision": decision, "next_step": next_step,
        "round": 1, "rounds_max": 3,
        "contract": { "version": 1, "digest": format!("sha256:{}", "ab".repeat(32)) },
        "tree": null, "isolation": "process", "findings": findings, "findings_left_out": 0,
        "executions": [], "feedback": "", "decided_at": "2026-11-30T12:00:00Z",
    });
    serde_json::from_value(body).unwrap()
}

pub(crate) fn run(decided: Option<Decided>) -> RunBody {
    let state = if decided.is_some() { RunStateWord::Judged } else { RunStateWord::Running };
    RunBody {
        id: uuid(RUN),
        task_id: uuid(TASK),
        kind: RunKindWord::Report,
        report_id: Some(uuid(REPORT)),
        state,
        attempts: 1,
        contract_version: 1,
        created_at: "2026-11-30T12:00:00Z".parse().unwrap(),
        finished_at: None,
        verdict: decided.map(verdict),
    }
}

pub(crate) fn accepted(decided: Option<Decided>) -> ReportAccepted {
    let body = json!({
        "report_id": REPORT, "task_id": TASK, "task_state": "gating", "run": run(decided),
        "next_step": decided.map(|it| it.1), "resumable_handle": null,
    });
    serde_json::from_value(body).unwrap()
}

/// A report that is not judged, because it does not claim success.
pub(crate) fn routed(state: &str, next_step: &str) -> ReportAccepted {
    let body = json!({
        "report_id": REPORT, "task_id": TASK, "task_state": state, "run": null,
        "next_step": next_step, "resumable_handle": null,
    });
    serde_json::from_value(body).unwrap()
}

pub(crate) fn task(state: &str, last: Option<Decided>) -> TaskBody {
    let last = last.map(|(decision, next_step)| {
        json!({ "run_id": RUN, "decision": decision, "next_step": next_step })
    });
    let body = json!({
        "id": TASK, "project": "shop", "title": "Cursors", "state": state,
        "contract": { "version": 1, "digest": format!("sha256:{}", "ab".repeat(32)) },
        "rounds": 0, "rounds_max": 3, "reports": 0, "reports_max": 15, "current_run_id": null,
        "last_verdict": last, "version": 1, "created_at": "2026-11-30T12:00:00Z",
        "updated_at": "2026-11-30T12:00:00Z",
    });
    serde_json::from_value(body).unwrap()
}

pub(crate) fn problem(kind: ProblemKind, errors: &[(&str, &str)]) -> ProblemBody {
    ProblemBody {
        kind: format!("urn:donegate:problem:{}", kind.code()),
        title: kind.title().to_owned(),
        status: kind.status(),
        detail: "this is how it is".to_owned(),
        instance: "/v1".to_owned(),
        code: kind,
        errors: errors.iter().map(|it| InvalidField::new(it.0, it.1)).collect(),
        request_id: "request-7".to_owned(),
    }
}

fn uuid(text: &str) -> Uuid {
    text.parse().unwrap()
}
