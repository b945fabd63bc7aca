//! Long polls: `?wait=N` and `Prefer: wait=N` (RFC 7240).

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use gate_core::TaskId;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::App;
use super::problem::Problem;

/// The longest that one request waits.
pub(crate) const WAIT_SECONDS_MAX: u64 = 60;
/// A waiter also looks by itself, in case the hint was lost.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// How long a client is ready to wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wait {
    seconds: u64,
    by_header: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Wait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let mut asked =
            url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "wait");
        if let Some((_, value)) = asked.next() {
            let seconds = value.parse().ok().filter(|it| *it <= WAIT_SECONDS_MAX);
            let detail = format!("a whole number of seconds from 0 to {WAIT_SECONDS_MAX}");
            let seconds = seconds.ok_or_else(|| Problem::parameter("wait", detail))?;
            return Ok(Self { seconds, by_header: false });
        }
        Ok(prefer(&parts.headers).unwrap_or_default())
    }
}

/// A preference that cannot be met is cut, not refused.
fn prefer(headers: &HeaderMap) -> Option<Wait> {
    let values = headers.get_all(PREFER).iter().filter_map(|it| it.to_str().ok());
    let mut preferences = values.flat_map(|it| it.split([',', ';'])).map(str::trim);
    let seconds = preferences.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("wait") {
            return None;
        }
        value.trim().trim_matches('"').parse::<u64>().ok()
    })?;
    Some(Wait { seconds: seconds.min(WAIT_SECONDS_MAX), by_header: true })
}

impl Wait {
    /// Looks again and again until `settled` says so, the time is up, or the gate stops; then answers what is.
    pub(crate) async fn until<T, F>(
        self,
        app: &App,
        task: TaskId,
        mut look: impl FnMut() -> F,
        settled: impl Fn(&T) -> bool,
    ) -> Result<T, Problem>
    where
        F: Future<Output = Result<T, Problem>>,
    {
        // Subscribed before the first look, so that no change falls between.
        let mut changes = app.store.changes();
        let mut seen = look().await?;
        if self.seconds == 0 || settled(&seen) {
            return Ok(seen);
        }
        // Too many waiters: the present state is an answer, too.
        let Ok(_place) = app.waiters.try_acquire() else { return Ok(seen) };
        let end = Instant::now() + Duration::from_secs(self.seconds);
        while Instant::now() < end {
            let next_look = end.min(Instant::now() + LOOK_EVERY);
            tokio::select! {
                _hint = timeout_at(next_look, changes.of(task)) => {}
                () = app.stopping.cancelled() => return Ok(seen),
                () = sleep_until(end) => {}
            }
            seen = look().await?;
            if settled(&seen) {
                break;
            }
        }
        Ok(seen)
    }

    /// `Preference-Applied`, where the client asked by `Prefer`.
    pub(crate) fn applied(self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::try_from(format!("wait={}", self.seconds)).ok()?;
        self.by_header.then_some((PREFERENCE_APPLIED, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: &'static str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(PREFER, HeaderValue::from_static(value));
        prefer(&headers).map(|it| it.seconds)
    }

    #[test]
    fn a_preference_is_read_among_others_and_cut() {
        assert_eq!(seconds("respond-async, wait=10"), Some(10));
        assert_eq!(seconds("WAIT = 100"), Some(60));
        assert_eq!(seconds("wait=soon"), None);
        assert_eq!(seconds("return=minimal"), None);
    }
}
