//! API keys: `dg_`, 32 random characters, and a checksum, so that a typo is told without a query.

use std::fmt;
use std::str::FromStr;

use gate_core::{KeyId, Sha256Digest};
use gate_store::NewApiKey;
use rand::distr::{Alphanumeric, SampleString};
use sha2::{Digest, Sha256};
use uuid::Uuid;

const PREFIX: &str = "dg_";
/// About 190 bits.
const RANDOM_CHARACTERS: usize = 32;
const CHECKSUM_CHARACTERS: usize = 6;
/// Of the random part; enough to tell keys apart, useless to guess the rest.
const SHOWN_CHARACTERS: usize = 8;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The secret of a key. Shown once, stored hashed, never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeySecret(String);

/// The text is not an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an API key is `dg_` and 38 letters and digits, the last six of which are a checksum")]
pub struct ApiKeyError;

impl ApiKeySecret {
    /// A new secret from the system's randomness.
    #[must_use]
    pub fn generate() -> Self {
        let random = Alphanumeric.sample_string(&mut rand::rng(), RANDOM_CHARACTERS);
        Self(format!("{PREFIX}{random}{}", checksum(&random)))
    }

    /// The text, for its one answer and for hashing.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is shown of it later.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[..PREFIX.len() + SHOWN_CHARACTERS]
    }

    /// What is stored of it.
    #[must_use]
    pub fn sha256(&self) -> Sha256Digest {
        Sha256Digest::from_bytes(Sha256::digest(&self.0).into())
    }

    /// An admin key of the whole gate, to be stored.
    #[must_use]
    pub fn as_admin_key<'a>(&'a self, name: &'a str, roles: &'a [String]) -> NewApiKey<'a> {
        NewApiKey {
            id: KeyId::from_uuid(Uuid::now_v7()),
            project_id: None,
            name,
            prefix: self.prefix(),
            sha256: self.sha256(),
            roles,
            expires_at: None,
        }
    }
}

impl FromStr for ApiKeySecret {
    type Err = ApiKeyError;

    fn from_str(text: &str) -> Result<Self, ApiKeyError> {
        let rest = text.strip_prefix(PREFIX).ok_or(ApiKeyError)?;
        let plain = rest.bytes().all(|it| it.is_ascii_alphanumeric());
        if rest.len() != RANDOM_CHARACTERS + CHECKSUM_CHARACTERS || !plain {
            return Err(ApiKeyError);
        }
        let (random, sum) = rest.split_at(RANDOM_CHARACTERS);
        if checksum(random) == sum { Ok(Self(text.to_owned())) } else { Err(ApiKeyError) }
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// CRC32 of the random part, in base 62.
fn checksum(random: &str) -> String {
    let mut rest = crc32fast::hash(random.as_bytes());
    let mut digits = ['0'; CHECKSUM_CHARACTERS];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(BASE62[(rest % 62) as usize]);
        rest /= 62;
    }
    digits.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_reads_back_and_no_two_are_alike() {
        let key = ApiKeySecret::generate();
        assert_eq!(key.expose().parse(), Ok(key.clone()));
        assert_ne!(key, ApiKeySecret::generate());
        assert_eq!(key.expose().len(), 3 + 38);
    }

    #[test]
    fn a_typo_is_told_without_a_query() {
        let key = ApiKeySecret::generate().expose().to_owned();
        let last = if key.ends_with('0') { "1" } else { "0" };
        let typo = format!("{}{last}", &key[..key.len() - 1]);
        assert_eq!(typo.parse::<ApiKeySecret>(), Err(ApiKeyError));
        assert_eq!("dg_".parse::<ApiKeySecret>(), Err(ApiKeyError));
        assert_eq!("dg_ü".repeat(9).parse::<ApiKeySecret>(), Err(ApiKeyError));
    }

    #[test]
    fn a_key_is_never_printed_by_accident() {
        assert_eq!(format!("{:?}", ApiKeySecret::generate()), "[redacted]");
    }
}
