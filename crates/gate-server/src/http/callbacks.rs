//! Callbacks: their delivery log, and delivering one again.

use axum::extract::State;
use axum::http::StatusCode;
use gate_api::{CallbackAttemptBody, CallbackDelivery, CallbackPage, CallbackState};
use gate_core::{CallbackId, TaskId};
use gate_store::{Callback, CallbackAttempt};

use super::App;
use super::api_json::{ApiJson, ApiPath};
use super::auth::{Caller, Permission};
use super::present;
use super::problem::Problem;

/// List the callbacks of a task with every attempt to deliver them
#[utoipa::path(get, path = "/v1/tasks/{task}/callbacks", tag = "callbacks",
    params(("task" = uuid::Uuid, Path, description = "The task's id")),
    responses((status = 200, description = "The oldest first", body = CallbackPage)))]
pub(crate) async fn list_callbacks(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
) -> Result<ApiJson<CallbackPage>, Problem> {
    caller.require(Permission::Read)?;
    let task = app.store.task(caller.within(), id).await?;
    let callbacks = app.store.callbacks(task.project_id, id).await?;
    let items = callbacks.into_iter().map(delivery).collect::<Result<_, _>>()?;
    Ok(ApiJson(CallbackPage { items }))
}

/// Deliver a callback again
///
/// Whatever became of it: it is due now, with a fresh schedule and the same `webhook-id`.
#[utoipa::path(post, path = "/v1/callbacks/{callback}/redeliver", tag = "callbacks",
    params(("callback" = uuid::Uuid, Path, description = "The callback's id, its `webhook-id`")),
    responses((status = 202, description = "It is due now; the delivery log shows what became of it", body = CallbackPage)))]
pub(crate) async fn redeliver_callback(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<CallbackId>,
) -> Result<(StatusCode, ApiJson<CallbackPage>), Problem> {
    caller.require(Permission::ManageCallbacks)?;
    let task = app.store.redeliver(caller.within(), id).await?;
    let task = app.store.task(caller.within(), task).await?;
    let callbacks = app.store.callbacks(task.project_id, task.id).await?;
    let items = callbacks.into_iter().map(delivery).collect::<Result<_, _>>()?;
    Ok((StatusCode::ACCEPTED, ApiJson(CallbackPage { items })))
}

fn delivery(callback: Callback) -> Result<CallbackDelivery, Problem> {
    let state: CallbackState = present::word("callback.state", &callback.state)?;
    Ok(CallbackDelivery {
        id: callback.id.as_uuid(),
        kind: callback.kind,
        url: callback.url,
        state,
        next_attempt_at: (state == CallbackState::Due).then_some(callback.next_at),
        attempts: callback.attempts.into_iter().map(attempt).collect(),
        created_at: callback.created_at,
    })
}

fn attempt(attempt: CallbackAttempt) -> CallbackAttemptBody {
    let CallbackAttempt { at, duration_ms, status, error } = attempt;
    CallbackAttemptBody { at, duration_ms, status, error }
}
