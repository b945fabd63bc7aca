//! The outbox: callbacks are written with their event, leased, delivered, and logged.
//!
//! A callback waits until the one before it of the same task was delivered or given up, so a
//! receiver sees one task's story in order. Other tasks are not held up.

use std::time::Duration;

use chrono::{DateTime, Utc};
use gate_core::{CallbackId, LeaseToken, TaskId};
use uuid::Uuid;

use crate::words::{big, count, long};
use crate::{EventStamp, Store, StoreError};

/// How long one worker may take for one delivery before another one tries.
const CALLBACK_LEASE: Duration = Duration::from_secs(60);
/// Deliveries to one URL under way at once, so that a receiver that hangs cannot take every slot.
const IN_FLIGHT_PER_URL_MAX: i64 = 4;
/// Callbacks and attempts that the delivery log of one task shows.
const LOG_CALLBACKS_MAX: i64 = 200;
const LOG_ATTEMPTS_MAX: i64 = 50;

/// A callback that is due, leased for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedCallback {
    /// Leads its key.
    pub project_id: i64,
    /// The `webhook-id`.
    pub id: CallbackId,
    /// The task that it tells of.
    pub task: TaskId,
    /// Where it goes.
    pub url: String,
    /// The exact bytes to send.
    pub body: String,
    /// Failed attempts of this schedule so far.
    pub step: u32,
    /// Which callback secret of the project is in force.
    pub secret_generation: u32,
    /// Until when the secret before it is valid, too.
    pub previous_secret_until: Option<DateTime<Utc>>,
    token: LeaseToken,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// How long it took.
    pub duration_ms: u64,
    /// What the receiver answered.
    pub status: Option<u16>,
    /// Why it counts as failed; none where it was delivered.
    pub error: Option<String>,
    /// When it is tried again after a failure; none gives it up.
    pub retry_after: Option<Duration>,
}

/// A callback with its delivery log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// The `webhook-id`.
    pub id: CallbackId,
    /// What it tells.
    pub kind: String,
    /// Where it goes.
    pub url: String,
    /// `due`, `delivered`, or `dead`.
    pub state: String,
    /// When it is tried next.
    pub next_at: DateTime<Utc>,
    /// The oldest first.
    pub attempts: Vec<CallbackAttempt>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// One logged attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackAttempt {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// How long it took.
    pub duration_ms: u64,
    /// What the receiver answered.
    pub status: Option<u16>,
    /// Why it counts as failed.
    pub error: Option<String>,
}

/// A callback before it is written.
pub(crate) struct NewCallback<'a> {
    pub(crate) task: TaskId,
    pub(crate) kind: &'static str,
    pub(crate) url: &'a str,
    pub(crate) stamp: EventStamp,
}

/// Writes a callback in the transaction of its event.
pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    project_id: i64,
    callback: &NewCallback<'_>,
    body: String,
) -> Result<CallbackId, StoreError> {
    let id = Uuid::now_v7();
    sqlx::query!(
        "insert into callback (project_id, id, task_id, sequence, kind, url, body)
         values ($1, $2, $3, $4, $5, $6, $7)",
        project_id,
        id,
        callback.task.as_uuid(),
        long(callback.stamp.sequence),
        callback.kind,
        callback.url,
        body
    )
    .execute(&mut **tx)
    .await?;
    Ok(CallbackId::from_uuid(id))
}

impl Store {
    /// Leases up to `callbacks_max` callbacks that are due.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lease_due_callbacks(
        &self,
        callbacks_max: u32,
    ) -> Result<Vec<LeasedCallback>, StoreError> {
        let rows = sqlx::query!(
            r#"with candidate as materialized (
                 select c.project_id, c.id, row_number() over (partition by c.url order by c.next_at, c.id)
                          + (select count(*) from callback f
                             where f.url = c.url and f.lease_token is not null and f.locked_until > now()) as place
                 from callback c
                 where c.state = 'due' and c.next_at <= now()
                   and (c.locked_until is null or c.locked_until <= now())
                   and not exists (
                     select from callback e
                     where e.project_id = c.project_id and e.task_id = c.task_id
                       and e.sequence < c.sequence and e.state = 'due')
                 order by c.next_at, c.id limit 1000),
               next as materialized (
                 select c.project_id, c.id from callback c
                 join candidate d on d.project_id = c.project_id and d.id = c.id
                 where d.place <= $2 and c.state = 'due'
                   and (c.locked_until is null or c.locked_until <= now())
                 order by c.next_at, c.id limit $1 for update of c skip locked)
             update callback c
             set lease_token = gen_random_uuid(), locked_until = now() + make_interval(secs => $3)
             from next, project p
             where c.project_id = next.project_id and c.id = next.id and p.id = c.project_id
             returning c.project_id, c.id, c.task_id, c.url, c.body, c.step,
                 c.lease_token as "lease_token!", p.secret_generation, p.secret_rotated_at"#,
            i64::from(callbacks_max),
            IN_FLIGHT_PER_URL_MAX,
            CALLBACK_LEASE.as_secs_f64()
        )
        .fetch_all(&self.pool)
        .await?;
        let overlap = chrono::Duration::hours(crate::projects::SECRET_OVERLAP_HOURS);
        let leased = rows.into_iter().map(|row| LeasedCallback {
            project_id: row.project_id,
            id: CallbackId::from_uuid(row.id),
            task: TaskId::from_uuid(row.task_id),
            url: row.url,
            body: row.body,
            step: count(row.step),
            secret_generation: count(row.secret_generation),
            previous_secret_until: row.secret_rotated_at.map(|it| it + overlap),
            token: LeaseToken::from_uuid(row.lease_token),
        });
        Ok(leased.collect())
    }

    /// Records one attempt, and what follows from it.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when it was redelivered, or another worker has it by now: the attempt is logged, and nothing follows from it.
    pub async fn record_delivery(
        &self,
        callback: &LeasedCallback,
        delivery: &Delivery,
    ) -> Result<(), StoreError> {
        let state = match (&delivery.error, delivery.retry_after) {
            (None, _) => "delivered",
            (Some(_), Some(_)) => "due",
            (Some(_), None) => "dead",
        };
        let delay = delivery.retry_after.unwrap_or_default();
        let mut tx = self.pool.begin().await?;
        let recorded = sqlx::query!(
            r#"with mine as (
                 select coalesce(lease_token = $3, false) as held from callback
                 where project_id = $1 and id = $2 for update)
             update callback c
             set attempts = attempts + 1,
                 step = case when held then step + 1 else step end,
                 state = case when held then $4 else state end,
                 next_at = case when held then now() + make_interval(secs => $5) else next_at end,
                 lease_token = case when held then null else lease_token end,
                 locked_until = case when held then null else locked_until end
             from mine where c.project_id = $1 and c.id = $2
             returning c.attempts, mine.held as "held!""#,
            callback.project_id,
            callback.id.as_uuid(),
            callback.token.as_uuid(),
            state,
            delay.as_secs_f64()
        )
        .fetch_optional(&mut *tx)
        .await?
        .ok_or(StoreError::LeaseLost)?;
        sqlx::query!(
            "insert into callback_attempt (project_id, callback_id, number, at, duration_ms, status, error)
             values ($1, $2, $3, now(), $4, $5, $6)",
            callback.project_id,
            callback.id.as_uuid(),
            recorded.attempts,
            long(delivery.duration_ms),
            delivery.status.map(i32::from),
            delivery.error
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        if !recorded.held {
            return Err(StoreError::LeaseLost);
        }
        if state != "due" {
            // The next callback of this task may have waited for this one.
            self.announce_callbacks().await;
        }
        Ok(())
    }

    /// Makes a callback due now, with a fresh schedule, whatever became of it; an attempt that is under way decides nothing any more.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn redeliver(
        &self,
        within: Option<i64>,
        id: CallbackId,
    ) -> Result<TaskId, StoreError> {
        let task = sqlx::query_scalar!(
            "update callback
             set state = 'due', next_at = now(), step = 0, lease_token = null, locked_until = null
             where id = $1 and ($2::bigint is null or project_id = $2) returning task_id",
            id.as_uuid(),
            within
        )
        .fetch_optional(&self.pool)
        .await?
        .ok_or(StoreError::NotFound { what: "callback" })?;
        self.announce_callbacks().await;
        Ok(TaskId::from_uuid(task))
    }

    /// The callbacks of a task with their delivery logs, the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn callbacks(
        &self,
        project_id: i64,
        task: TaskId,
    ) -> Result<Vec<Callback>, StoreError> {
        let rows = sqlx::query!(
            "select id, kind, url, state, next_at, created_at from
               (select * from callback where project_id = $1 and task_id = $2
                order by sequence desc limit $3) newest
             order by sequence",
            project_id,
            task.as_uuid(),
            LOG_CALLBACKS_MAX
        )
        .fetch_all(&self.pool)
        .await?;
        let mut callbacks = Vec::with_capacity(rows.len());
        for row in rows {
            callbacks.push(Callback {
                id: CallbackId::from_uuid(row.id),
                kind: row.kind,
                url: row.url,
                state: row.state,
                next_at: row.next_at,
                attempts: self.callback_attempts(project_id, row.id).await?,
                created_at: row.created_at,
            });
        }
        Ok(callbacks)
    }

    async fn callback_attempts(
        &self,
        project_id: i64,
        callback: Uuid,
    ) -> Result<Vec<CallbackAttempt>, StoreError> {
        let rows = sqlx::query!(
            "select at, duration_ms, status, error from
               (select * from callback_attempt where project_id = $1 and callback_id = $2
                order by number desc limit $3) newest
             order by number",
            project_id,
            callback,
            LOG_ATTEMPTS_MAX
        )
        .fetch_all(&self.pool)
        .await?;
        let attempts = rows.into_iter().map(|row| CallbackAttempt {
            at: row.at,
            duration_ms: big(row.duration_ms),
            status: row.status.and_then(|it| u16::try_from(it).ok()),
            error: row.error,
        });
        Ok(attempts.collect())
    }
}
