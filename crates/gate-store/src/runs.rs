//! Runs and their queue: lease, give back, read. Concluding one is in `conclude.rs`.
//!
//! A lease is fenced by a random token: a verdict is recorded only by removing the queue row that
//! still carries it. Whoever comes late writes nothing.

use std::time::Duration;

use chrono::{DateTime, Utc};
use gate_core::{
    BaselineTests, LeaseToken, ReportId, Round, RunId, Sha256Digest, TaskId, TaskState,
};
use serde_json::json;
use uuid::Uuid;

use crate::words::{count, digest, task_state};
use crate::{EventStamp, Origin, Store, StoreError, baseline_tests, events};

/// The right to conclude one run. Only the queue makes one; concluding a run uses it up.
#[derive(Debug)]
pub struct Lease {
    pub(crate) project_id: i64,
    pub(crate) task: TaskId,
    pub(crate) run: RunId,
    pub(crate) token: LeaseToken,
}

/// A leased run with all that its worker needs.
#[derive(Debug)]
pub struct LeasedRun {
    /// The right to conclude it.
    pub lease: Lease,
    /// The slug of its project.
    pub project: String,
    /// What it is about.
    pub subject: Subject,
    /// What the contract's tests did on its untouched baseline, where they were run there.
    pub baseline_tests: Vec<BaselineTests>,
    /// The contract version that it judges by.
    pub contract_version: u32,
    /// Of the contract's text.
    pub contract_sha256: Sha256Digest,
    /// The contract's text.
    pub contract_text: String,
    /// How the contract is written.
    pub contract_media_type: String,
    /// The gate's n-th try, from 1.
    pub attempt: u32,
    /// The reporter's tries.
    pub round: Round,
    /// The request that brought the report, or the contract.
    pub request_id: Option<String>,
    /// The trace that it belongs to.
    pub traceparent: Option<String>,
}

/// What a run is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A report, which it judges.
    Report {
        /// The report.
        id: ReportId,
        /// Exactly as it was posted.
        body: String,
    },
    /// The contract, which it proves on its baseline.
    Preflight {
        /// Where the task goes then.
        opens: TaskState,
    },
}

impl Subject {
    pub(crate) fn read(
        report: Option<(Uuid, String)>,
        opens: Option<&str>,
    ) -> Result<Self, StoreError> {
        match (report, opens) {
            (Some((id, body)), _) => Ok(Self::Report { id: ReportId::from_uuid(id), body }),
            (None, opens) => Ok(Self::Preflight { opens: task_state(opens.unwrap_or_default())? }),
        }
    }

    /// The report that it is about.
    #[must_use]
    pub const fn report(&self) -> Option<ReportId> {
        match self {
            Self::Report { id, .. } => Some(*id),
            Self::Preflight { .. } => None,
        }
    }
}

/// The durable record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Leads its key.
    pub project_id: i64,
    /// Names it in paths.
    pub id: RunId,
    /// The task that it concerns.
    pub task: TaskId,
    /// The report that it judges; none of one that proves a contract on its baseline.
    pub report: Option<ReportId>,
    /// The contract version that it judges by.
    pub contract_version: u32,
    /// `queued`, `running`, `judged`, or `cancelled`.
    pub state: String,
    /// The gate's tries so far.
    pub attempts: u32,
    /// When it was queued.
    pub created_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

impl Lease {
    /// The run that may be concluded.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// The task that it concerns.
    #[must_use]
    pub const fn task(&self) -> TaskId {
        self.task
    }

    /// The project that it belongs to.
    #[must_use]
    pub const fn project_id(&self) -> i64 {
        self.project_id
    }

    /// What a heartbeat must still report for this lease to be alive.
    #[must_use]
    pub const fn token(&self) -> LeaseToken {
        self.token
    }
}

impl Store {
    /// Leases up to `runs_max` runs for a worker, the fairest first. None while a suspect waits: the worker runs dry, and takes it alone.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lease_next_runs(
        &self,
        worker: i32,
        runs_max: u32,
    ) -> Result<Vec<LeasedRun>, StoreError> {
        // One transaction: a lease that could not be read back was never taken.
        let mut tx = self.pool.begin().await?;
        let leased = sqlx::query!(
            "with next as materialized (
                 select run_id from gate_queue
                 where state = 'ready' and crashes < 2
                   and not exists (select from gate_queue where state = 'ready' and crashes >= 2)
                 order by virtual_time, run_id limit $2 for update skip locked)
             update gate_queue q
             set state = 'running', attempt = attempt + 1, lease_token = gen_random_uuid(),
                 worker_id = $1, leased_at = now()
             from next where q.run_id = next.run_id
             returning q.run_id",
            worker,
            i64::from(runs_max)
        )
        .fetch_all(&mut *tx)
        .await?;
        let ids: Vec<Uuid> = leased.into_iter().map(|it| it.run_id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let runs = leased_runs(&mut tx, worker, &ids).await?;
        tx.commit().await?;
        Ok(runs)
    }

    /// Leases a run that was with two workers when they died, for a worker that has nothing else: if it kills this one, too, it takes nobody's run with it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn lease_suspect_run(&self, worker: i32) -> Result<Option<LeasedRun>, StoreError> {
        let mut tx = self.pool.begin().await?;
        let leased = sqlx::query!(
            "with next as materialized (
                 select run_id from gate_queue where state = 'ready' and crashes >= 2
                 order by virtual_time, run_id limit 1 for update skip locked)
             update gate_queue q
             set state = 'running', attempt = attempt + 1, lease_token = gen_random_uuid(),
                 worker_id = $1, leased_at = now()
             from next where q.run_id = next.run_id
             returning q.run_id",
            worker
        )
        .fetch_optional(&mut *tx)
        .await?;
        let Some(leased) = leased else { return Ok(None) };
        let run = leased_runs(&mut tx, worker, &[leased.run_id]).await?.pop();
        tx.commit().await?;
        Ok(run)
    }

    /// Puts a run back into the queue after a fault of the gate; the attempt stays counted.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`].
    pub async fn give_back_run(
        &self,
        lease: Lease,
        delay: Duration,
        reason: &str,
        origin: &Origin,
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        let seconds = delay.as_secs_f64();
        let row = sqlx::query!(
            "update gate_queue
             set state = case when $3 > 0::float8 then 'waiting' else 'ready' end,
                 run_at = now() + make_interval(secs => $3),
                 lease_token = null, worker_id = null, leased_at = null
             where run_id = $1 and lease_token = $2 and state = 'running'
             returning attempt",
            lease.run.as_uuid(),
            lease.token.as_uuid(),
            seconds
        )
        .fetch_optional(&mut *tx)
        .await?
        .ok_or(StoreError::LeaseLost)?;
        let data = json!({ "attempt": row.attempt, "reason": reason, "delay_seconds": seconds });
        let retried = events::about_run("run.retried", lease.task, lease.run, data);
        let _stamp: EventStamp =
            events::append(&mut tx, lease.project_id, &retried, origin).await?;
        tx.commit().await?;
        self.announce_work().await;
        Ok(())
    }

    /// Puts a run back because this worker stops; as if it had never been leased.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`].
    pub async fn return_run(&self, lease: Lease) -> Result<(), StoreError> {
        let returned = sqlx::query!(
            "update gate_queue
             set state = 'ready', attempt = attempt - 1, lease_token = null, worker_id = null,
                 leased_at = null
             where run_id = $1 and lease_token = $2 and state = 'running'",
            lease.run.as_uuid(),
            lease.token.as_uuid()
        )
        .execute(&self.pool)
        .await?;
        if returned.rows_affected() == 0 {
            return Err(StoreError::LeaseLost);
        }
        self.announce_work().await;
        Ok(())
    }

    /// One run; `within` is the only project that the caller may see.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn run(&self, within: Option<i64>, id: RunId) -> Result<Run, StoreError> {
        sqlx::query_as!(
            RunRow,
            r#"select r.project_id, r.id, r.task_id, r.report_id, r.contract_version,
                   case when q.state = 'running' then 'running' else r.state end as "state!",
                   coalesce(q.attempt, r.attempts) as "attempts!", r.created_at, r.finished_at
               from gate_run r left join gate_queue q on q.run_id = r.id
               where r.id = $1 and ($2::bigint is null or r.project_id = $2)"#,
            id.as_uuid(),
            within
        )
        .fetch_optional(&self.pool)
        .await?
        .map(Into::into)
        .ok_or(StoreError::NotFound { what: "gate run" })
    }

    /// The runs of a task, the newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn runs(
        &self,
        project_id: i64,
        task: TaskId,
        before: Option<RunId>,
        rows_max: u32,
    ) -> Result<Vec<Run>, StoreError> {
        let rows = sqlx::query_as!(
            RunRow,
            r#"select r.project_id, r.id, r.task_id, r.report_id, r.contract_version,
                   case when q.state = 'running' then 'running' else r.state end as "state!",
                   coalesce(q.attempt, r.attempts) as "attempts!", r.created_at, r.finished_at
               from gate_run r left join gate_queue q on q.run_id = r.id
               where r.project_id = $1 and r.task_id = $2 and ($3::uuid is null or r.id < $3)
               order by r.id desc limit $4"#,
            project_id,
            task.as_uuid(),
            before.map(|it| it.as_uuid()),
            i64::from(rows_max)
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}

async fn leased_runs(
    tx: &mut sqlx::PgTransaction<'_>,
    worker: i32,
    ids: &[Uuid],
) -> Result<Vec<LeasedRun>, StoreError> {
    let rows = sqlx::query!(
        r#"select q.run_id, q.project_id, q.task_id, q.lease_token as "lease_token!", q.attempt,
                   p.slug, g.report_id, r.body as "report_body?", g.opens,
                   coalesce(r.request_id, g.request_id) as request_id,
                   coalesce(r.traceparent, g.traceparent) as traceparent,
                   coalesce(r.number, t.reports) as "reports!", c.version as contract_version, c.sha256, c.body as contract_body,
                   c.media_type, t.rounds, t.rounds_max, t.reports_max
               from gate_queue q
               join project p on p.id = q.project_id
               join task t on t.project_id = q.project_id and t.id = q.task_id
               join gate_run g on g.project_id = q.project_id and g.id = q.run_id
               left join completion_report r on r.project_id = g.project_id and r.id = g.report_id
               join contract c on c.project_id = g.project_id and c.task_id = g.task_id
                              and c.version = g.contract_version
               where q.run_id = any ($1) and q.worker_id = $2 and q.state = 'running'
               order by q.virtual_time"#,
        ids,
        worker
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut tests = baseline_tests::of_runs(tx, ids).await?;
    rows.into_iter()
        .map(|row| {
            let report = row.report_id.zip(row.report_body);
            Ok(LeasedRun {
                lease: Lease {
                    project_id: row.project_id,
                    task: TaskId::from_uuid(row.task_id),
                    run: RunId::from_uuid(row.run_id),
                    token: LeaseToken::from_uuid(row.lease_token),
                },
                project: row.slug,
                subject: Subject::read(report, row.opens.as_deref())?,
                baseline_tests: tests.remove(&row.run_id).unwrap_or_default(),
                contract_version: count(row.contract_version),
                contract_sha256: digest("contract.sha256", &row.sha256)?,
                contract_text: row.contract_body,
                contract_media_type: row.media_type,
                attempt: count(row.attempt),
                round: Round {
                    number: count(row.rounds) + 1,
                    rounds_max: count(row.rounds_max),
                    reports: count(row.reports),
                    reports_max: count(row.reports_max),
                },
                request_id: row.request_id,
                traceparent: row.traceparent,
            })
        })
        .collect()
}

struct RunRow {
    project_id: i64,
    id: Uuid,
    task_id: Uuid,
    report_id: Option<Uuid>,
    contract_version: i32,
    state: String,
    attempts: i32,
    created_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
}

impl From<RunRow> for Run {
    fn from(row: RunRow) -> Self {
        Self {
            project_id: row.project_id,
            id: RunId::from_uuid(row.id),
            task: TaskId::from_uuid(row.task_id),
            report: row.report_id.map(ReportId::from_uuid),
            contract_version: count(row.contract_version),
            state: row.state,
            attempts: count(row.attempts),
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}
