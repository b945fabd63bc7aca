//! How long a command goes on: the time that is left, and when a request is tried again.

use std::time::{Duration, Instant};

use gate_api::{RunBody, RunStateWord, TaskBody, TaskStateWord};
use uuid::Uuid;

use crate::client::Client;
use crate::error::CliError;
use crate::output::Progress;

/// For a command that waits for no verdict: a gate that starts again is back by then.
pub(crate) const BRIEF: Duration = Duration::from_secs(3);
/// So long a contract's publication waits for its preflight, which may set up an environment and run tests.
const PREFLIGHT_PATIENCE: Duration = Duration::from_secs(120);
/// Below a minute, where proxies begin to cut connections.
const LONG_POLL_SECONDS_MAX: u64 = 50;
/// Between two questions, also where the gate does not wait before it answers.
const POLL_GAP_MS: u64 = 500;
/// Between two questions about a task that nobody has reported on yet.
const PENDING_GAP_MS: u64 = 2000;
const RETRY_DELAY_MS_FIRST: u64 = 200;
const RETRY_DELAY_MS_MAX: u64 = 5000;

/// A moment at which waiting ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    until: Instant,
}

impl Patience {
    /// Starts now.
    pub(crate) fn new(time: Duration) -> Self {
        Self { until: Instant::now() + time }
    }

    /// What is left; zero when it is over.
    pub(crate) fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// How long the gate is asked to wait: full seconds, the last one rounded up.
    pub(crate) fn wait_seconds(self) -> u64 {
        let left = self.left();
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        seconds.min(LONG_POLL_SECONDS_MAX)
    }

    async fn pause(self, time: Duration) {
        tokio::time::sleep(time.min(self.left())).await;
    }
}

/// Asks until there is an answer; a fault that may pass is tried again until the time is up.
///
/// `ask` must be safe to repeat: a GET, a PUT, or a POST with its idempotency key.
pub(crate) async fn persist<T>(
    patience: Patience,
    progress: &Progress,
    mut ask: impl AsyncFnMut() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let mut attempts = 0;
    loop {
        match ask().await {
            Err(error) if error.is_passing() && !patience.left().is_zero() => {
                progress.say(&format!("{error}; trying again"));
                attempts += 1;
                patience.pause(retry_delay(attempts, rand::random())).await;
            }
            answer => return answer,
        }
    }
}

/// The run, as soon as it is over; as it stands, when the time is up.
pub(crate) async fn until_judged(
    client: &Client,
    run: Uuid,
    patience: Patience,
    progress: &Progress,
) -> Result<RunBody, CliError> {
    loop {
        let asked = Instant::now();
        let answer =
            persist(patience, progress, async || client.run(run, patience.wait_seconds()).await);
        let answer = answer.await?;
        let over = match answer.state {
            RunStateWord::Judged | RunStateWord::Cancelled => true,
            RunStateWord::Queued | RunStateWord::Running => patience.left().is_zero(),
        };
        if over {
            return Ok(answer);
        }
        progress.say(&describe(&answer));
        let gap = Duration::from_millis(POLL_GAP_MS);
        patience.pause(gap.saturating_sub(asked.elapsed())).await;
    }
}

/// The task, as soon as it is settled; as it stands, when the time is up.
///
/// Waits for the end of a task's preflight, for as long as [`PREFLIGHT_PATIENCE`].
pub(crate) async fn until_proven(
    client: &Client,
    mut task: TaskBody,
    progress: &Progress,
) -> Result<TaskBody, CliError> {
    let patience = Patience::new(PREFLIGHT_PATIENCE);
    while task.state == TaskStateWord::Preflight && !patience.left().is_zero() {
        progress.say("the gate proves the contract on its baseline");
        let asked = Instant::now();
        let id = task.id;
        task = persist(patience, progress, async || client.task(id, patience.wait_seconds()).await)
            .await?;
        patience.pause(Duration::from_millis(POLL_GAP_MS).saturating_sub(asked.elapsed())).await;
    }
    Ok(task)
}

/// The gate calls a task settled on which nobody has reported yet. Who waits for it waits for its verdict.
pub(crate) async fn until_settled(
    client: &Client,
    task: Uuid,
    patience: Patience,
    progress: &Progress,
) -> Result<TaskBody, CliError> {
    loop {
        let asked = Instant::now();
        let answer =
            persist(patience, progress, async || client.task(task, patience.wait_seconds()).await);
        let answer = answer.await?;
        let (gap_ms, doing) = match answer.state {
            TaskStateWord::Preflight => {
                (POLL_GAP_MS, "the gate proves the contract on its baseline")
            }
            TaskStateWord::Pending => (PENDING_GAP_MS, "waiting for the first report"),
            TaskStateWord::Gating => (POLL_GAP_MS, "the gate judges"),
            TaskStateWord::Done
            | TaskStateWord::Rework
            | TaskStateWord::NeedsHuman
            | TaskStateWord::ContractRejected
            | TaskStateWord::NeedsInput
            | TaskStateWord::Paused
            | TaskStateWord::Failed
            | TaskStateWord::Aborted => return Ok(answer),
        };
        if patience.left().is_zero() {
            return Ok(answer);
        }
        progress.say(doing);
        patience.pause(Duration::from_millis(gap_ms).saturating_sub(asked.elapsed())).await;
    }
}

fn describe(run: &RunBody) -> String {
    let doing = match run.state {
        RunStateWord::Queued => "waiting for a worker",
        RunStateWord::Running => "running the checks",
        RunStateWord::Judged | RunStateWord::Cancelled => "done",
    };
    match run.attempts {
        0 | 1 => doing.to_owned(),
        attempts => format!("{doing}, attempt {attempts} of the gate"),
    }
}

/// Doubles, up to a bound. `jitter` from 0 to 1 keeps a fleet from coming back all at once.
fn retry_delay(attempts: u32, jitter: f64) -> Duration {
    let doubled = RETRY_DELAY_MS_FIRST.saturating_mul(2_u64.saturating_pow(attempts - 1));
    Duration::from_millis(doubled.min(RETRY_DELAY_MS_MAX))
        .mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_bound_and_jitter_shortens_them() {
        let delays = [1, 2, 3, 99].map(|it| retry_delay(it, 1.0).as_millis());
        assert_eq!(delays, [200, 400, 800, 5000]);
        assert_eq!(retry_delay(1, 0.0).as_millis(), 100);
    }

    #[test]
    fn the_gate_is_asked_to_wait_within_what_is_left() {
        assert_eq!(Patience::new(Duration::ZERO).wait_seconds(), 0);
        assert_eq!(Patience::new(Duration::from_millis(1500)).wait_seconds(), 2);
        assert_eq!(Patience::new(Duration::from_secs(600)).wait_seconds(), 50);
    }
}
