//! The loop of callbacks: lease, do, record.
//!
//! The timer alone would be enough; the hints of the store make it quick. One receiver that hangs
//! holds up neither the others nor the leasing of more.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use gate_core::Chain;
use gate_store::{Delivery, LeasedCallback, Store, StoreError, Topic};
use tokio_util::sync::CancellationToken;

use super::Sender;

/// Deliveries of this process under way at once.
const IN_FLIGHT_MAX: u32 = 32;
/// How often it looks by itself.
const POLL: Duration = Duration::from_secs(1);
/// At most this part of [`POLL`] comes on top, so that processes do not look all at once.
const POLL_JITTER: f64 = 0.1;

/// Delivers what is due.
#[derive(Debug, Clone)]
pub struct Deliverer {
    store: Store,
    sender: Sender,
}

impl Deliverer {
    /// Takes callbacks from `store`, and gives them to `sender`.
    #[must_use]
    pub const fn new(store: Store, sender: Sender) -> Self {
        Self { store, sender }
    }

    /// One turn: leases what is due, sends it, records what came of it, and says how many it was.
    ///
    /// # Errors
    /// When the database fails. What was sent and not recorded is sent again when its lease ends.
    pub async fn deliver_due(&self) -> Result<usize, StoreError> {
        let leased = self.store.lease_due_callbacks(IN_FLIGHT_MAX).await?;
        let delivered = join_all(leased.into_iter().map(|it| self.deliver(it))).await;
        let count = delivered.len();
        delivered.into_iter().collect::<Result<(), _>>()?;
        Ok(count)
    }

    /// Delivers until it is told to stop; what is under way then is brought to its end, within the limits of the sender.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut in_flight = FuturesUnordered::new();
        while !shutdown.is_cancelled() {
            // All that has ended makes room, before the next look.
            while let Some(Some(ended)) = in_flight.next().now_or_never() {
                log(ended);
            }
            let under_way = u32::try_from(in_flight.len()).unwrap_or(u32::MAX);
            match IN_FLIGHT_MAX.saturating_sub(under_way) {
                0 => {}
                room => match self.store.lease_due_callbacks(room).await {
                    Ok(leased) => in_flight.extend(leased.into_iter().map(|it| self.deliver(it))),
                    Err(error) => log(Err(error)),
                },
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.store.woken(Topic::Callbacks) => {}
                Some(ended) = in_flight.next() => log(ended),
                () = tokio::time::sleep(poll()) => {}
            }
        }
        while let Some(ended) = in_flight.next().await {
            log(ended);
        }
    }

    async fn deliver(&self, callback: LeasedCallback) -> Result<(), StoreError> {
        let started = Instant::now();
        let delivery = self.sender.send(&callback).await;
        metrics::histogram!("gate_callback_duration_seconds").record(started.elapsed());
        match self.store.record_delivery(&callback, &delivery).await {
            Ok(()) => {
                tell(&callback, &delivery);
                Ok(())
            }
            // It was redelivered or taken over meanwhile; whoever did that records it.
            Err(StoreError::LeaseLost) => {
                let id = callback.id;
                tracing::debug!(callback.id = %id, "the lease of callback {id} was lost");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn poll() -> Duration {
    POLL.mul_f64(1.0 + POLL_JITTER * rand::random::<f64>())
}

fn log(ended: Result<(), StoreError>) {
    if let Err(error) = ended {
        tracing::warn!(error = %Chain(&error), "callbacks are tried again in a moment");
    }
}

/// The log line and the count of an attempt.
fn tell(callback: &LeasedCallback, delivery: &Delivery) {
    let (id, task, duration_ms) = (callback.id, callback.task, delivery.duration_ms);
    let result = match (&delivery.error, delivery.retry_after) {
        (None, _) => {
            tracing::info!(callback.id = %id, task.id = %task, duration_ms, "callback {id} was delivered");
            "delivered"
        }
        (Some(error), Some(delay)) => {
            let delay_seconds = delay.as_secs();
            tracing::warn!(callback.id = %id, task.id = %task, duration_ms, delay_seconds, error, "callback {id} is tried again in {delay_seconds} s");
            "retried"
        }
        (Some(error), None) => {
            tracing::warn!(callback.id = %id, task.id = %task, duration_ms, error, "callback {id} is given up");
            "dead"
        }
    };
    metrics::counter!("gate_callbacks_total", "result" => result).increment(1);
}
