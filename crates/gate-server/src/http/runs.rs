//! Runs and their verdicts; also the cursors and links that all lists share.

use axum::extract::State;
use axum::http::header::LINK;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use gate_api::{Cursor, RunBody, RunPage, VerdictBody};
use gate_core::{RunId, TaskId};
use gate_store::PAGE_ROWS_MAX;
use serde::Deserialize;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery};
use super::auth::{Caller, Permission};
use super::present;
use super::problem::Problem;
use super::tasks::with_body;
use super::wait::Wait;

/// Where a page starts.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// `next_cursor` of the page before.
    #[param(max_length = 200)]
    cursor: Option<String>,
}

impl PageQuery {
    pub(super) fn after<K: std::str::FromStr>(&self) -> Result<Option<Cursor<K>>, Problem> {
        cursor(self.cursor.as_deref())
    }
}

pub(super) fn cursor<K: std::str::FromStr>(
    text: Option<&str>,
) -> Result<Option<Cursor<K>>, Problem> {
    let decoded = text.map(Cursor::decode).transpose();
    decoded.map_err(|error| Problem::parameter("cursor", error.to_string()))
}

/// `Link: …; rel="next"` (RFC 8288); `path` ends in `?` or `&`.
pub(super) fn link(path: &str, next_cursor: Option<&str>) -> HeaderMap {
    let value = next_cursor
        .and_then(|it| HeaderValue::try_from(format!("<{path}cursor={it}>; rel=\"next\"")).ok());
    value.into_iter().map(|it| (LINK, it)).collect()
}

/// List the runs of a task
#[utoipa::path(get, path = "/v1/tasks/{task}/runs", tag = "runs",
    params(("task" = uuid::Uuid, Path, description = "The task's id"), PageQuery),
    responses((status = 200, description = "The newest first", body = RunPage,
        headers(("link" = String, description = "The next page, RFC 8288")))))]
pub(crate) async fn list_runs(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    ApiQuery(query): ApiQuery<PageQuery>,
) -> Result<(HeaderMap, ApiJson<RunPage>), Problem> {
    caller.require(Permission::Read)?;
    let task = app.store.task(caller.within(), id).await?;
    let before = query.after::<RunId>()?.map(|Cursor(it)| it);
    let runs = app.store.runs(task.project_id, id, before, PAGE_ROWS_MAX + 1).await?;
    let (runs, next_cursor) = present::page(runs, PAGE_ROWS_MAX, |it| it.id);
    let mut items = Vec::with_capacity(runs.len());
    for run in &runs {
        let verdict = app.store.verdict(run.project_id, run.id).await?;
        items.push(present::run(run, verdict)?);
    }
    let headers = link(&format!("/v1/tasks/{id}/runs?"), next_cursor.as_deref());
    Ok((headers, ApiJson(RunPage { items, next_cursor })))
}

/// Read a run, with its verdict once there is one
///
/// With `wait`, answers as soon as the run is judged or cancelled.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs",
    params(("run" = uuid::Uuid, Path, description = "The run's id"),
           ("wait" = Option<u64>, Query, description = "Seconds to wait for the verdict", minimum = 0, maximum = 60)),
    responses((status = 200, description = "The run", body = RunBody)))]
pub(crate) async fn get_run(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<RunId>,
    wait: Wait,
) -> Result<Response, Problem> {
    caller.require(Permission::Read)?;
    let within = caller.within();
    let task = app.store.run(within, id).await?.task;
    let look_again = async || look(&app, within, id).await;
    let run = wait.until(&app, task, look_again, |it| it.finished_at.is_some()).await?;
    let mut response = axum::http::StatusCode::OK.into_response();
    response.headers_mut().extend(wait.applied());
    Ok(with_body(response, ApiJson(run)))
}

/// Read the verdict of a run
#[utoipa::path(get, path = "/v1/runs/{run}/verdict", tag = "runs",
    params(("run" = uuid::Uuid, Path, description = "The run's id")),
    responses((status = 200, description = "The verdict", body = VerdictBody)))]
pub(crate) async fn get_verdict(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<RunId>,
) -> Result<ApiJson<VerdictBody>, Problem> {
    caller.require(Permission::Read)?;
    let run = app.store.run(caller.within(), id).await?;
    let verdict = app.store.verdict(run.project_id, id).await?;
    let verdict = verdict.ok_or_else(|| Problem::not_found("verdict yet"))?;
    Ok(ApiJson(present::verdict(&run, verdict)?))
}

/// The run as it is now.
pub(super) async fn look(app: &App, within: Option<i64>, id: RunId) -> Result<RunBody, Problem> {
    let run = app.store.run(within, id).await?;
    let verdict = match run.finished_at {
        Some(_) => app.store.verdict(run.project_id, id).await?,
        None => None,
    };
    present::run(&run, verdict)
}
