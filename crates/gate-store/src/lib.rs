//! Every SQL statement of the gate, and the state machine of tasks, runs, and callbacks in the database.
//!
//! A method is named after what happens and is one transaction. Rows, transactions, and `sqlx`
//! types stay inside. What a contract or a report says is left to others: here they are text.
//!
//! Locks are taken in one order, so that nothing deadlocks: task, queue row, project.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod api_keys;
mod archives;
mod baseline_tests;
mod callbacks;
mod conclude;
mod contracts;
mod error;
mod events;
mod figures;
mod idempotency;
mod isolation;
mod projects;
mod queue;
mod reports;
mod runs;
mod settings;
mod sweeps;
mod tasks;
mod tree_changes;
mod verdicts;
mod wake;
mod words;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

pub use api_keys::{ApiKey, NewApiKey, Principal, PrincipalProject};
pub use callbacks::{Callback, CallbackAttempt, Delivery, LeasedCallback};
pub use contracts::{ContractText, StoredContract};
pub use error::StoreError;
pub use events::{Event, EventStamp, Origin};
pub use figures::Figures;
pub use idempotency::{IdempotencyKey, Made};
pub use projects::Project;
pub use reports::{AcceptedReport, NewReport, StoredReport};
pub use runs::{Lease, LeasedRun, Run, Subject};
pub use sweeps::LostRun;
pub use tasks::{Amendment, NewTask, Task, TaskFilter, TaskKey};
pub use tree_changes::StoredChange;
pub use verdicts::{StoredExecution, StoredFinding, StoredTest, StoredVerdict};
pub use wake::{Changes, Topic, Wakes};
pub use workers::{HeldRun, WorkerSession, WorkerStatus};

/// The schema, embedded; `donegate migrate` and every start apply what is missing.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// Rows of one page.
pub const PAGE_ROWS_MAX: u32 = 100;

/// Requests beyond the pool wait this long for a connection; then they are told to come back.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECTION_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// The database, shared by everything that runs in this process.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    options: PgConnectOptions,
    wakes: Arc<Wakes>,
}

impl Store {
    /// Opens the pool. Does not touch the schema.
    ///
    /// # Errors
    /// When the URL is not one of PostgreSQL, or nobody answers.
    pub async fn connect(url: &str, connections_max: u32) -> Result<Self, StoreError> {
        let options: PgConnectOptions = url.parse().map_err(StoreError::from)?;
        let options = options.application_name("donegate").options([
            ("statement_timeout", "30s"),
            ("lock_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "10s"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(connections_max)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(CONNECTION_LIFETIME)
            .connect_with(options.clone())
            .await?;
        Ok(Self { pool, options, wakes: Arc::default() })
    }

    /// Applies the migrations that are missing; safe when several processes start at once.
    ///
    /// # Errors
    /// When the database is newer than this build, or a migration fails.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        Ok(MIGRATOR.run(&self.pool).await?)
    }

    /// Whether the database answers and has the schema of this build.
    ///
    /// # Errors
    /// When it does not answer, or a migration of this build was not applied.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let newest = MIGRATOR.iter().map(|it| it.version).max().unwrap_or_default();
        let applied = sqlx::query_scalar!(
            r#"select max(version) as "version?" from _sqlx_migrations where success"#
        )
        .fetch_one(&self.pool)
        .await?;
        if applied.is_some_and(|it| it >= newest) {
            Ok(())
        } else {
            Err(StoreError::SchemaOutdated)
        }
    }

    /// Lets every connection end; what is under way ends first.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
