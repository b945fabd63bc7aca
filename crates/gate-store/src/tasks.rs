//! Tasks: registered with their contract, read, listed, cancelled.

use chrono::{DateTime, Utc};
use gate_core::{CallbackId, RunId, Sha256Digest, TaskId, TaskState};
use serde_json::json;
use uuid::Uuid;

use crate::callbacks::{self, NewCallback};
use crate::queue::{self, NewRun, NewSubject};
use crate::words::{big, count, digest, small, task_state};
use crate::{
    ContractText, EventStamp, IdempotencyKey, Made, Origin, Store, StoreError, events, idempotency,
};

/// Names a task in the database: every key begins with the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskKey {
    /// The project.
    pub project_id: i64,
    /// The task.
    pub task: TaskId,
}

/// A task to be registered.
#[derive(Debug)]
pub struct NewTask<'a> {
    /// Made by the gate.
    pub id: TaskId,
    /// The contract's title.
    pub title: &'a str,
    /// The first version.
    pub contract: &'a ContractText,
    /// The contract's bound on rounds.
    pub rounds_max: u32,
    /// The contract's bound on reports.
    pub reports_max: u32,
    /// Where verdicts are posted.
    pub callback_url: Option<&'a str>,
    /// The run that proves the contract on its baseline, where it has one. Made by the gate.
    pub preflight: Option<RunId>,
    /// The client's name for this request.
    pub idempotency: Option<&'a IdempotencyKey>,
}

/// A new version of a task's contract.
#[derive(Debug)]
pub struct Amendment<'a> {
    /// The task's version that the caller has seen.
    pub task_version: u64,
    /// Why.
    pub reason: &'a str,
    /// The contract's title.
    pub title: &'a str,
    /// The text.
    pub contract: &'a ContractText,
    /// The contract's bound on rounds.
    pub rounds_max: u32,
    /// The contract's bound on reports.
    pub reports_max: u32,
    /// Where verdicts are posted.
    pub callback_url: Option<&'a str>,
    /// The run that proves the contract on its baseline, where it has one. Made by the gate.
    pub preflight: Option<RunId>,
    /// The client's name for this request.
    pub idempotency: Option<&'a IdempotencyKey>,
}

/// A stored task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Leads its key.
    pub project_id: i64,
    /// The project's slug.
    pub project: String,
    /// Names it in paths.
    pub id: TaskId,
    /// The contract's title.
    pub title: String,
    /// Where it stands.
    pub state: TaskState,
    /// The contract version in force.
    pub contract_version: u32,
    /// Of that version's text.
    pub contract_sha256: Sha256Digest,
    /// FAILs so far.
    pub rounds: u32,
    /// The contract's bound.
    pub rounds_max: u32,
    /// Reports so far.
    pub reports: u32,
    /// The contract's bound.
    pub reports_max: u32,
    /// Where verdicts are posted.
    pub callback_url: Option<String>,
    /// The run that is queued or running.
    pub current_run: Option<RunId>,
    /// The run that proved the newest contract version which has a baseline, or rejected it.
    pub preflight: Option<RunId>,
    /// The newest verdict of a report: run, decision, next step.
    pub last_verdict: Option<(RunId, String, String)>,
    /// Counts the changes.
    pub version: u64,
    /// When its contract was published.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Task {
    /// Its name in the database.
    #[must_use]
    pub const fn key(&self) -> TaskKey {
        TaskKey { project_id: self.project_id, task: self.id }
    }
}

/// Which tasks a list holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskFilter {
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those older than this one.
    pub before: Option<TaskId>,
}

struct TaskRow {
    project_id: i64,
    project: String,
    id: Uuid,
    title: String,
    state: String,
    contract_version: i32,
    contract_sha256: Vec<u8>,
    rounds: i32,
    rounds_max: i32,
    reports: i32,
    reports_max: i32,
    callback_url: Option<String>,
    current_run_id: Option<Uuid>,
    last_run_id: Option<Uuid>,
    preflight_run_id: Option<Uuid>,
    decision: Option<String>,
    next_step: Option<String>,
    version: i64,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl Store {
    /// Registers a task with its first contract version.
    ///
    /// # Errors
    /// [`StoreError::KeyReused`], [`StoreError::KeyInFlight`].
    pub async fn register_task(
        &self,
        project_id: i64,
        task: &NewTask<'_>,
        origin: &Origin,
    ) -> Result<Made<TaskId>, StoreError> {
        let mut tx = self.pool.begin().await?;
        if let Some(key) = task.idempotency {
            let made = idempotency::take(&mut tx, key, task.id.as_uuid()).await?;
            if let Made::Before(id) = made {
                return Ok(Made::Before(TaskId::from_uuid(id)));
            }
        }
        insert_task(&mut tx, project_id, task, &origin.actor).await?;
        if let Some(id) = task.preflight {
            let subject = NewSubject::Preflight(TaskState::Pending);
            let run = NewRun { id, contract_version: 1, subject, origin };
            queue::insert(&mut tx, TaskKey { project_id, task: task.id }, &run).await?;
        }
        let data = json!({
            "title": task.title,
            "contract": { "version": 1, "digest": task.contract.sha256.to_string() },
        });
        let registered = events::about_task("task.registered", task.id, data);
        let _stamp: EventStamp = events::append(&mut tx, project_id, &registered, origin).await?;
        tx.commit().await?;
        if task.preflight.is_some() {
            self.announce_work().await;
        }
        Ok(Made::New(task.id))
    }

    /// One task; `within` is the only project that the caller may see.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn task(&self, within: Option<i64>, id: TaskId) -> Result<Task, StoreError> {
        sqlx::query_as!(
            TaskRow,
            r#"select t.project_id, p.slug as project, t.id, t.title, t.state, t.contract_version,
                   c.sha256 as contract_sha256, t.rounds, t.rounds_max, t.reports, t.reports_max,
                   t.callback_url, t.current_run_id, t.last_run_id, t.preflight_run_id,
                   v.decision as "decision?",
                   v.next_step as "next_step?", t.version, t.created_at, t.updated_at
               from task t
               join project p on p.id = t.project_id
               join contract c on c.project_id = t.project_id and c.task_id = t.id
                              and c.version = t.contract_version
               left join verdict v on v.project_id = t.project_id and v.run_id = t.last_run_id
               where t.id = $1 and ($2::bigint is null or t.project_id = $2)"#,
            id.as_uuid(),
            within
        )
        .fetch_optional(&self.pool)
        .await?
        .ok_or(StoreError::NotFound { what: "task" })?
        .try_into()
    }

    /// The tasks of a project, the newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn tasks(
        &self,
        project_id: i64,
        filter: TaskFilter,
        rows_max: u32,
    ) -> Result<Vec<Task>, StoreError> {
        let rows = sqlx::query_as!(
            TaskRow,
            r#"select t.project_id, p.slug as project, t.id, t.title, t.state, t.contract_version,
                   c.sha256 as contract_sha256, t.rounds, t.rounds_max, t.reports, t.reports_max,
                   t.callback_url, t.current_run_id, t.last_run_id, t.preflight_run_id,
                   v.decision as "decision?",
                   v.next_step as "next_step?", t.version, t.created_at, t.updated_at
               from task t
               join project p on p.id = t.project_id
               join contract c on c.project_id = t.project_id and c.task_id = t.id
                              and c.version = t.contract_version
               left join verdict v on v.project_id = t.project_id and v.run_id = t.last_run_id
               where t.project_id = $1 and ($2::text is null or t.state = $2)
                 and ($3::uuid is null or t.id < $3)
               order by t.id desc limit $4"#,
            project_id,
            filter.state.map(TaskState::as_str),
            filter.before.map(|it| it.as_uuid()),
            i64::from(rows_max)
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    /// Gives a task up: its run, if there is one, ends without a verdict, and its worker kills what it runs.
    ///
    /// `callback_body` writes the callback, if the contract wants one.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::TaskState`] when the task is final.
    pub async fn cancel_task(
        &self,
        key: TaskKey,
        reason: &str,
        origin: &Origin,
        callback_body: impl FnOnce(EventStamp) -> String + Send,
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!(
            "select state, current_run_id, callback_url from task
             where project_id = $1 and id = $2 for update",
            key.project_id,
            key.task.as_uuid()
        )
        .fetch_optional(&mut *tx)
        .await?
        .ok_or(StoreError::NotFound { what: "task" })?;
        if task_state(&row.state)?.is_final() {
            return Err(StoreError::TaskState { state: row.state });
        }
        if let Some(run) = row.current_run_id {
            end_run(&mut tx, key.project_id, run).await?;
        }
        sqlx::query!(
            "update task set state = 'aborted', current_run_id = null, version = version + 1,
                 updated_at = now()
             where project_id = $1 and id = $2",
            key.project_id,
            key.task.as_uuid()
        )
        .execute(&mut *tx)
        .await?;
        let event = events::NewEvent {
            kind: "task.cancelled",
            task_id: Some(key.task.as_uuid()),
            run_id: row.current_run_id,
            data: json!({ "reason": reason }),
        };
        let stamp = events::append(&mut tx, key.project_id, &event, origin).await?;
        if let Some(url) = row.callback_url {
            let callback = NewCallback { task: key.task, kind: event.kind, url: &url, stamp };
            let _id: CallbackId =
                callbacks::insert(&mut tx, key.project_id, &callback, callback_body(stamp)).await?;
        }
        tx.commit().await?;
        self.announce_task(key.task).await;
        self.announce_taken_away().await;
        self.announce_callbacks().await;
        Ok(())
    }
}

/// Takes a run away from whoever has it: the worker's lease token leads nowhere from here on.
async fn end_run(
    tx: &mut sqlx::PgTransaction<'_>,
    project_id: i64,
    run: Uuid,
) -> Result<(), StoreError> {
    let attempt =
        sqlx::query_scalar!("delete from gate_queue where run_id = $1 returning attempt", run)
            .fetch_optional(&mut **tx)
            .await?;
    sqlx::query!(
        "update gate_run set state = 'cancelled', finished_at = now(), attempts = $3
         where project_id = $1 and id = $2 and state = 'queued'",
        project_id,
        run,
        attempt.unwrap_or(0)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn insert_task(
    tx: &mut sqlx::PgTransaction<'_>,
    project_id: i64,
    task: &NewTask<'_>,
    actor: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into task (project_id, id, title, rounds_max, reports_max, callback_url, state,
             current_run_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        project_id,
        task.id.as_uuid(),
        task.title,
        small(task.rounds_max),
        small(task.reports_max),
        task.callback_url,
        task.preflight.map_or(TaskState::Pending, |_| TaskState::Preflight).as_str(),
        task.preflight.map(|it| it.as_uuid())
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "insert into contract (project_id, task_id, version, media_type, body, sha256, created_by)
         values ($1, $2, 1, $3, $4, $5, $6)",
        project_id,
        task.id.as_uuid(),
        task.contract.media_type,
        task.contract.text,
        task.contract.sha256.as_bytes(),
        actor
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

impl TryFrom<TaskRow> for Task {
    type Error = StoreError;

    fn try_from(row: TaskRow) -> Result<Self, StoreError> {
        let last_verdict = row
            .last_run_id
            .map(RunId::from_uuid)
            .zip(row.decision.zip(row.next_step))
            .map(|(run, (decision, next_step))| (run, decision, next_step));
        Ok(Self {
            project_id: row.project_id,
            project: row.project,
            id: TaskId::from_uuid(row.id),
            title: row.title,
            state: task_state(&row.state)?,
            contract_version: count(row.contract_version),
            contract_sha256: digest("contract.sha256", &row.contract_sha256)?,
            rounds: count(row.rounds),
            rounds_max: count(row.rounds_max),
            reports: count(row.reports),
            reports_max: count(row.reports_max),
            callback_url: row.callback_url,
            current_run: row.current_run_id.map(RunId::from_uuid),
            preflight: row.preflight_run_id.map(RunId::from_uuid),
            last_verdict,
            version: big(row.version),
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
