//! Queueing a run: its durable record, and its place among those of all projects.

use gate_core::{ReportId, RunId, TaskState};

use crate::words::small;
use crate::{Origin, StoreError, TaskKey};

/// What one run costs in the fairness order, in microseconds, before its project's weight divides it.
const RUN_COST_MICROSECONDS: i32 = 1_000_000;

/// A run to be queued.
pub(crate) struct NewRun<'a> {
    pub(crate) id: RunId,
    pub(crate) contract_version: u32,
    pub(crate) subject: NewSubject,
    pub(crate) origin: &'a Origin,
}

/// What it is about.
#[derive(Clone, Copy)]
pub(crate) enum NewSubject {
    Report(ReportId),
    /// The contract itself; the task goes there when it is proven.
    Preflight(TaskState),
}

/// Start-time fair queueing: a project that floods the queue gets ever later tags, everyone else's stay near now.
pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    run: &NewRun<'_>,
) -> Result<(), StoreError> {
    let (report, opens) = match run.subject {
        NewSubject::Report(report) => (Some(report.as_uuid()), None),
        NewSubject::Preflight(opens) => (None, Some(opens.as_str())),
    };
    sqlx::query!(
        "insert into gate_run (project_id, id, task_id, report_id, contract_version, opens,
             request_id, traceparent)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        key.project_id,
        run.id.as_uuid(),
        key.task.as_uuid(),
        report,
        small(run.contract_version),
        opens,
        run.origin.request_id,
        run.origin.traceparent
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "with tag as (
             update project
             set virtual_time = greatest(virtual_time, (extract(epoch from now()) * 1000000)::bigint)
                              + $4 / weight
             where id = $2 returning virtual_time)
         insert into gate_queue (run_id, project_id, task_id, virtual_time)
         select $1, $2, $3, virtual_time from tag",
        run.id.as_uuid(),
        key.project_id,
        key.task.as_uuid(),
        RUN_COST_MICROSECONDS
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
