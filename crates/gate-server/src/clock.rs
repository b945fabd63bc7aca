//! Time, as a thing that is handed in: the system's, or one that tests set.

use std::fmt::Debug;

use chrono::{DateTime, Utc};

/// Says what time it is.
pub trait Clock: Debug + Send + Sync {
    /// Now.
    fn now(&self) -> DateTime<Utc>;
}

/// The time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// A clock that stands still until it is moved.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug)]
pub struct SetClock(std::sync::Mutex<DateTime<Utc>>);

#[cfg(any(test, feature = "testing"))]
impl SetClock {
    /// Stands at `now`.
    #[must_use]
    pub const fn at(now: DateTime<Utc>) -> Self {
        Self(std::sync::Mutex::new(now))
    }

    /// Moves it on.
    pub fn advance(&self, by: std::time::Duration) {
        let by = chrono::Duration::from_std(by).unwrap_or(chrono::Duration::MAX);
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += by;
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_set_clock_moves_when_it_is_told_to() {
        let clock = SetClock::at(DateTime::UNIX_EPOCH);
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_secs(90));
        assert_eq!(clock.now().timestamp(), 90);
    }
}
