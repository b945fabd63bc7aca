//! Contract texts: stored as published, never changed, read back by their version.

use chrono::{DateTime, Utc};
use gate_core::{Sha256Digest, TaskId, TaskState};
use serde_json::json;

use crate::queue::{self, NewRun, NewSubject};
use crate::words::{big, count, digest, small, task_state};
use crate::{Amendment, EventStamp, Made, Origin, Store, StoreError, TaskKey, events, idempotency};

/// A contract as it was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractText {
    /// `application/json` or `application/yaml`.
    pub media_type: &'static str,
    /// The exact text.
    pub text: String,
    /// Of the text.
    pub sha256: Sha256Digest,
}

/// A stored contract version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContract {
    /// From 1.
    pub version: u32,
    /// `application/json` or `application/yaml`.
    pub media_type: String,
    /// The exact text.
    pub text: String,
    /// Of the text.
    pub sha256: Sha256Digest,
    /// Why it was published; none for the first.
    pub reason: Option<String>,
    /// When it was published.
    pub created_at: DateTime<Utc>,
}

impl Store {
    /// One version of a task's contract; the one in force where none is named.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn contract(
        &self,
        project_id: i64,
        task: TaskId,
        version: Option<u32>,
    ) -> Result<StoredContract, StoreError> {
        let row = sqlx::query!(
            "select c.version, c.media_type, c.body, c.sha256, c.reason, c.created_at
             from contract c join task t using (project_id)
             where c.project_id = $1 and t.id = $2 and c.task_id = t.id
               and c.version = coalesce($3, t.contract_version)",
            project_id,
            task.as_uuid(),
            version.map(small)
        )
        .fetch_optional(&self.pool)
        .await?
        .ok_or(StoreError::NotFound { what: "contract version" })?;
        Ok(StoredContract {
            version: count(row.version),
            media_type: row.media_type,
            sha256: digest("contract.sha256", &row.sha256)?,
            text: row.body,
            reason: row.reason,
            created_at: row.created_at,
        })
    }

    /// Publishes the next version of a contract, while nothing runs and nothing is final. A task that was waiting for a better contract is open again.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Stale`], [`StoreError::TaskState`], and those of the idempotency key.
    pub async fn amend_contract(
        &self,
        key: TaskKey,
        amendment: &Amendment<'_>,
        origin: &Origin,
    ) -> Result<Made<()>, StoreError> {
        let mut tx = self.pool.begin().await?;
        if let Some(name) = amendment.idempotency {
            let made = idempotency::take(&mut tx, name, key.task.as_uuid()).await?;
            if made.is_replay() {
                return Ok(Made::Before(()));
            }
        }
        let (version, opens) = lock_for_amendment(&mut tx, key, amendment).await?;
        insert_contract(&mut tx, key, version, amendment, &origin.actor).await?;
        if let Some(id) = amendment.preflight {
            let (subject, contract_version) = (NewSubject::Preflight(opens), count(version));
            let run = NewRun { id, contract_version, subject, origin };
            queue::insert(&mut tx, key, &run).await?;
        }
        apply_amendment(&mut tx, key, (version, opens), amendment).await?;
        let data = json!({
            "version": version,
            "digest": amendment.contract.sha256.to_string(),
            "reason": amendment.reason,
        });
        let amended = events::about_task("contract.amended", key.task, data);
        let _stamp: EventStamp = events::append(&mut tx, key.project_id, &amended, origin).await?;
        tx.commit().await?;
        self.announce_task(key.task).await;
        if amendment.preflight.is_some() {
            self.announce_work().await;
        }
        Ok(Made::New(()))
    }
}

/// Locks the task and says which version is next, and where the task goes with it: one that waited for a better contract is open again.
async fn lock_for_amendment(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    amendment: &Amendment<'_>,
) -> Result<(i32, TaskState), StoreError> {
    let row = sqlx::query!(
        "select state, version, contract_version, rounds, reports from task
         where project_id = $1 and id = $2 for update",
        key.project_id,
        key.task.as_uuid()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(StoreError::NotFound { what: "task" })?;
    if big(row.version) != amendment.task_version {
        return Err(StoreError::Stale { version: big(row.version) });
    }
    let state = task_state(&row.state)?;
    if !state.takes_contracts() {
        return Err(StoreError::TaskState { state: row.state });
    }
    if amendment.reports_max < count(row.reports) {
        return Err(StoreError::ReportsExhausted { reports_max: amendment.reports_max });
    }
    let opens = match state {
        TaskState::ContractRejected if row.reports == 0 => TaskState::Pending,
        TaskState::ContractRejected => TaskState::Rework,
        TaskState::Preflight
        | TaskState::Pending
        | TaskState::Gating
        | TaskState::Done
        | TaskState::Rework
        | TaskState::NeedsHuman
        | TaskState::NeedsInput
        | TaskState::Paused
        | TaskState::Failed
        | TaskState::Aborted => state,
    };
    Ok((row.contract_version + 1, opens))
}

async fn insert_contract(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    version: i32,
    amendment: &Amendment<'_>,
    actor: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into contract (project_id, task_id, version, media_type, body, sha256, reason, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        key.project_id,
        key.task.as_uuid(),
        version,
        amendment.contract.media_type,
        amendment.contract.text,
        amendment.contract.sha256.as_bytes(),
        amendment.reason,
        actor
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn apply_amendment(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    (version, opens): (i32, TaskState),
    amendment: &Amendment<'_>,
) -> Result<(), StoreError> {
    let state = amendment.preflight.map_or(opens, |_| TaskState::Preflight);
    sqlx::query!(
        "update task set title = $4, contract_version = $3, rounds_max = $5, reports_max = $6,
             callback_url = $7, version = version + 1, updated_at = now(),
             state = $8, current_run_id = $9
         where project_id = $1 and id = $2",
        key.project_id,
        key.task.as_uuid(),
        version,
        amendment.title,
        small(amendment.rounds_max),
        small(amendment.reports_max),
        amendment.callback_url,
        state.as_str(),
        amendment.preflight.map(|it| it.as_uuid())
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
