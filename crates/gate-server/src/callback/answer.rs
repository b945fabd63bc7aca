//! What follows from a receiver's answer, and the words for it in the delivery log.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use gate_core::retry::callback_delay;
use reqwest::StatusCode;

use super::Refusal;
use super::guard::is_public;

/// An error of the delivery log, in all.
const ERROR_BYTES_MAX: usize = 300;

/// What the receiver said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// As it came.
    pub(super) retry_after: Option<String>,
    /// Who said it.
    pub(super) from: Option<IpAddr>,
    /// The first bytes.
    pub(super) body: Vec<u8>,
}

/// What follows from an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Consequence {
    Delivered,
    /// Again, by the schedule, and not before the receiver asked for.
    Failed {
        error: String,
        retry_after_seconds: Option<u64>,
    },
    /// Not again.
    Dead {
        error: String,
    },
}

impl Consequence {
    pub(super) fn of(answer: &Answer, now: DateTime<Utc>) -> Self {
        let status = answer.status;
        if status.is_success() {
            return Self::Delivered;
        }
        if status == StatusCode::GONE {
            return Self::Dead { error: "the receiver answered 410: it wants no more".to_owned() };
        }
        let asks_to_wait =
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let retry_after_seconds =
            answer.retry_after.as_deref().filter(|_| asks_to_wait).and_then(|it| seconds(it, now));
        let mut error = format!("the receiver answered {}", status.as_u16());
        if status.is_redirection() {
            error.push_str("; redirects are not followed");
        }
        // An answer from a private network would make the log a way to read what is there.
        if answer.from.is_some_and(is_public) && !answer.body.is_empty() {
            error.push_str(": ");
            error.push_str(&String::from_utf8_lossy(&answer.body));
        }
        Self::Failed { error: short(&error), retry_after_seconds }
    }

    /// When it is tried again, after this many failed attempts of the schedule; none gives it up.
    pub(super) fn delay(&self, attempts: u32, jitter: f64) -> Option<Duration> {
        match self {
            Self::Delivered | Self::Dead { .. } => None,
            Self::Failed { retry_after_seconds, .. } => {
                callback_delay(attempts, jitter, *retry_after_seconds)
            }
        }
    }
}

/// Why there was no answer. Never the URL, which may hold a token.
pub(super) fn no_answer(error: &reqwest::Error, limit: Duration) -> String {
    let causes =
        || std::iter::successors(Some(error as &(dyn Error + 'static)), |it| (*it).source());
    if let Some(refusal) = causes().find_map(|it| it.downcast_ref::<Refusal>()) {
        return refusal.to_string();
    }
    let last = causes().last().map(ToString::to_string).unwrap_or_default();
    let text = match (error.is_connect(), error.is_timeout()) {
        (true, true) => "could not connect in time".to_owned(),
        (true, false) => format!("could not connect: {last}"),
        (false, true) => format!("no answer within {} ms", limit.as_millis()),
        (false, false) => format!("the exchange broke off: {last}"),
    };
    short(&text)
}

/// `Retry-After`, in either of its forms.
fn seconds(text: &str, now: DateTime<Utc>) -> Option<u64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some(u64::try_from((at.with_timezone(&Utc) - now).num_seconds()).unwrap_or(0))
}

/// One line, without control characters, cut between characters.
fn short(text: &str) -> String {
    let plain: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    plain[..plain.floor_char_boundary(ERROR_BYTES_MAX)].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::parse_from_rfc3339("2026-11-30T12:00:00Z").unwrap().into()
    }

    fn answer(status: u16) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, retry_after: None, from: None, body: Vec::new() }
    }

    fn error(answer: &Answer) -> String {
        let Consequence::Failed { error, .. } = Consequence::of(answer, now()) else {
            panic!("{answer:?}")
        };
        error
    }

    #[test]
    fn only_2xx_is_delivered() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(Consequence::of(&answer(status), now()), Consequence::Delivered, "{status}");
        }
        for status in [300, 301, 304, 308, 400, 401, 404, 429, 500, 503, 599] {
            let consequence = Consequence::of(&answer(status), now());
            assert_eq!(consequence.delay(1, 0.5), Some(Duration::from_secs(5)), "{status}");
        }
    }

    #[test]
    fn gone_gives_it_up_at_once() {
        let consequence = Consequence::of(&answer(410), now());
        assert!(matches!(consequence, Consequence::Dead { .. }));
        assert_eq!(consequence.delay(1, 0.5), None);
    }

    #[test]
    fn the_schedule_ends() {
        let consequence = Consequence::of(&answer(500), now());
        assert_eq!(consequence.delay(9, 0.5), Some(Duration::from_secs(86_400)));
        assert_eq!(consequence.delay(10, 0.5), None);
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        for (text, expected) in [
            ("120", 120),
            (" 120 ", 120),
            ("Mon, 30 Nov 2026 12:02:00 GMT", 120),
            ("Mon, 30 Nov 2026 11:00:00 GMT", 5),
            ("3", 5),
            ("soon", 5),
            ("-7", 5),
            ("99999999999", 86_400),
        ] {
            for status in [429, 503] {
                let answer = Answer { retry_after: Some(text.to_owned()), ..answer(status) };
                let delay = Consequence::of(&answer, now()).delay(1, 0.5);
                assert_eq!(delay, Some(Duration::from_secs(expected)), "{text}");
            }
        }
    }

    #[test]
    fn retry_after_of_another_status_is_not_for_us() {
        let answer = Answer { retry_after: Some("120".to_owned()), ..answer(500) };
        assert_eq!(Consequence::of(&answer, now()).delay(1, 0.5), Some(Duration::from_secs(5)));
    }

    #[test]
    fn what_a_public_receiver_says_is_logged_shortly_and_on_one_line() {
        let body = format!("no such\r\nhook\x1b[31m {}", "é".repeat(1000)).into_bytes();
        let from = Some("8.8.8.8".parse().unwrap());
        let text = error(&Answer { from, body, ..answer(404) });
        assert!(text.starts_with("the receiver answered 404: no such  hook [31m é"), "{text}");
        assert!(text.len() <= ERROR_BYTES_MAX);
    }

    #[test]
    fn what_a_private_or_unknown_receiver_says_is_not_logged() {
        for from in ["10.0.0.1", "127.0.0.1", "::1", "fd00::1", "::ffff:10.0.0.1"] {
            let from = Some(from.parse().unwrap());
            let text = error(&Answer { from, body: b"root:x:0".to_vec(), ..answer(404) });
            assert_eq!(text, "the receiver answered 404");
        }
        let unknown = Answer { body: b"root:x:0".to_vec(), ..answer(302) };
        assert_eq!(error(&unknown), "the receiver answered 302; redirects are not followed");
    }
}
