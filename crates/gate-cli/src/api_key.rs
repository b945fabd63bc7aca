//! The API key: read from where it is kept, sent, and never printed.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::arguments::GlobalArguments;
use crate::document;
use crate::error::CliError;

/// A file that holds a key holds nothing else.
const KEY_FILE_BYTES_MAX: u64 = 4096;

/// A key as it was given. Its form is looked at only when it is sent: an error must not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiKey(String);

/// Why there is no key to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("no API key: set DONEGATE_KEY or DONEGATE_KEY_FILE, or give --key-file FILE")]
    Missing,
    #[error(
        "the API key has characters that no key has: give the key alone, as it was shown (dg_…)"
    )]
    Form,
}

impl ApiKey {
    /// The key that the arguments or the environment name.
    pub(crate) fn find(global: &GlobalArguments) -> Result<Self, CliError> {
        // Compose files set variables to nothing; nothing is no key.
        if let Some(key) = global.key.as_ref().filter(|it| !it.0.trim().is_empty()) {
            return Ok(key.clone());
        }
        let path = global.key_file.as_ref().filter(|it| !it.as_os_str().is_empty());
        let Some(path) = path else { return Err(KeyError::Missing.into()) };
        let bytes = document::read_bytes(path, KEY_FILE_BYTES_MAX)?;
        String::from_utf8(bytes).map(Self).or(Err(KeyError::Form.into()))
    }

    /// The header that carries it.
    pub(crate) fn header(&self) -> Result<HeaderValue, KeyError> {
        let key = self.0.trim();
        if key.is_empty() {
            return Err(KeyError::Missing);
        }
        if !key.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(KeyError::Form);
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {key}")).or(Err(KeyError::Form))?;
        header.set_sensitive(true);
        Ok(header)
    }
}

impl From<String> for ApiKey {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_as_a_bearer_token_and_debug_hides_it() {
        let header = ApiKey::from(" dg_abc\n".to_owned()).header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer dg_abc");
        assert_eq!(format!("{header:?}"), "Sensitive");
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_being_shown() {
        assert_eq!(ApiKey::from("\n".to_owned()).header(), Err(KeyError::Missing));
        for text in ["dg_a b", "dg_a\nb", "dg_é"] {
            assert_eq!(ApiKey::from(text.to_owned()).header(), Err(KeyError::Form));
        }
    }
}
