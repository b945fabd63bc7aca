//! Signatures of Standard Webhooks 1.0.0: `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::secret::CallbackSecret;

/// The callback's id, the same on every attempt: what a receiver drops doubles by.
pub const HEADER_ID: &str = "webhook-id";
/// When this attempt was signed, in seconds since 1970.
pub const HEADER_TIMESTAMP: &str = "webhook-timestamp";
/// One signature, or several with spaces between them while two secrets are valid.
pub const HEADER_SIGNATURE: &str = "webhook-signature";

const VERSION: &str = "v1,";
/// How far a timestamp may be off, as all verifiers have it.
const TOLERANCE_SECONDS: i64 = 5 * 60;

/// The value of [`HEADER_SIGNATURE`]: one signature for each secret, the newest first.
#[must_use]
pub fn sign(secrets: &[CallbackSecret], id: &str, timestamp: i64, body: &[u8]) -> String {
    let one = |secret: &CallbackSecret| {
        let mac = over(secret, id, timestamp, body).finalize();
        format!("{VERSION}{}", STANDARD.encode(mac.into_bytes()))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A callback as it was received.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// Of [`HEADER_ID`].
    pub id: &'a str,
    /// Of [`HEADER_TIMESTAMP`].
    pub timestamp: &'a str,
    /// Of [`HEADER_SIGNATURE`].
    pub signature: &'a str,
    /// The exact bytes.
    pub body: &'a [u8],
}

/// Why a callback is not to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No number of seconds.
    #[error("`webhook-timestamp` is no number of seconds")]
    Timestamp,
    /// Replayed, or a clock is wrong.
    #[error("`webhook-timestamp` is more than 5 minutes off")]
    Stale,
    /// Another secret, or another body.
    #[error("no signature of `webhook-signature` is of this secret and this body")]
    Signature,
}

impl Signed<'_> {
    /// Whether it was signed with this secret, a moment ago.
    ///
    /// # Errors
    /// See [`SignatureError`].
    pub fn verify(
        &self,
        secret: &CallbackSecret,
        now: DateTime<Utc>,
    ) -> Result<(), SignatureError> {
        let timestamp: i64 = self.timestamp.parse().or(Err(SignatureError::Timestamp))?;
        if now.timestamp().abs_diff(timestamp) > TOLERANCE_SECONDS.unsigned_abs() {
            return Err(SignatureError::Stale);
        }
        let mac = over(secret, self.id, timestamp, self.body);
        let given = self.signature.split(' ').filter_map(|it| it.strip_prefix(VERSION));
        let mut given = given.filter_map(|it| STANDARD.decode(it).ok());
        if given.any(|it| mac.clone().verify_slice(&it).is_ok()) {
            Ok(())
        } else {
            Err(SignatureError::Signature)
        }
    }
}

fn over(secret: &CallbackSecret, id: &str, timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = secret.mac();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    mac
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::*;
    use crate::callback::SecretKey;
    use crate::clock::{Clock, SystemClock};

    const ID: &str = "0199c0de-0000-7000-8000-000000000000";
    const BODY: &str = r#"{"type":"verdict.decided","data":{"title":"Bestellübersicht 注文 🧾"}}"#;

    fn secrets() -> [CallbackSecret; 2] {
        let key: SecretKey = hex::encode([7; 32]).parse().unwrap();
        [key.callback_secret(1, 2), key.callback_secret(1, 1)]
    }

    fn headers(secrets: &[CallbackSecret], timestamp: i64) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut insert = |name, value: String| {
            headers.insert(name, HeaderValue::try_from(value).unwrap());
        };
        insert(HEADER_ID, ID.to_owned());
        insert(HEADER_TIMESTAMP, timestamp.to_string());
        insert(HEADER_SIGNATURE, sign(secrets, ID, timestamp, BODY.as_bytes()));
        headers
    }

    /// What the crates that receivers use say, and what we say: all three agree, or this panics.
    fn is_accepted(secret: &CallbackSecret, headers: &HeaderMap, body: &str) -> bool {
        let text = |name| headers.get(name).unwrap().to_str().unwrap();
        let ours = Signed {
            id: text(HEADER_ID),
            timestamp: text(HEADER_TIMESTAMP),
            signature: text(HEADER_SIGNATURE),
            body: body.as_bytes(),
        };
        let ours = ours.verify(secret, SystemClock.now()).is_ok();
        let standard = standardwebhooks::Webhook::new(&secret.expose()).unwrap();
        let svix = svix::webhooks::Webhook::new(&secret.expose()).unwrap();
        assert_eq!(standard.verify(body.as_bytes(), headers).is_ok(), ours);
        assert_eq!(svix.verify(body.as_bytes(), headers).is_ok(), ours);
        ours
    }

    fn now() -> i64 {
        SystemClock.now().timestamp()
    }

    #[test]
    fn the_crates_of_receivers_accept_a_body_beyond_ascii() {
        let [secret, _] = secrets();
        assert!(is_accepted(&secret, &headers(std::slice::from_ref(&secret), now()), BODY));
    }

    #[test]
    fn our_signature_is_the_one_that_the_reference_makes() {
        let [secret, _] = secrets();
        let reference = standardwebhooks::Webhook::new(&secret.expose()).unwrap();
        let expected = reference.sign(ID, 1_700_000_000, BODY.as_bytes()).unwrap();
        assert_eq!(sign(&[secret], ID, 1_700_000_000, BODY.as_bytes()), expected);
    }

    #[test]
    fn while_a_rotation_lasts_both_secrets_verify_and_afterwards_the_new_one_alone() {
        let [new, old] = secrets();
        let during = headers(&[new.clone(), old.clone()], now());
        assert!(is_accepted(&new, &during, BODY) && is_accepted(&old, &during, BODY));
        let after = headers(std::slice::from_ref(&new), now());
        assert!(is_accepted(&new, &after, BODY) && !is_accepted(&old, &after, BODY));
    }

    #[test]
    fn what_was_tampered_with_is_refused() {
        let [secret, other] = secrets();
        let good = headers(std::slice::from_ref(&secret), now());
        assert!(!is_accepted(&secret, &good, &BODY.replace("decided", "denied")));
        assert!(!is_accepted(&other, &good, BODY));
        for (name, value) in [(HEADER_ID, "another"), (HEADER_SIGNATURE, "v1,AAAA v2,x nonsense")] {
            let mut bad = good.clone();
            bad.insert(name, HeaderValue::from_static(value));
            assert!(!is_accepted(&secret, &bad, BODY), "{name}");
        }
        let mut moved = good;
        moved.insert(HEADER_TIMESTAMP, HeaderValue::from(now() + 1));
        assert!(!is_accepted(&secret, &moved, BODY));
    }

    #[test]
    fn a_timestamp_that_is_too_old_or_too_new_is_refused() {
        let [secret, _] = secrets();
        for timestamp in [now() - 301, now() + 310] {
            assert!(!is_accepted(
                &secret,
                &headers(std::slice::from_ref(&secret), timestamp),
                BODY
            ));
        }
        let mut bad = headers(std::slice::from_ref(&secret), now());
        bad.insert(HEADER_TIMESTAMP, HeaderValue::from_static("yesterday"));
        assert!(!is_accepted(&secret, &bad, BODY));
    }
}
