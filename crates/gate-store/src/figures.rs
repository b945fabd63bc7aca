//! The few numbers that `/metrics` and readiness ask the database for; each is cheap at any size.

use crate::words::big;
use crate::{Store, StoreError};

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Runs that wait for a worker.
    pub queue_ready: u64,
    /// Runs that wait for their next attempt.
    pub queue_waiting: u64,
    /// Runs that a worker has.
    pub queue_running: u64,
    /// Seconds since the oldest ready run was queued.
    pub queue_oldest_seconds: u64,
    /// Callbacks that are due, now or later.
    pub callbacks_due: u64,
    /// Worker processes that were seen within the last 20 seconds.
    pub workers_alive: u64,
}

impl Store {
    /// # Errors
    /// When the database fails.
    pub async fn figures(&self) -> Result<Figures, StoreError> {
        let row = sqlx::query!(
            r#"select
                 count(*) filter (where q.state = 'ready') as "ready!",
                 count(*) filter (where q.state = 'waiting') as "waiting!",
                 count(*) filter (where q.state = 'running') as "running!",
                 coalesce(extract(epoch from now() - min(q.run_at) filter (where q.state = 'ready')), 0)::bigint as "oldest!",
                 (select count(*) from callback where state = 'due') as "due!",
                 (select count(*) from worker where last_seen_at > now() - interval '20 seconds') as "alive!"
               from gate_queue q"#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(Figures {
            queue_ready: big(row.ready),
            queue_waiting: big(row.waiting),
            queue_running: big(row.running),
            queue_oldest_seconds: big(row.oldest),
            callbacks_due: big(row.due),
            workers_alive: big(row.alive),
        })
    }
}
