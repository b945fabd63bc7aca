//! The secret key of this gate, and the callback secrets that are derived from it.
//!
//! No callback secret is stored: it follows from key, project, and generation, so that the
//! database alone signs nothing.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const KEY_BYTES: usize = 32;
/// Standard Webhooks 1.0.0, "Signature scheme": 24 to 64 bytes.
const SECRET_BYTES_MIN: usize = 24;
const SECRET_BYTES_MAX: usize = 64;
const SECRET_PREFIX: &str = "whsec_";
const FINGERPRINT_BYTES: usize = 8;

/// The one secret of a gate, shared by all of its processes. Does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; KEY_BYTES]);

/// The text was no secret key. It is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretKeyError {
    /// Neither form.
    #[error(
        "the secret key is 32 bytes as 44 characters of base64 or 64 hex digits \
         (`openssl rand -base64 32` makes one); this text is neither"
    )]
    Form,
    /// The right form, but not as long as a key is.
    #[error(
        "the secret key is 32 bytes as 44 characters of base64 or 64 hex digits \
         (`openssl rand -base64 32` makes one); this one has {bytes} bytes"
    )]
    Length {
        /// How many there were.
        bytes: usize,
    },
}

impl SecretKey {
    /// A new one, from the operating system's randomness.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// As text for a key file. Whoever has it can sign as this gate.
    #[must_use]
    pub fn expose_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Names the key without giving it away: for `Store::agree_on_secret_key`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex::encode(&self.derive(&[b"donegate fingerprint"])[..FINGERPRINT_BYTES])
    }

    /// The secret with which callbacks of this project are signed.
    #[must_use]
    pub fn callback_secret(&self, project_id: i64, generation: u32) -> CallbackSecret {
        let label = b"donegate callback";
        let secret = self.derive(&[label, &project_id.to_be_bytes(), &generation.to_be_bytes()]);
        CallbackSecret(secret.to_vec())
    }

    fn derive(&self, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        let mut mac = keyed(&self.0);
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    fn from_str(text: &str) -> Result<Self, SecretKeyError> {
        let text = text.trim();
        let bytes = match hex::decode(text) {
            Ok(bytes) => bytes,
            Err(_) => [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
                .iter()
                .find_map(|it| it.decode(text).ok())
                .ok_or(SecretKeyError::Form)?,
        };
        let length = bytes.len();
        bytes.try_into().map(Self).or(Err(SecretKeyError::Length { bytes: length }))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What sender and receiver of one project's callbacks share. Does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackSecret(Vec<u8>);

/// The text was no callback secret. It is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a callback secret is `whsec_` and 24 to 64 bytes of base64")]
pub struct SecretTextError;

impl CallbackSecret {
    /// `whsec_…`, as receivers configure it.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(&self.0))
    }

    pub(super) fn mac(&self) -> Hmac<Sha256> {
        keyed(&self.0)
    }
}

impl FromStr for CallbackSecret {
    type Err = SecretTextError;

    fn from_str(text: &str) -> Result<Self, SecretTextError> {
        let text = text.trim();
        let encoded = text.strip_prefix(SECRET_PREFIX).unwrap_or(text);
        let bytes = STANDARD.decode(encoded).or(Err(SecretTextError))?;
        let fits = (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len());
        if fits { Ok(Self(bytes)) } else { Err(SecretTextError) }
    }
}

impl fmt::Debug for CallbackSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey([7; KEY_BYTES])
    }

    #[test]
    fn a_key_reads_base64_with_and_without_padding_and_hex() {
        let key = SecretKey([0xfb; KEY_BYTES]);
        for text in [
            key.expose_base64(),
            key.expose_base64().trim_end_matches('=').to_owned(),
            URL_SAFE.encode(key.0),
            hex::encode(key.0),
            format!("{}\n", hex::encode_upper(key.0)),
        ] {
            assert_eq!(text.parse(), Ok(key.clone()));
        }
    }

    #[test]
    fn a_text_that_is_no_key_is_refused_without_repeating_it() {
        assert_eq!("correct horse!".parse::<SecretKey>(), Err(SecretKeyError::Form));
        let short = STANDARD.encode([1; 16]);
        let error = short.parse::<SecretKey>().unwrap_err();
        assert_eq!(error, SecretKeyError::Length { bytes: 16 });
        assert!(error.to_string().contains("16 bytes") && !error.to_string().contains(&short));
        assert_eq!("".parse::<SecretKey>(), Err(SecretKeyError::Length { bytes: 0 }));
    }

    #[test]
    fn a_secret_differs_by_key_project_and_generation() {
        let secret = key().callback_secret(1, 1);
        assert_eq!(secret, key().callback_secret(1, 1));
        assert_ne!(secret, key().callback_secret(1, 2));
        assert_ne!(secret, key().callback_secret(2, 1));
        assert_ne!(secret, SecretKey([8; KEY_BYTES]).callback_secret(1, 1));
        assert_ne!(SecretKey::random(), SecretKey::random());
    }

    #[test]
    fn a_derived_secret_never_changes() {
        // Receivers have configured it: another text here breaks every one of them.
        let secret = "whsec_RA/wazqFuCjT996VTcFAl55Umclb7obGDsOnFzGtGBY=";
        assert_eq!(key().callback_secret(42, 3).expose(), secret);
        assert_eq!(key().fingerprint(), "3201e1a80b1f63da");
    }

    #[test]
    fn a_callback_secret_reads_back_what_it_shows() {
        let secret = key().callback_secret(1, 1);
        assert_eq!(secret.expose().parse(), Ok(secret));
        for text in ["", "whsec_", "whsec_!", "whsec_c2hvcnQ="] {
            assert_eq!(text.parse::<CallbackSecret>(), Err(SecretTextError), "{text}");
        }
    }

    #[test]
    fn neither_key_nor_secret_prints() {
        let printed = format!("{:?} {:?}", key(), key().callback_secret(1, 1));
        assert_eq!(printed, "[redacted] [redacted]");
    }
}
