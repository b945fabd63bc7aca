//! Concluding a run: its verdict with all that follows from it, in one transaction.

use std::time::Duration;

use chrono::{DateTime, Utc};
use gate_core::{CallbackId, Decision, TaskState, Verdict};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::callbacks::{self, NewCallback};
use crate::runs::Lease;
use crate::{EventStamp, Origin, Store, StoreError, baseline_tests, events, verdicts};

/// How long a verdict waits for a database that does not answer.
const RECORD_PATIENCE: Duration = Duration::from_secs(120);
const RECORD_RETRY_EVERY: Duration = Duration::from_secs(1);

impl Store {
    /// Records the verdict: findings, executions, task state, events, and callback, all or nothing.
    ///
    /// A database that does not answer is waited for: the work is done, and the lease fences a second try.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when somebody else concluded the run; nothing was written then.
    pub async fn record_verdict(
        &self,
        lease: Lease,
        verdict: &Verdict,
        origin: &Origin,
        callback_body: impl Fn(EventStamp) -> String + Send + Sync,
    ) -> Result<EventStamp, StoreError> {
        let patience_ends = Instant::now() + RECORD_PATIENCE;
        loop {
            match self.record_verdict_once(&lease, verdict, origin, &callback_body).await {
                Err(error) if error.is_unavailable() && Instant::now() < patience_ends => {
                    tracing::warn!(run.id = %lease.run, error = %gate_core::Chain(&error),
                        "the verdict of gate run {} waits for the database", lease.run);
                    sleep(RECORD_RETRY_EVERY).await;
                }
                ended => return ended,
            }
        }
    }

    async fn record_verdict_once(
        &self,
        lease: &Lease,
        verdict: &Verdict,
        origin: &Origin,
        callback_body: &(impl Fn(EventStamp) -> String + Send + Sync),
    ) -> Result<EventStamp, StoreError> {
        let mut tx = self.pool.begin().await?;
        let callback_url = lock_task(&mut tx, lease).await?;
        let taken = leave_queue(&mut tx, lease).await?;
        verdicts::insert(&mut tx, lease, verdict, &taken).await?;
        baseline_tests::insert(&mut tx, lease, &taken, &verdict.baseline_tests).await?;
        conclude_task(&mut tx, lease, verdict, &taken).await?;
        let stamp = append_events(&mut tx, lease, verdict, &taken, origin).await?;
        if let Some(url) = callback_url {
            let callback =
                NewCallback { task: lease.task, kind: taken.event_kind(), url: &url, stamp };
            let body = callback_body(stamp);
            let _id: CallbackId =
                callbacks::insert(&mut tx, lease.project_id, &callback, body).await?;
        }
        tx.commit().await?;
        self.announce_task(lease.task).await;
        self.announce_callbacks().await;
        Ok(stamp)
    }
}

/// What the queue knew of a run when it left.
pub(crate) struct Taken {
    pub(crate) attempt: i32,
    pub(crate) worker: Option<i32>,
    pub(crate) leased_at: Option<DateTime<Utc>>,
    pub(crate) contract_version: i32,
    is_preflight: bool,
}

impl Taken {
    const fn event_kind(&self) -> &'static str {
        if self.is_preflight { "preflight.decided" } else { "verdict.decided" }
    }
}

async fn lock_task(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
) -> Result<Option<String>, StoreError> {
    let row = sqlx::query!(
        "select callback_url from task
         where project_id = $1 and id = $2 and current_run_id = $3 and state in ('gating', 'preflight')
         for update",
        lease.project_id,
        lease.task.as_uuid(),
        lease.run.as_uuid()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    Ok(row.callback_url)
}

async fn leave_queue(tx: &mut sqlx::PgTransaction<'_>, lease: &Lease) -> Result<Taken, StoreError> {
    let row = sqlx::query!(
        "delete from gate_queue where run_id = $1 and lease_token = $2 and state = 'running'
         returning attempt, worker_id, leased_at",
        lease.run.as_uuid(),
        lease.token.as_uuid()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    let run = sqlx::query!(
        "update gate_run set state = 'judged', finished_at = now(), attempts = $3
         where project_id = $1 and id = $2 and state = 'queued'
         returning contract_version, report_id",
        lease.project_id,
        lease.run.as_uuid(),
        row.attempt
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    Ok(Taken {
        attempt: row.attempt,
        worker: row.worker_id,
        leased_at: row.leased_at,
        contract_version: run.contract_version,
        is_preflight: run.report_id.is_none(),
    })
}

async fn conclude_task(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    verdict: &Verdict,
    taken: &Taken,
) -> Result<(), StoreError> {
    let rounds = i32::from(verdict.decision == Decision::Fail);
    sqlx::query!(
        "update task set state = $3, current_run_id = null,
             last_run_id = case when $6 then last_run_id else $4 end,
             preflight_run_id = case when $6 then $4 else preflight_run_id end,
             rounds = rounds + $5, version = version + 1, updated_at = now()
         where project_id = $1 and id = $2",
        lease.project_id,
        lease.task.as_uuid(),
        verdict.task_state.as_str(),
        lease.run.as_uuid(),
        rounds,
        taken.is_preflight
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The verdict's event, and the escalation's where a person is called.
async fn append_events(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    verdict: &Verdict,
    taken: &Taken,
    origin: &Origin,
) -> Result<EventStamp, StoreError> {
    let data = json!({
        "decision": verdict.decision.as_str(),
        "next_step": verdict.next_step.as_str(),
        "task_state": verdict.task_state.as_str(),
        "round": verdict.round,
        "findings": verdict.findings.len(),
        "attempt": taken.attempt,
        "worker": taken.worker,
        "leased_at": taken.leased_at,
    });
    let decided = events::about_run(taken.event_kind(), lease.task, lease.run, data);
    let stamp = events::append(tx, lease.project_id, &decided, origin).await?;
    if verdict.task_state == TaskState::NeedsHuman {
        let reason = match verdict.decision {
            Decision::Fail => "rounds_exhausted",
            Decision::Inconclusive | Decision::Pass => "inconclusive",
        };
        let data = json!({ "reason": reason, "round": verdict.round });
        let escalated = events::about_run("task.escalated", lease.task, lease.run, data);
        let _later: EventStamp = events::append(tx, lease.project_id, &escalated, origin).await?;
    }
    Ok(stamp)
}
