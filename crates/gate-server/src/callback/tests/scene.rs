//! A store with a project, and a deliverer, over a database of their own.

use std::sync::Arc;
use std::time::Duration;

use gate_core::{
    NextStep, ReasonCode, ReportId, ReportStatus, RunId, Sha256Digest, TaskId, TaskState,
};
use gate_postgres::testing::TestDatabase;
use gate_store::{
    Callback, ContractText, EventStamp, NewReport, NewTask, Origin, Project, Store, TaskKey,
};
use uuid::Uuid;

use crate::callback::{Deliverer, Networks, SecretKey, SendLimits, Sender};
use crate::clock::{Clock, SetClock, SystemClock};

pub(super) const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
pub(super) const HERE: &str = "127.0.0.0/8, ::1";
const CONNECTIONS_MAX: u32 = 4;

pub(super) struct Scene {
    pub(super) store: Store,
    pub(super) project: Project,
    pub(super) key: SecretKey,
    pub(super) clock: Arc<SetClock>,
    // Last: the store's connections end first.
    _database: TestDatabase,
}

impl Scene {
    pub(super) async fn new() -> Self {
        let database = TestDatabase::create("callback");
        let store = Store::connect(database.url(), CONNECTIONS_MAX).await.unwrap();
        store.migrate().await.unwrap();
        let project = store.create_project("shop", 1, &origin()).await.unwrap();
        Self {
            store,
            project,
            key: SecretKey::random(),
            clock: Arc::new(SetClock::at(SystemClock.now())),
            _database: database,
        }
    }

    /// With time enough for everything that this machine does by itself.
    pub(super) fn deliverer(&self) -> Deliverer {
        self.deliverer_with(HERE, Duration::from_secs(30))
    }

    pub(super) fn deliverer_with(&self, networks: &str, total: Duration) -> Deliverer {
        let networks = Networks::parse(networks).unwrap();
        let limits = SendLimits { connect: total, total };
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as _;
        let sender = Sender::new(self.key.clone(), networks, clock, limits).unwrap();
        Deliverer::new(self.store.clone(), sender)
    }

    pub(super) async fn register_task(&self, callback_url: &str) -> TaskKey {
        let contract = ContractText {
            media_type: "application/json",
            text: "{}".to_owned(),
            sha256: Sha256Digest::from_bytes([1; 32]),
        };
        let id = TaskId::from_uuid(Uuid::now_v7());
        let task = NewTask {
            id,
            title: "Cursor pagination",
            contract: &contract,
            rounds_max: 3,
            reports_max: 15,
            callback_url: Some(callback_url),
            preflight: None,
            idempotency: None,
        };
        self.store.register_task(self.project.id, &task, &origin()).await.unwrap();
        TaskKey { project_id: self.project.id, task: id }
    }

    /// Writes the callback `task.cancelled`.
    pub(super) async fn cancel_task(&self, key: TaskKey) {
        let body = |stamp| body("task.cancelled", stamp);
        self.store.cancel_task(key, "not needed", &origin(), body).await.unwrap();
    }

    /// Writes the callback `report.routed`.
    pub(super) async fn route_report(&self, key: TaskKey) {
        let report = NewReport {
            id: ReportId::from_uuid(Uuid::now_v7()),
            run: RunId::from_uuid(Uuid::now_v7()),
            contract_version: 1,
            status: ReportStatus::Partial,
            reason_code: Some(ReasonCode::BudgetExhausted),
            route: Some((TaskState::Paused, NextStep::Resume)),
            body: "{}",
            sha256: Sha256Digest::from_bytes([2; 32]),
            idempotency: None,
        };
        let body = |stamp| body("report.routed", stamp);
        self.store.accept_report(key, &report, &origin(), body).await.unwrap();
    }

    /// A task whose one callback is due.
    pub(super) async fn cancelled_task(&self, callback_url: &str) -> TaskKey {
        let key = self.register_task(callback_url).await;
        self.cancel_task(key).await;
        key
    }

    pub(super) async fn callbacks(&self, key: TaskKey) -> Vec<Callback> {
        self.store.callbacks(key.project_id, key.task).await.unwrap()
    }

    /// The only callback of a task.
    pub(super) async fn callback(&self, key: TaskKey) -> Callback {
        self.callbacks(key).await.pop().unwrap()
    }
}

/// What the last attempt says about its failure.
pub(super) fn error(callback: &Callback) -> &str {
    callback.attempts.last().unwrap().error.as_deref().unwrap_or("")
}

/// How long a callback waits after its last attempt.
pub(super) fn wait_seconds(callback: &Callback) -> i64 {
    (callback.next_at - callback.attempts.last().unwrap().at).num_seconds()
}

fn origin() -> Origin {
    Origin::gate(None, Some(TRACEPARENT.to_owned()))
}

fn body(kind: &str, stamp: EventStamp) -> String {
    let data = serde_json::json!({
        "title": "Bestellübersicht 注文", "sequence": stamp.sequence, "traceparent": TRACEPARENT,
    });
    serde_json::json!({ "type": kind, "timestamp": stamp.at, "data": data }).to_string()
}
