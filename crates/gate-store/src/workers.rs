//! Workers: a row each, a heartbeat, and an advisory lock whose loss proves that the process is gone.

use std::time::Duration;

use gate_core::{LeaseToken, RunId};
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};

use crate::words::small;
use crate::{Store, StoreError};

/// `GATE` in ASCII: the first half of every worker's advisory lock.
pub(crate) const WORKER_LOCK_CLASS: i32 = 0x4741_5445;
/// A lease that its worker does not know is returned after this time: the answer to the lease was lost.
const UNKNOWN_LEASE_SECONDS: f64 = 10.0;
/// Workers that are listed at once; one line of each is a few hundred bytes.
const WORKERS_LISTED_MAX: i64 = 1000;

/// A run that the database says this worker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRun {
    /// The run.
    pub run: RunId,
    /// The token it was leased with.
    pub token: LeaseToken,
}

/// A worker that lives, as it registered.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerStatus {
    /// The name of its host, for people.
    pub node: String,
    /// What it told of its isolation; none of workers that are older than this.
    pub isolation: Option<Value>,
}

/// A registered worker's own connection. Dropping it gives every other process the proof that it is gone.
#[derive(Debug)]
pub struct WorkerSession {
    connection: PgConnection,
    id: i32,
}

impl Store {
    /// Registers a worker process. What it tells of its isolation is answered to those who ask, and not looked into.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn register_worker(
        &self,
        node: &str,
        slots: u32,
        isolation: &Value,
    ) -> Result<WorkerSession, StoreError> {
        let mut connection = self.worker_connection().await?;
        let id = sqlx::query_scalar!(
            "insert into worker (node, slots, isolation) values ($1, $2, $3) returning id",
            node,
            small(slots),
            isolation
        )
        .fetch_one(&mut connection)
        .await?;
        sqlx::query!(r#"select pg_advisory_lock($1, $2) as "it!: ()""#, WORKER_LOCK_CLASS, id)
            .fetch_one(&mut connection)
            .await?;
        Ok(WorkerSession { connection, id })
    }

    /// The workers that have said lately that they live, the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn living_workers(&self) -> Result<Vec<WorkerStatus>, StoreError> {
        let rows = sqlx::query!(
            "select node, isolation from worker
             where last_seen_at >= now() - make_interval(secs => $1) order by id limit $2",
            SILENT_WORKER_LOST_AFTER.as_secs_f64(),
            WORKERS_LISTED_MAX
        )
        .fetch_all(&self.pool)
        .await?;
        let workers =
            rows.into_iter().map(|it| WorkerStatus { node: it.node, isolation: it.isolation });
        Ok(workers.collect())
    }

    async fn worker_connection(&self) -> Result<PgConnection, StoreError> {
        let mut connection =
            self.options.clone().application_name("donegate-worker").connect().await?;
        // A lost heartbeat costs nothing: the next one follows. A verdict's commit must not wait for it.
        sqlx::query!("set synchronous_commit = off").execute(&mut connection).await?;
        Ok(connection)
    }
}

impl WorkerSession {
    /// Names the worker in leases.
    #[must_use]
    pub const fn id(&self) -> i32 {
        self.id
    }

    /// Says that this worker lives, and asks which runs it still has. A run that is not among them was cancelled or given to somebody else: stop it. `None` means that the whole worker was given up: stop everything and register anew.
    ///
    /// Leases that are not among `known` never reached this worker, or could not be concluded by it: they are queued again, and the attempt stays counted.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn heartbeat(
        &mut self,
        known: &[LeaseToken],
    ) -> Result<Option<Vec<HeldRun>>, StoreError> {
        let known: Vec<_> = known.iter().map(|it| it.as_uuid()).collect();
        let seen = sqlx::query!("update worker set last_seen_at = now() where id = $1", self.id)
            .execute(&mut self.connection)
            .await?;
        if seen.rows_affected() == 0 {
            return Ok(None);
        }
        sqlx::query!(
            "update gate_queue
             set state = 'ready', lease_token = null, worker_id = null, leased_at = null
             where worker_id = $1 and state = 'running' and lease_token <> all ($2)
               and leased_at < now() - make_interval(secs => $3)",
            self.id,
            &known,
            UNKNOWN_LEASE_SECONDS
        )
        .execute(&mut self.connection)
        .await?;
        let rows = sqlx::query!(
            r#"select run_id, lease_token as "lease_token!" from gate_queue
               where worker_id = $1 and state = 'running'"#,
            self.id
        )
        .fetch_all(&mut self.connection)
        .await?;
        let held = rows.into_iter().map(|row| HeldRun {
            run: RunId::from_uuid(row.run_id),
            token: LeaseToken::from_uuid(row.lease_token),
        });
        Ok(Some(held.collect()))
    }

    /// Goes on under the same registration after the connection was lost; the next heartbeat tells whether it still exists.
    ///
    /// # Errors
    /// When the database still does not answer.
    pub async fn reconnect(&mut self, store: &Store) -> Result<(), StoreError> {
        self.connection = store.worker_connection().await?;
        // The old session may still hold the lock for a moment; held by it or by us, it proves the same.
        sqlx::query!(r#"select pg_try_advisory_lock($1, $2) as "it!""#, WORKER_LOCK_CLASS, self.id)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Takes the worker off the list, after it has given back what it had.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn deregister(mut self) -> Result<(), StoreError> {
        sqlx::query!("delete from worker where id = $1", self.id)
            .execute(&mut self.connection)
            .await?;
        self.connection.close().await?;
        Ok(())
    }
}

/// A worker whose lock is free is gone, once it had the time to take it again after a lost connection.
pub(crate) const UNLOCKED_WORKER_LOST_AFTER: Duration = Duration::from_secs(5);
/// A worker that holds its lock and says nothing is cut off, or stopped.
pub(crate) const SILENT_WORKER_LOST_AFTER: Duration = Duration::from_secs(20);
