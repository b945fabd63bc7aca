//! The callback bodies, written in the transaction of their event so that every attempt sends the same bytes.

use chrono::{DateTime, Utc};
use gate_api::{
    CallbackBody, CallbackPayload, DecisionWord, FailedTestBody, FindingBody, LocationBody,
    NextStepWord, TaskStateWord,
};
use gate_core::limits::CALLBACK_BODY_BYTES_MAX;
use gate_core::{Finding, NextStep, ReportId, RunId, TaskId, TaskState, Verdict};
use gate_store::{EventStamp, Origin, Task};

/// Findings that a callback carries; the verdict has all of them.
const FINDINGS_IN_CALLBACK_MAX: usize = 20;

/// What a verdict's callback tells beside the verdict.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) project: String,
    pub(crate) task: TaskId,
    pub(crate) run: RunId,
    pub(crate) report: Option<ReportId>,
    pub(crate) traceparent: Option<String>,
    pub(crate) request_id: Option<String>,
}

/// `verdict.decided`, or `preflight.decided`.
pub(crate) fn decided(judged: &Judged, verdict: &Verdict, stamp: EventStamp) -> String {
    let body = CallbackBody {
        project: judged.project.clone(),
        task_id: judged.task.as_uuid(),
        task_state: verdict.task_state.into(),
        sequence: stamp.sequence,
        run_id: Some(judged.run.as_uuid()),
        report_id: judged.report.map(|it| it.as_uuid()),
        // A receiver that reads nothing but this must not take a proven contract for finished work.
        decision: judged.report.map(|_| DecisionWord::from(verdict.decision)),
        next_step: verdict.next_step.into(),
        round: judged.report.map(|_| verdict.round),
        rounds_max: verdict.rounds_max,
        findings: verdict.findings.iter().take(FINDINGS_IN_CALLBACK_MAX).map(short).collect(),
        verdict_url: Some(format!("/v1/runs/{}/verdict", judged.run)),
        resumable_handle: None,
        traceparent: judged.traceparent.clone(),
        request_id: judged.request_id.clone(),
    };
    let kind = if judged.report.is_some() { "verdict.decided" } else { "preflight.decided" };
    write(kind, stamp.at, body)
}

/// What follows from a report that is not a success.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routed<'a> {
    pub(crate) report: ReportId,
    pub(crate) route: Option<(TaskState, NextStep)>,
    pub(crate) handle: Option<&'a str>,
}

/// `report.routed`: a report that is not a success has one consequence.
pub(crate) fn routed(
    task: &Task,
    routed: &Routed<'_>,
    origin: &Origin,
    stamp: EventStamp,
) -> String {
    let (state, step) = routed.route.unwrap_or((TaskState::Gating, NextStep::Stop));
    let body = CallbackBody {
        report_id: Some(routed.report.as_uuid()),
        resumable_handle: routed.handle.map(ToOwned::to_owned),
        ..of_task(task, state, step, origin, stamp)
    };
    write("report.routed", stamp.at, body)
}

/// `task.cancelled`.
pub(crate) fn cancelled(task: &Task, origin: &Origin, stamp: EventStamp) -> String {
    let body = CallbackBody {
        run_id: task.current_run.map(|it| it.as_uuid()),
        ..of_task(task, TaskState::Aborted, NextStep::Stop, origin, stamp)
    };
    write("task.cancelled", stamp.at, body)
}

fn of_task(
    task: &Task,
    state: TaskState,
    step: NextStep,
    origin: &Origin,
    stamp: EventStamp,
) -> CallbackBody {
    CallbackBody {
        project: task.project.clone(),
        task_id: task.id.as_uuid(),
        task_state: TaskStateWord::from(state),
        sequence: stamp.sequence,
        run_id: None,
        report_id: None,
        decision: None,
        next_step: NextStepWord::from(step),
        round: None,
        rounds_max: task.rounds_max,
        findings: Vec::new(),
        verdict_url: None,
        resumable_handle: None,
        traceparent: origin.traceparent.clone(),
        request_id: origin.request_id.clone(),
    }
}

/// A finding without its excerpt, and without both sides of a comparison: the verdict has them.
fn short(finding: &Finding) -> FindingBody {
    FindingBody {
        check: finding.check.clone(),
        criteria: finding.criteria.clone(),
        kind: finding.kind.as_str().to_owned(),
        blocking: finding.blocking,
        blame: finding.blame.into(),
        title: finding.title.clone(),
        location: finding.location.as_ref().map(|it| LocationBody {
            file: it.file.clone(),
            line: it.line,
            column: it.column,
        }),
        test: finding.test.as_ref().map(|it| FailedTestBody {
            name: it.name.clone(),
            phase: it.phase.into(),
            expected: None,
            actual: None,
        }),
        excerpt: None,
    }
}

/// Leaves findings out from the end until the body fits.
fn write(kind: &str, timestamp: DateTime<Utc>, mut data: CallbackBody) -> String {
    loop {
        let payload = CallbackPayload { kind: kind.to_owned(), timestamp, data: data.clone() };
        let text = serde_json::to_string(&payload)
            .expect("strings, numbers, and lists of them can always be written as JSON");
        if text.len() <= CALLBACK_BODY_BYTES_MAX || data.findings.pop().is_none() {
            return text;
        }
    }
}
