//! Completion reports: checked against their contract, accepted, and, if the client waits, answered with the verdict.

use axum::extract::State;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gate_api::body::Format;
use gate_api::{InvalidField, ProblemKind, ReportAccepted, SubmitReport, contract_document};
use gate_core::{CompletionReport, ReportId, RunId, TaskId, WorkspaceSource, route};
use gate_store::{
    AcceptedReport, IdempotencyKey, Made, NewReport, StoreError, StoredContract, Task,
};
use uuid::Uuid;

use super::App;
use super::api_json::{ApiJson, ApiPath, RawBody};
use super::auth::{Caller, Permission};
use super::idempotency::{ClientKey, replayed};
use super::present;
use super::problem::Problem;
use super::tasks::with_body;
use super::wait::Wait;
use crate::payload::{self, Routed};

/// Report that the work is done
///
/// A `success` is judged: 202 with the run, or, with `?wait=N` or `Prefer: wait=N`, 200 with the verdict
/// as soon as there is one. A run that is judged by the time of the answer is always answered with 200. Every other status has one consequence, which is answered at once.
#[utoipa::path(post, path = "/v1/tasks/{task}/reports", tag = "reports", request_body = SubmitReport,
    params(("task" = uuid::Uuid, Path, description = "The task's id"),
           ("wait" = Option<u64>, Query, description = "Seconds to wait for the verdict", minimum = 0, maximum = 60),
           ("prefer" = Option<String>, Header, description = "`wait=N`, RFC 7240"),
           ("idempotency-key" = Option<String>, Header, description = "Your own name for this report: a repeated request is answered with what became of the first", min_length = 1, max_length = 255, pattern = "^[!#-~]+$")),
    responses(
        (status = 200, description = "There is a verdict, or there is nothing to judge", body = ReportAccepted),
        (status = 202, description = "Accepted; the verdict follows", body = ReportAccepted,
            headers(("location" = String, description = "The path of the run"), ("retry-after" = u64, description = "Seconds"))),
        (status = 409, description = "The task does not take reports now", body = gate_api::ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The report does not answer its contract, or the idempotency key was used with another body",
            body = gate_api::ProblemBody, content_type = "application/problem+json")))]
#[expect(clippy::too_many_arguments, reason = "each extractor is one part of the request")]
pub(crate) async fn submit_report(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    wait: Wait,
    client_key: ClientKey,
    raw: RawBody,
) -> Result<Response, Problem> {
    caller.require(Permission::Report)?;
    let body: SubmitReport = raw.read()?;
    let handle = body.resumable_handle.clone();
    let report = CompletionReport::try_from(body)
        .map_err(|it| Problem::fields(ProblemKind::InvalidBody, it))?;
    let task = app.store.task(caller.within(), id).await?;
    let key = client_key.scoped(&caller, format!("POST /v1/tasks/{id}/reports"), raw.sha256);
    let made = match before(&app, &task, key.as_ref()).await? {
        Some(accepted) => Made::Before(accepted),
        None => {
            let (key, handle) = (key.as_ref(), handle.as_deref());
            let submission = Submission { task: &task, report: &report, raw: &raw, key, handle };
            accept(&app, &caller, &submission).await?
        }
    };
    let is_replay = made.is_replay();
    let accepted = made.into_inner();
    let body = ReportAccepted {
        resumable_handle: handle,
        ..outcome(&app, caller.within(), id, accepted, wait).await?
    };
    let mut response = answer(body);
    response.headers_mut().extend(replayed(is_replay));
    response.headers_mut().extend(wait.applied());
    Ok(response)
}

/// One report on its way to be accepted.
struct Submission<'a> {
    task: &'a Task,
    report: &'a CompletionReport,
    raw: &'a RawBody,
    key: Option<&'a IdempotencyKey>,
    handle: Option<&'a str>,
}

/// What became of an earlier request with the same key: also when its report would not be taken any more.
async fn before(
    app: &App,
    task: &Task,
    key: Option<&IdempotencyKey>,
) -> Result<Option<AcceptedReport>, Problem> {
    let Some(key) = key else { return Ok(None) };
    let Some(id) = app.store.made_before(key).await? else { return Ok(None) };
    let report = app.store.report(task.project_id, ReportId::from_uuid(id)).await?;
    Ok(Some(AcceptedReport { report: report.id, run: report.run }))
}

async fn accept(
    app: &App,
    caller: &Caller,
    submission: &Submission<'_>,
) -> Result<Made<AcceptedReport>, Problem> {
    let Submission { task, report, raw, key, handle } = *submission;
    let contract = app.store.contract(task.project_id, task.id, None).await?;
    check(app, task, report, &contract).await?;
    let origin = caller.origin();
    let route = route(report.status, report.reason_code);
    let new = NewReport {
        id: ReportId::from_uuid(Uuid::now_v7()),
        run: RunId::from_uuid(Uuid::now_v7()),
        contract_version: contract.version,
        status: report.status,
        reason_code: report.reason_code,
        route,
        body: &raw.text,
        sha256: raw.sha256,
        idempotency: key,
    };
    let routed = Routed { report: new.id, route, handle };
    let payload = |stamp| payload::routed(task, &routed, &origin, stamp);
    let made = app.store.accept_report(task.key(), &new, &origin, payload).await;
    metrics::counter!("gate_reports_total", "status" => report.status.as_str()).increment(1);
    made.map_err(|error| match error {
        StoreError::Stale { .. } => {
            let detail = "the contract was amended meanwhile; read it and report again";
            Problem::new(ProblemKind::TaskState, detail)
        }
        error => error.into(),
    })
}

/// All that is wrong with the report in the light of its contract.
async fn check(
    app: &App,
    task: &Task,
    report: &CompletionReport,
    stored: &StoredContract,
) -> Result<(), Problem> {
    let contract = parse_contract(stored)?;
    let mut faults: Vec<InvalidField> = report
        .faults(&contract)
        .into_iter()
        .map(|it| InvalidField::new(it.pointer, it.detail))
        .collect();
    if let Some(WorkspaceSource::Archive { sha256, .. }) = report.workspace
        && !app.store.has_archive(task.project_id, sha256).await?
    {
        let detail = format!("upload it first: PUT /v1/workspaces/{}", sha256.to_hex());
        faults.push(InvalidField::new("/workspace/archive/sha256", detail));
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Problem::fields(ProblemKind::ReportInvalid, faults))
}

/// It was valid when it was published, so anything else is our fault.
fn parse_contract(stored: &StoredContract) -> Result<gate_core::Contract, Problem> {
    let format = match stored.media_type.as_str() {
        "application/yaml" => Format::Yaml,
        _ => Format::Json,
    };
    contract_document::read(stored.text.as_bytes(), format).map_err(|it| Problem::internal(&it))
}

/// What became of the report by now, or by the time that the client waits.
async fn outcome(
    app: &App,
    within: Option<i64>,
    id: TaskId,
    accepted: AcceptedReport,
    wait: Wait,
) -> Result<ReportAccepted, Problem> {
    let mut run = None;
    let mut next_step = None;
    if let Some(run_id) = accepted.run {
        let look = async || super::runs::look(app, within, run_id).await;
        let body = wait.until(app, id, look, |it| it.finished_at.is_some()).await?;
        next_step = body.verdict.as_ref().map(|it| it.next_step);
        run = Some(body);
    } else {
        let task = app.store.task(within, id).await?;
        let report = app.store.report(task.project_id, accepted.report).await?;
        if let Some(step) = report.next_step {
            next_step = Some(present::word("completion_report.next_step", &step)?);
        }
    }
    let task = app.store.task(within, id).await?;
    Ok(ReportAccepted {
        report_id: accepted.report.as_uuid(),
        task_id: id.as_uuid(),
        task_state: task.state.into(),
        run,
        next_step,
        resumable_handle: None,
    })
}

/// 200 when it is decided, 202 and where to look when it is not.
fn answer(body: ReportAccepted) -> Response {
    let undecided = body.run.as_ref().filter(|it| it.finished_at.is_none()).map(|it| it.id);
    let Some(run) = undecided else { return ApiJson(body).into_response() };
    let mut response = StatusCode::ACCEPTED.into_response();
    let location = HeaderValue::try_from(format!("/v1/runs/{run}"));
    response.headers_mut().extend(location.ok().map(|it| (LOCATION, it)));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    with_body(response, ApiJson(body))
}
