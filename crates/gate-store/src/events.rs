//! Events: appended in the transaction of what they tell, never changed.

use chrono::{DateTime, Utc};
use gate_core::{RunId, TaskId};
use serde_json::Value;
use uuid::Uuid;

use crate::words::{big, long};
use crate::{Store, StoreError};

/// Who caused a change, and by which request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of an API key, or `gate`.
    pub actor: String,
    /// Names the request in the logs.
    pub request_id: Option<String>,
    /// The W3C trace that it belongs to.
    pub traceparent: Option<String>,
}

impl Origin {
    /// The gate itself, in the trace that led here.
    #[must_use]
    pub fn gate(request_id: Option<String>, traceparent: Option<String>) -> Self {
        Self { actor: "gate".to_owned(), request_id, traceparent }
    }
}

/// Where an event stands in its project's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventStamp {
    /// Gapless within the project, in the order of commits.
    pub sequence: u64,
    /// The time of the transaction.
    pub at: DateTime<Utc>,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it stands.
    pub stamp: EventStamp,
    /// The task that it concerns.
    pub task_id: Option<TaskId>,
    /// The run that it concerns.
    pub run_id: Option<RunId>,
    /// Such as `verdict.decided`.
    pub kind: String,
    /// Why, and what else belongs to it.
    pub data: Value,
    /// Who.
    pub origin: Origin,
}

/// An event before it is appended.
pub(crate) struct NewEvent {
    pub(crate) kind: &'static str,
    pub(crate) task_id: Option<Uuid>,
    pub(crate) run_id: Option<Uuid>,
    pub(crate) data: Value,
}

pub(crate) fn about_project(kind: &'static str, data: Value) -> NewEvent {
    NewEvent { kind, task_id: None, run_id: None, data }
}

pub(crate) fn about_task(kind: &'static str, task: TaskId, data: Value) -> NewEvent {
    NewEvent { kind, task_id: Some(task.as_uuid()), run_id: None, data }
}

pub(crate) fn about_run(kind: &'static str, task: TaskId, run: RunId, data: Value) -> NewEvent {
    NewEvent { kind, task_id: Some(task.as_uuid()), run_id: Some(run.as_uuid()), data }
}

/// Appends one event. Locks the project's row until the commit, which keeps the numbers gapless and in commit order; take no other lock after it.
pub(crate) async fn append(
    tx: &mut sqlx::PgTransaction<'_>,
    project_id: i64,
    event: &NewEvent,
    origin: &Origin,
) -> Result<EventStamp, StoreError> {
    let row = sqlx::query!(
        "with p as (
             update project set event_sequence = event_sequence + 1 where id = $1
             returning event_sequence)
         insert into event (project_id, sequence, task_id, run_id, kind, actor, data, request_id, traceparent)
         select $1, event_sequence, $2, $3, $4, $5, $6, $7, $8 from p
         returning sequence, at",
        project_id,
        event.task_id,
        event.run_id,
        event.kind,
        origin.actor,
        event.data,
        origin.request_id,
        origin.traceparent
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(EventStamp { sequence: big(row.sequence), at: row.at })
}

impl Store {
    /// The events of a task after a place in its order; the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn task_events(
        &self,
        project_id: i64,
        task: TaskId,
        after: u64,
        rows_max: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let rows = sqlx::query!(
            "select sequence, at, task_id, run_id, kind, actor, data, request_id, traceparent
             from event where project_id = $1 and task_id = $2 and sequence > $3
             order by sequence limit $4",
            project_id,
            task.as_uuid(),
            long(after),
            i64::from(rows_max)
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| Event {
                stamp: EventStamp { sequence: big(row.sequence), at: row.at },
                task_id: row.task_id.map(TaskId::from_uuid),
                run_id: row.run_id.map(RunId::from_uuid),
                kind: row.kind,
                data: row.data,
                origin: Origin {
                    actor: row.actor,
                    request_id: row.request_id,
                    traceparent: row.traceparent,
                },
            })
            .collect())
    }
}
