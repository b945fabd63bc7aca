//! Events: every change of state of a task, in order.

use axum::extract::State;
use axum::http::HeaderMap;
use gate_api::{Cursor, EventPage};
use gate_core::TaskId;
use gate_store::PAGE_ROWS_MAX;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery};
use super::auth::{Caller, Permission};
use super::present;
use super::problem::Problem;
use super::runs::{PageQuery, link};

/// List the events of a task
///
/// `next_cursor` is there whenever there is an event: poll with it, and nothing is missed.
#[utoipa::path(get, path = "/v1/tasks/{task}/events", tag = "events",
    params(("task" = uuid::Uuid, Path, description = "The task's id"), PageQuery),
    responses((status = 200, description = "The oldest first", body = EventPage,
        headers(("link" = String, description = "The next page, RFC 8288")))))]
pub(crate) async fn list_task_events(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    ApiQuery(query): ApiQuery<PageQuery>,
) -> Result<(HeaderMap, ApiJson<EventPage>), Problem> {
    caller.require(Permission::Read)?;
    let task = app.store.task(caller.within(), id).await?;
    let after = query.after::<u64>()?.map(|Cursor(it)| it);
    let events =
        app.store.task_events(task.project_id, id, after.unwrap_or(0), PAGE_ROWS_MAX).await?;
    let last = events.last().map(|it| it.stamp.sequence).or(after);
    let next_cursor = last.map(|it| Cursor(it).encode());
    let items = events.into_iter().map(present::event).collect();
    let headers = link(&format!("/v1/tasks/{id}/events?"), next_cursor.as_deref());
    Ok((headers, ApiJson(EventPage { items, next_cursor })))
}
