//! A database with the schema, and one call for each thing that a test needs in it.

use std::time::Duration;

use gate_core::{
    Blame, Decision, FindingKind, NextStep, ReasonCode, ReportId, ReportStatus, RunId,
    Sha256Digest, TaskId, TaskState, Verdict, without_evidence,
};
use gate_postgres::testing::TestDatabase;
use gate_store::{
    AcceptedReport, Amendment, ContractText, EventStamp, IdempotencyKey, LeasedRun, Made,
    NewReport, NewTask, Origin, Store, StoreError, TaskKey,
};
use sqlx::PgPool;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

const CONNECTIONS_MAX: u32 = 12;
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) const URL: &str = "http://127.0.0.1:9/hooks/gate";

pub(crate) struct Fixture {
    pub(crate) store: Store,
    /// For what no method of the store does: to look, and to make time pass.
    pub(crate) pool: PgPool,
    // Dropped last: the pools use it.
    database: TestDatabase,
}

pub(crate) fn origin() -> Origin {
    Origin { actor: "tests".to_owned(), request_id: None, traceparent: None }
}

pub(crate) fn text(text: &str) -> ContractText {
    let sha256 = Sha256Digest::from_bytes([u8::try_from(text.len()).unwrap(); 32]);
    ContractText { media_type: "application/json", text: text.to_owned(), sha256 }
}

pub(crate) fn body(_stamp: EventStamp) -> String {
    "{}".to_owned()
}

/// A verdict with one finding, unless it is a PASS.
pub(crate) fn verdict(decision: Decision) -> Verdict {
    let judgement = without_evidence(FindingKind::TestFailed, Blame::Reporter, "a test failed");
    let (next_step, task_state, findings) = match decision {
        Decision::Pass => (NextStep::Complete, TaskState::Done, Vec::new()),
        Decision::Fail => (NextStep::Rework, TaskState::Rework, judgement.findings),
        Decision::Inconclusive => (NextStep::NeedsHuman, TaskState::NeedsHuman, judgement.findings),
    };
    Verdict {
        decision,
        next_step,
        task_state,
        round: 1,
        rounds_max: 3,
        findings,
        findings_left_out: 0,
        executions: Vec::new(),
        tree: None,
        isolation: None,
        changes: Vec::new(),
        changes_left_out: 0,
        baseline_tests: Vec::new(),
        feedback: "Mend it.".to_owned(),
        execution_report: "It ran.".to_owned(),
    }
}

impl Fixture {
    pub(crate) async fn new(hint: &str) -> Self {
        let database = TestDatabase::create(hint);
        let store = Store::connect(database.url(), CONNECTIONS_MAX).await.unwrap();
        store.migrate().await.unwrap();
        let pool = PgPool::connect(database.url()).await.unwrap();
        Self { store, pool, database }
    }

    /// The same database, seen by another process.
    pub(crate) async fn another_store(&self) -> Store {
        Store::connect(self.database.url(), CONNECTIONS_MAX).await.unwrap()
    }

    pub(crate) async fn project(&self, slug: &str, weight: u32) -> i64 {
        self.store.create_project(slug, weight, &origin()).await.unwrap().id
    }

    pub(crate) async fn task(&self, project_id: i64) -> TaskKey {
        self.task_called_back(project_id, URL).await
    }

    pub(crate) async fn task_called_back(&self, project_id: i64, url: &str) -> TaskKey {
        let made = self.register(project_id, Some(url), None).await.unwrap();
        TaskKey { project_id, task: made.into_inner() }
    }

    pub(crate) async fn register(
        &self,
        project_id: i64,
        callback_url: Option<&str>,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Made<TaskId>, StoreError> {
        let contract = text("{}");
        let task = NewTask {
            id: TaskId::from_uuid(Uuid::now_v7()),
            title: "A task",
            contract: &contract,
            rounds_max: 3,
            reports_max: 15,
            callback_url,
            preflight: None,
            idempotency,
        };
        self.store.register_task(project_id, &task, &origin()).await
    }

    /// A new task whose contract is yet to be proven, by this run.
    pub(crate) async fn preflight(&self, project_id: i64) -> (TaskKey, RunId) {
        let run = RunId::from_uuid(Uuid::now_v7());
        let task = NewTask {
            id: TaskId::from_uuid(Uuid::now_v7()),
            title: "A task",
            contract: &text("{}"),
            rounds_max: 3,
            reports_max: 15,
            callback_url: Some(URL),
            preflight: Some(run),
            idempotency: None,
        };
        let made = self.store.register_task(project_id, &task, &origin()).await.unwrap();
        (TaskKey { project_id, task: made.into_inner() }, run)
    }

    pub(crate) async fn report(
        &self,
        key: TaskKey,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Made<AcceptedReport>, StoreError> {
        let report = NewReport {
            id: ReportId::from_uuid(Uuid::now_v7()),
            run: RunId::from_uuid(Uuid::now_v7()),
            contract_version: 1,
            status: ReportStatus::Success,
            reason_code: None,
            route: None,
            body: "{}",
            sha256: Sha256Digest::from_bytes([2; 32]),
            idempotency,
        };
        self.store.accept_report(key, &report, &origin(), body).await
    }

    /// A report that is routed at once: "I stopped, resume me".
    pub(crate) async fn partial(&self, key: TaskKey) {
        let report = NewReport {
            id: ReportId::from_uuid(Uuid::now_v7()),
            run: RunId::from_uuid(Uuid::now_v7()),
            contract_version: 1,
            status: ReportStatus::Partial,
            reason_code: Some(ReasonCode::BudgetExhausted),
            route: Some((TaskState::Paused, NextStep::Resume)),
            body: "{}",
            sha256: Sha256Digest::from_bytes([3; 32]),
            idempotency: None,
        };
        self.store.accept_report(key, &report, &origin(), body).await.unwrap();
    }

    pub(crate) async fn amend(
        &self,
        key: TaskKey,
        task_version: u64,
    ) -> Result<Made<()>, StoreError> {
        let contract = text("{ }");
        let amendment = Amendment {
            task_version,
            reason: "better",
            title: "A task",
            contract: &contract,
            rounds_max: 3,
            reports_max: 15,
            callback_url: None,
            preflight: None,
            idempotency: None,
        };
        self.store.amend_contract(key, &amendment, &origin()).await
    }

    /// A new task with a run in the queue.
    pub(crate) async fn queued(&self, project_id: i64) -> (TaskKey, RunId) {
        let key = self.task(project_id).await;
        let accepted = self.report(key, None).await.unwrap().into_inner();
        (key, accepted.run.unwrap())
    }

    /// The next run, leased by this worker as one that has no other.
    pub(crate) async fn lease(&self, worker: i32) -> LeasedRun {
        let mut leased = self.store.lease_next_runs(worker, 1).await.unwrap();
        leased.extend(self.store.lease_suspect_run(worker).await.unwrap());
        leased.pop().expect("a run is ready")
    }

    pub(crate) async fn record(
        &self,
        leased: LeasedRun,
        decision: Decision,
    ) -> Result<(), StoreError> {
        let verdict = verdict(decision);
        self.store.record_verdict(leased.lease, &verdict, &origin(), body).await.map(drop)
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.pool).await.unwrap();
    }

    /// Looks again until the database has noticed that a connection is gone.
    pub(crate) async fn eventually<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            assert!(Instant::now() < end, "it never was so that {what}");
            sleep(LOOK_EVERY).await;
        }
    }
}
