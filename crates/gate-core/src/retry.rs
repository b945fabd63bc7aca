//! Attempt number to delay, as pure functions; jitter is an argument.

use std::time::Duration;

/// Standard Webhooks 1.0.0, "Deliverability and reliability": the delays before each attempt.
pub const CALLBACK_DELAYS_SECONDS: [u64; 10] =
    [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// A `Retry-After` is honoured up to here.
pub const CALLBACK_RETRY_AFTER_SECONDS_MAX: u64 = 86_400;
/// Jitter moves a delay by at most this part of it, in percent, either way.
pub const JITTER_PERCENT: u32 = 20;

/// The delay after the `attempts`-th failed delivery, or `None` when the schedule is used up.
///
/// `jitter` is from 0 to 1; 0.5 changes nothing. A `Retry-After` lengthens the delay and never shortens it.
#[must_use]
pub fn callback_delay(
    attempts: u32,
    jitter: f64,
    retry_after_seconds: Option<u64>,
) -> Option<Duration> {
    let planned = *CALLBACK_DELAYS_SECONDS.get(usize::try_from(attempts).ok()?)?;
    let asked = retry_after_seconds.unwrap_or(0).min(CALLBACK_RETRY_AFTER_SECONDS_MAX);
    let planned = jittered(Duration::from_secs(planned), jitter);
    Some(planned.max(Duration::from_secs(asked)))
}

/// The delay before a run is tried again after the `attempts`-th fault of the gate: 1 s, 5 s, 25 s, then 2 min.
#[must_use]
pub fn run_delay(attempts: u32, jitter: f64) -> Duration {
    let seconds = 5_u64.saturating_pow(attempts.saturating_sub(1)).min(120);
    jittered(Duration::from_secs(seconds), jitter)
}

fn jittered(delay: Duration, jitter: f64) -> Duration {
    let part = f64::from(JITTER_PERCENT) / 100.0;
    delay.mul_f64(1.0 + part * (2.0 * jitter.clamp(0.0, 1.0) - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_follow_the_schedule_of_the_specification() {
        let delays: Vec<_> = (0..11).map(|it| callback_delay(it, 0.5, None)).collect();
        assert_eq!(delays[1], Some(Duration::from_secs(5)));
        assert_eq!(delays[9], Some(Duration::from_secs(86_400)));
        assert_eq!(delays[10], None);
    }

    #[test]
    fn retry_after_is_honoured_and_bounded() {
        assert_eq!(callback_delay(1, 0.5, Some(60)), Some(Duration::from_secs(60)));
        assert_eq!(callback_delay(3, 0.5, Some(60)), Some(Duration::from_secs(1_800)));
        let day = Duration::from_secs(CALLBACK_RETRY_AFTER_SECONDS_MAX);
        assert_eq!(callback_delay(1, 0.5, Some(u64::MAX)), Some(day));
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        assert_eq!(callback_delay(2, 0.0, None), Some(Duration::from_secs(240)));
        assert_eq!(callback_delay(2, 1.0, None), Some(Duration::from_secs(360)));
        assert_eq!(run_delay(40, 0.5), Duration::from_secs(120));
    }
}
