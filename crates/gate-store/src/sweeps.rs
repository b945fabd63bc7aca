//! What a crash leaves behind, and what grows old: lost runs, due runs, dead workers, used-up keys.

use gate_core::{LeaseToken, ReportId, Round, RunId, TaskId, TaskState};

use crate::runs::Lease;
use crate::words::count;
use crate::workers::{SILENT_WORKER_LOST_AFTER, UNLOCKED_WORKER_LOST_AFTER, WORKER_LOCK_CLASS};
use crate::{Store, StoreError};

/// Idempotency keys are kept for a day; a report's key lives as long as its report.
const IDEMPOTENCY_KEY_HOURS: i32 = 24;
/// Lost runs that one sweep takes over.
const LOST_RUNS_MAX: i64 = 100;

/// A run whose worker is gone, taken over: the old lease leads nowhere.
#[derive(Debug)]
pub struct LostRun {
    /// The right to conclude it, or to give it back.
    pub lease: Lease,
    /// The workers that it has lost so far, this one included.
    pub crashes: u32,
    /// The reporter's tries.
    pub round: Round,
    /// The contract version that it judges by.
    pub contract_version: u32,
    /// The worker that is gone.
    pub worker: Option<i32>,
    /// The slug of its project.
    pub project: String,
    /// The report that it judges; none of one that proves a contract on its baseline.
    pub report: Option<ReportId>,
    /// Where the task goes when its contract is proven; none of one that judges a report.
    pub opens: Option<TaskState>,
    /// The request that brought the report, or the contract.
    pub request_id: Option<String>,
    /// The trace that it belongs to.
    pub traceparent: Option<String>,
}

impl Store {
    /// Takes over the runs of workers that are gone: their lock is free, or they have been silent. What is taken
    /// over has no worker; it is lost again only when whoever took it does not settle it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn take_over_lost_runs(&self) -> Result<Vec<LostRun>, StoreError> {
        let rows = sqlx::query!(
            r#"with lost as materialized (
                 select q.run_id, q.worker_id
                 from gate_queue q left join worker w on w.id = q.worker_id
                 where q.state = 'running'
                   and (w.id is null
                        and (q.worker_id is not null or q.leased_at < now() - make_interval(secs => $2))
                     or w.last_seen_at < now() - make_interval(secs => $2)
                     or w.last_seen_at < now() - make_interval(secs => $3)
                        and not exists (
                          select from pg_locks l
                          where l.locktype = 'advisory' and l.granted and l.objsubid = 2
                            and l.classid::bigint = $1 and l.objid::bigint = q.worker_id
                            and l.database = (select oid from pg_database where datname = current_database())))
                 limit $4 for update of q skip locked),
               taken as (
                 update gate_queue q
                 set lease_token = gen_random_uuid(), worker_id = null, leased_at = now(),
                     crashes = crashes + 1
                 from lost where q.run_id = lost.run_id
                 returning q.run_id, q.project_id, q.task_id, q.lease_token, q.crashes, lost.worker_id)
               select taken.run_id, taken.project_id, taken.task_id,
                      taken.lease_token as "lease_token!", taken.crashes, taken.worker_id as "worker_id?",
                      t.rounds, t.rounds_max, t.reports_max, g.contract_version, p.slug,
                      g.report_id, g.opens,
                      coalesce(r.number, t.reports) as "reports!",
                      coalesce(r.request_id, g.request_id) as request_id,
                      coalesce(r.traceparent, g.traceparent) as traceparent
               from taken
               join project p on p.id = taken.project_id
               join task t on t.project_id = taken.project_id and t.id = taken.task_id
               join gate_run g on g.project_id = taken.project_id and g.id = taken.run_id
               left join completion_report r on r.project_id = g.project_id and r.id = g.report_id"#,
            i64::from(WORKER_LOCK_CLASS),
            SILENT_WORKER_LOST_AFTER.as_secs_f64(),
            UNLOCKED_WORKER_LOST_AFTER.as_secs_f64(),
            LOST_RUNS_MAX
        )
        .fetch_all(&self.pool)
        .await?;
        let lost = rows.into_iter().map(|row| LostRun {
            lease: Lease {
                project_id: row.project_id,
                task: TaskId::from_uuid(row.task_id),
                run: RunId::from_uuid(row.run_id),
                token: LeaseToken::from_uuid(row.lease_token),
            },
            crashes: count(row.crashes),
            round: Round {
                number: count(row.rounds) + 1,
                rounds_max: count(row.rounds_max),
                reports: count(row.reports),
                reports_max: count(row.reports_max),
            },
            contract_version: count(row.contract_version),
            worker: row.worker_id,
            project: row.slug,
            report: row.report_id.map(ReportId::from_uuid),
            opens: row.opens.as_deref().and_then(TaskState::from_word),
            request_id: row.request_id,
            traceparent: row.traceparent,
        });
        Ok(lost.collect())
    }

    /// Makes the runs ready whose delay is over; tells how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn promote_due_runs(&self) -> Result<u64, StoreError> {
        let promoted = sqlx::query!(
            "update gate_queue set state = 'ready'
             where run_id in (select run_id from gate_queue
                              where state = 'waiting' and run_at <= now()
                              order by run_at limit 1000 for update skip locked)"
        )
        .execute(&self.pool)
        .await?
        .rows_affected();
        if promoted > 0 {
            self.announce_work().await;
        }
        Ok(promoted)
    }

    /// Removes the rows of workers that are gone and have no run any more, and idempotency keys that are too old.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn remove_the_old(&self) -> Result<(), StoreError> {
        sqlx::query!(
            "delete from worker w
             where w.last_seen_at < now() - interval '1 hour'
               and not exists (select from gate_queue q where q.worker_id = w.id and q.state = 'running')"
        )
        .execute(&self.pool)
        .await?;
        sqlx::query!(
            "delete from idempotency_key k
             where created_at < now() - make_interval(hours => $1)
               and not exists (select from completion_report r where r.id = k.resource_id)",
            IDEMPOTENCY_KEY_HOURS
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// For tests: makes a worker look as if it had been silent for long.
    ///
    /// # Errors
    /// When the database fails.
    #[cfg(feature = "testing")]
    pub async fn pretend_silence(&self, worker: i32) -> Result<(), StoreError> {
        // Not checked at compile time: `.sqlx` holds the queries of the product only.
        sqlx::query("update worker set last_seen_at = now() - interval '1 day' where id = $1")
            .bind(worker)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// For tests: makes every run due that waits for its next attempt.
    ///
    /// # Errors
    /// When the database fails.
    #[cfg(feature = "testing")]
    pub async fn pretend_delays_are_over(&self) -> Result<(), StoreError> {
        sqlx::query("update gate_queue set run_at = now() where state = 'waiting'")
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
