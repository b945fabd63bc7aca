//! Idempotency keys: one name for one submission, however often it is sent.

use reqwest::header::HeaderValue;
use uuid::Uuid;

use crate::error::CliError;

const KEY_BYTES_MAX: usize = 255;

/// The given key, or a new one.
pub(crate) fn of(given: Option<&str>) -> Result<HeaderValue, CliError> {
    let Some(given) = given else {
        let made_up = Uuid::now_v7().to_string();
        return HeaderValue::try_from(made_up).or(Err(CliError::IdempotencyKey));
    };
    let bytes = given.as_bytes();
    if bytes.is_empty() || bytes.len() > KEY_BYTES_MAX || !bytes.iter().all(u8::is_ascii_graphic) {
        return Err(CliError::IdempotencyKey);
    }
    HeaderValue::from_str(given).or(Err(CliError::IdempotencyKey))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_as_given_or_made_up_anew() {
        assert_eq!(of(Some("round-1")).unwrap(), "round-1");
        assert_ne!(of(None).unwrap(), of(None).unwrap());
        for text in ["", "a b", "é", &"x".repeat(KEY_BYTES_MAX + 1)] {
            assert!(matches!(of(Some(text)), Err(CliError::IdempotencyKey)), "{text}");
        }
    }
}
