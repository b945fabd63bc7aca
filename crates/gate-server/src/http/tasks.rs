//! Tasks: registered with their contract, read, listed, cancelled.

use axum::extract::State;
use axum::http::header::{ETAG, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gate_api::body::Format;
use gate_api::{
    CancelTask, ContractDocument, Cursor, InvalidField, ProblemKind, TaskBody, TaskPage,
    TaskStateWord, contract_document,
};
use gate_core::{Contract, RunId, TaskId, WorkspaceSource};
use gate_store::{ContractText, NewTask, PAGE_ROWS_MAX, Task, TaskFilter};
use serde::Deserialize;
use uuid::Uuid;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery, RawBody};
use super::auth::{Caller, Permission, Slug};
use super::idempotency::{ClientKey, replayed};
use super::present;
use super::problem::Problem;
use super::wait::Wait;
use crate::payload;

/// Which tasks a list holds.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TaskQuery {
    /// Only those in this state.
    #[param(inline)]
    state: Option<TaskStateWord>,
    /// `next_cursor` of the page before.
    #[param(max_length = 200)]
    cursor: Option<String>,
}

/// The entity tag of a task: its version.
pub(crate) fn etag(version: u64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// Register a task with its contract
///
/// The body is the contract itself, as YAML or JSON. All its faults are listed at once. One with a baseline
/// is proven there before anybody works: the task is in `preflight`, and takes no report, until it is
/// `pending`, or `contract_rejected` with what to mend; `wait` answers then. An
/// `Idempotency-Key` makes a repeated request answer with the task that the first one made.
#[utoipa::path(post, path = "/v1/projects/{project}/tasks", tag = "tasks",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$"),
           ("wait" = Option<u64>, Query, description = "Seconds to wait for the end of the preflight", minimum = 0, maximum = 60),
           ("prefer" = Option<String>, Header, description = "`wait=N`, RFC 7240"),
           ("idempotency-key" = Option<String>, Header, description = "Your own name for this request", min_length = 1, max_length = 255, pattern = "^[!#-~]+$")),
    request_body(content = ContractDocument, description = "As JSON, or as YAML with the content type application/yaml"),
    responses(
        (status = 201, description = "The task", body = TaskBody,
            headers(("location" = String, description = "The path of the task"), ("etag" = String, description = "Its version"))),
        (status = 422, description = "The contract does not hold together, or the idempotency key was used with another body",
            body = gate_api::ProblemBody, content_type = "application/problem+json")))]
#[expect(clippy::too_many_arguments, reason = "each extractor is one part of the request")]
pub(crate) async fn create_task(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
    client_key: ClientKey,
    wait: Wait,
    raw: RawBody,
) -> Result<Response, Problem> {
    caller.require(Permission::Plan)?;
    let project = caller.project(&app, &slug).await?;
    let (contract, text) = read_contract(&app, project.id, raw).await?;
    let route = format!("POST /v1/projects/{slug}/tasks");
    let key = client_key.scoped(&caller, route, text.sha256);
    let new = NewTask {
        id: TaskId::from_uuid(Uuid::now_v7()),
        title: contract.title(),
        contract: &text,
        rounds_max: contract.rounds_max(),
        reports_max: contract.reports_max(),
        callback_url: contract.callback_url(),
        preflight: preflight(&contract),
        idempotency: key.as_ref(),
    };
    let made = app.store.register_task(project.id, &new, &caller.origin()).await?;
    let is_replay = made.is_replay();
    let (within, id) = (caller.within(), made.into_inner());
    let look = async || Ok(app.store.task(within, id).await?);
    let task = wait.until(&app, id, look, |it: &Task| it.state.is_settled()).await?;
    let mut response = (StatusCode::CREATED, [(ETAG, etag(task.version))]).into_response();
    let location = HeaderValue::try_from(format!("/v1/tasks/{}", task.id));
    response.headers_mut().extend(location.ok().map(|it| (LOCATION, it)));
    response.headers_mut().extend(replayed(is_replay));
    response.headers_mut().extend(wait.applied());
    Ok(with_body(response, ApiJson(present::task(task)?)))
}

/// List the tasks of a project
#[utoipa::path(get, path = "/v1/projects/{project}/tasks", tag = "tasks",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$"), TaskQuery),
    responses((status = 200, description = "The newest first", body = TaskPage,
        headers(("link" = String, description = "The next page, RFC 8288")))))]
pub(crate) async fn list_tasks(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
    ApiQuery(query): ApiQuery<TaskQuery>,
) -> Result<(HeaderMap, ApiJson<TaskPage>), Problem> {
    caller.require(Permission::Read)?;
    let project = caller.project(&app, &slug).await?;
    let before = super::runs::cursor::<TaskId>(query.cursor.as_deref())?.map(|Cursor(it)| it);
    let filter = TaskFilter { state: query.state.map(Into::into), before };
    let tasks = app.store.tasks(project.id, filter, PAGE_ROWS_MAX + 1).await?;
    let (tasks, next_cursor) = present::page(tasks, PAGE_ROWS_MAX, |it: &Task| it.id);
    let items = tasks.into_iter().map(present::task).collect::<Result<_, _>>()?;
    let kept = query.state.map(|it| format!("state={}&", gate_core::TaskState::from(it).as_str()));
    let path = format!("/v1/projects/{slug}/tasks?{}", kept.unwrap_or_default());
    Ok((super::runs::link(&path, next_cursor.as_deref()), ApiJson(TaskPage { items, next_cursor })))
}

/// Read a task
///
/// With `wait`, answers as soon as the task is settled: whenever its state is neither `gating` nor `preflight`.
#[utoipa::path(get, path = "/v1/tasks/{task}", tag = "tasks",
    params(("task" = uuid::Uuid, Path, description = "The task's id"),
           ("wait" = Option<u64>, Query, description = "Seconds to wait for a change", minimum = 0, maximum = 60),
           ("if-none-match" = Option<String>, Header, description = "The `ETag` that you have: 304 while it is the newest")),
    responses((status = 200, description = "The task", body = TaskBody, headers(("etag" = String, description = "Its version"))),
              (status = 304, description = "It has not changed")))]
pub(crate) async fn get_task(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    wait: Wait,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Permission::Read)?;
    let within = caller.within();
    let known = headers.get(IF_NONE_MATCH).cloned();
    let is_known = |task: &Task| known.as_ref().is_some_and(|it| matches_etag(it, task.version));
    let look = async || Ok(app.store.task(within, id).await?);
    let settled = |task: &Task| task.state.is_settled() && !is_known(task);
    let task = wait.until(&app, id, look, settled).await?;
    let tag: [(HeaderName, HeaderValue); 1] = [(ETAG, etag(task.version))];
    if is_known(&task) {
        return Ok((StatusCode::NOT_MODIFIED, tag).into_response());
    }
    let mut response = (StatusCode::OK, tag).into_response();
    response.headers_mut().extend(wait.applied());
    Ok(with_body(response, ApiJson(present::task(task)?)))
}

/// Give a task up
///
/// A run that is queued or running ends without a verdict; what it runs is killed.
#[utoipa::path(post, path = "/v1/tasks/{task}/cancel", tag = "tasks", request_body = CancelTask,
    params(("task" = uuid::Uuid, Path, description = "The task's id")),
    responses((status = 200, description = "The task, now `aborted`", body = TaskBody),
              (status = 409, description = "The task is done, or was given up before", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
pub(crate) async fn cancel_task(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    ApiJson(body): ApiJson<CancelTask>,
) -> Result<ApiJson<TaskBody>, Problem> {
    caller.require(Permission::Cancel)?;
    let task = app.store.task(caller.within(), id).await?;
    let origin = caller.origin();
    let payload = |stamp| payload::cancelled(&task, &origin, stamp);
    app.store.cancel_task(task.key(), &body.reason, &origin, payload).await?;
    Ok(ApiJson(present::task(app.store.task(caller.within(), id).await?)?))
}

/// The run that proves a contract on its baseline, where it has one.
pub(super) fn preflight(contract: &Contract) -> Option<RunId> {
    contract.has_preflight().then(|| RunId::from_uuid(Uuid::now_v7()))
}

/// Reads a contract from a request: its callback must lie in a network that the operator allows, and its baseline, if it is an archive, must be there.
pub(super) async fn read_contract(
    app: &App,
    project_id: i64,
    raw: RawBody,
) -> Result<(Contract, ContractText), Problem> {
    let contract = contract_document::read(raw.text.as_bytes(), raw.format).map_err(|error| {
        let mut problem = Problem::from(error);
        if problem.kind == ProblemKind::InvalidBody {
            problem.kind = ProblemKind::ContractInvalid;
        }
        problem
    })?;
    let mut faults = Vec::new();
    let callback_url = contract.callback_url().and_then(|it| url::Url::parse(it).ok());
    if let Some(Err(refusal)) = callback_url.map(|it| app.networks.check_url(&it)) {
        faults.push(InvalidField::new("/callback/url", refusal.to_string()));
    }
    for (at, source) in
        [("/baseline", contract.baseline()), ("/acceptance_files", contract.acceptance_files())]
    {
        if let Some(WorkspaceSource::Archive { sha256, .. }) = source
            && !app.store.has_archive(project_id, *sha256).await?
        {
            let detail = format!("upload it first: PUT /v1/workspaces/{}", sha256.to_hex());
            faults.push(InvalidField::new(format!("{at}/archive/sha256"), detail));
        }
    }
    if !faults.is_empty() {
        return Err(Problem::fields(ProblemKind::ContractInvalid, faults));
    }
    let media_type = match raw.format {
        Format::Json => "application/json",
        Format::Yaml => "application/yaml",
    };
    let text = ContractText { media_type, text: raw.text, sha256: raw.sha256 };
    Ok((contract, text))
}

/// `*`, or one of the tags in the list.
pub(super) fn matches_etag(value: &HeaderValue, version: u64) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let own = format!("\"{version}\"");
    text.split(',').map(str::trim).any(|it| it == "*" || it.trim_start_matches("W/") == own)
}

/// The same answer, with a JSON body.
pub(super) fn with_body<T: serde::Serialize>(response: Response, body: ApiJson<T>) -> Response {
    let (parts, _) = response.into_parts();
    let mut whole = body.into_response();
    *whole.status_mut() = parts.status;
    whole.headers_mut().extend(parts.headers);
    whole
}
