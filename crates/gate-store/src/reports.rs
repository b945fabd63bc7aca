//! Accepting a completion report: report, queued run, task state, event, and wake-up; all or nothing.

use chrono::{DateTime, Utc};
use gate_core::{
    CallbackId, NextStep, ReasonCode, ReportId, ReportStatus, RunId, Sha256Digest, TaskId,
    TaskState,
};
use serde_json::json;

use crate::callbacks::{self, NewCallback};
use crate::queue::{self, NewRun, NewSubject};
use crate::words::{count, small, task_state};
use crate::{
    EventStamp, IdempotencyKey, Made, Origin, Store, StoreError, TaskKey, events, idempotency,
};

/// A report whose form and claims were checked.
#[derive(Debug)]
pub struct NewReport<'a> {
    /// Made by the gate.
    pub id: ReportId,
    /// Made by the gate; used when the report is judged.
    pub run: RunId,
    /// The contract version that the claims were checked against.
    pub contract_version: u32,
    /// How the work ended.
    pub status: ReportStatus,
    /// Why, for all but success.
    pub reason_code: Option<ReasonCode>,
    /// What follows at once from a report that is not a success.
    pub route: Option<(TaskState, NextStep)>,
    /// Exactly as it was posted.
    pub body: &'a str,
    /// Of the body.
    pub sha256: Sha256Digest,
    /// The client's name for this request.
    pub idempotency: Option<&'a IdempotencyKey>,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedReport {
    /// The report.
    pub report: ReportId,
    /// The run that judges it; none when there is nothing to judge.
    pub run: Option<RunId>,
}

/// A stored report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReport {
    /// The report.
    pub id: ReportId,
    /// The task that it answers.
    pub task: TaskId,
    /// The run that judges it.
    pub run: Option<RunId>,
    /// What followed at once.
    pub next_step: Option<String>,
    /// Exactly as it was posted.
    pub body: String,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
}

impl Store {
    /// Accepts a report, or finds the one that this idempotency key accepted before.
    ///
    /// `callback_body` writes the callback of a report that is routed instead of judged.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::TaskState`], [`StoreError::ReportsExhausted`],
    /// [`StoreError::Stale`] when the contract was amended meanwhile, and those of the idempotency key.
    pub async fn accept_report(
        &self,
        key: TaskKey,
        report: &NewReport<'_>,
        origin: &Origin,
        callback_body: impl FnOnce(EventStamp) -> String + Send,
    ) -> Result<Made<AcceptedReport>, StoreError> {
        let mut tx = self.pool.begin().await?;
        if let Some(name) = report.idempotency
            && let Made::Before(id) = idempotency::take(&mut tx, name, report.id.as_uuid()).await?
        {
            drop(tx);
            let stored = self.report(key.project_id, ReportId::from_uuid(id)).await?;
            return Ok(Made::Before(AcceptedReport { report: stored.id, run: stored.run }));
        }
        let (number, callback_url) = lock_for_report(&mut tx, key, report).await?;
        insert_report(&mut tx, key, number, report, origin).await?;
        let run = match report.route {
            None => {
                let (id, subject) = (report.run, NewSubject::Report(report.id));
                let contract_version = report.contract_version;
                let run = NewRun { id, contract_version, subject, origin };
                queue::insert(&mut tx, key, &run).await?;
                Some(report.run)
            }
            Some(_) => None,
        };
        move_task(&mut tx, key, report.route, run).await?;
        let stamp = append_event(&mut tx, key, report, origin).await?;
        if let (Some(_), Some(url)) = (report.route, callback_url) {
            let callback = NewCallback { task: key.task, kind: "report.routed", url: &url, stamp };
            let body = callback_body(stamp);
            let _id: CallbackId =
                callbacks::insert(&mut tx, key.project_id, &callback, body).await?;
        }
        tx.commit().await?;
        // After the commit: a NOTIFY inside of it would make all commits wait for each other.
        self.announce_task(key.task).await;
        if run.is_some() {
            self.announce_work().await;
        } else {
            self.announce_callbacks().await;
        }
        Ok(Made::New(AcceptedReport { report: report.id, run }))
    }

    /// One report.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn report(&self, project_id: i64, id: ReportId) -> Result<StoredReport, StoreError> {
        let row = sqlx::query!(
            "select id, task_id, run_id, next_step, body, created_at from completion_report
             where project_id = $1 and id = $2",
            project_id,
            id.as_uuid()
        )
        .fetch_optional(&self.pool)
        .await?
        .ok_or(StoreError::NotFound { what: "completion report" })?;
        Ok(StoredReport {
            id: ReportId::from_uuid(row.id),
            task: TaskId::from_uuid(row.task_id),
            run: row.run_id.map(RunId::from_uuid),
            next_step: row.next_step,
            body: row.body,
            created_at: row.created_at,
        })
    }
}

/// Locks the task and gives the report its number; also the URL that is called back.
async fn lock_for_report(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    report: &NewReport<'_>,
) -> Result<(i32, Option<String>), StoreError> {
    let row = sqlx::query!(
        "select state, contract_version, reports, reports_max, version, callback_url from task
         where project_id = $1 and id = $2 for update",
        key.project_id,
        key.task.as_uuid()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(StoreError::NotFound { what: "task" })?;
    if !task_state(&row.state)?.takes_reports() {
        return Err(StoreError::TaskState { state: row.state });
    }
    if row.reports >= row.reports_max {
        return Err(StoreError::ReportsExhausted { reports_max: count(row.reports_max) });
    }
    if count(row.contract_version) != report.contract_version {
        return Err(StoreError::Stale { version: crate::words::big(row.version) });
    }
    Ok((row.reports + 1, row.callback_url))
}

async fn insert_report(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    number: i32,
    report: &NewReport<'_>,
    origin: &Origin,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into completion_report (project_id, id, task_id, number, status, reason_code,
             contract_version, body, sha256, next_step, run_id, created_by, request_id, traceparent)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        key.project_id,
        report.id.as_uuid(),
        key.task.as_uuid(),
        number,
        report.status.as_str(),
        report.reason_code.map(ReasonCode::as_str),
        small(report.contract_version),
        report.body,
        report.sha256.as_bytes(),
        report.route.map(|(_, step)| step.as_str()),
        report.route.is_none().then(|| report.run.as_uuid()),
        origin.actor,
        origin.request_id,
        origin.traceparent
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn move_task(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    route: Option<(TaskState, NextStep)>,
    run: Option<RunId>,
) -> Result<(), StoreError> {
    let state = route.map_or(TaskState::Gating, |(state, _)| state);
    sqlx::query!(
        "update task set state = $3, current_run_id = $4, reports = reports + 1,
             version = version + 1, updated_at = now()
         where project_id = $1 and id = $2",
        key.project_id,
        key.task.as_uuid(),
        state.as_str(),
        run.map(|it| it.as_uuid())
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn append_event(
    tx: &mut sqlx::PgTransaction<'_>,
    key: TaskKey,
    report: &NewReport<'_>,
    origin: &Origin,
) -> Result<EventStamp, StoreError> {
    let mut data = json!({
        "report": report.id.to_string(),
        "status": report.status.as_str(),
        "digest": report.sha256.to_string(),
    });
    let event = match report.route {
        None => events::about_run("report.accepted", key.task, report.run, data),
        Some((state, step)) => {
            data["reason_code"] = report.reason_code.map(ReasonCode::as_str).into();
            data["task_state"] = state.as_str().into();
            data["next_step"] = step.as_str().into();
            events::about_task("report.routed", key.task, data)
        }
    };
    events::append(tx, key.project_id, &event, origin).await
}
