//! Keys: a checked namespace, and where a digest stands in it.

use gate_core::Sha256Digest;

use crate::BlobError;

const WORDS_MAX: usize = 4;
const BYTES_MAX: usize = 128;

/// One to four plain words, with slashes between them: nothing that could lead out of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn parse(text: &str) -> Result<Self, BlobError> {
        let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_".contains(&it);
        let word = |it: &str| !it.is_empty() && it.bytes().all(plain);
        let fits = text.len() <= BYTES_MAX && text.split('/').count() <= WORDS_MAX;
        if fits && text.split('/').all(word) {
            return Ok(Self(text.to_owned()));
        }
        Err(BlobError::BadNamespace { namespace: text.chars().take(BYTES_MAX).collect() })
    }

    /// `<namespace>/<aa>/<hex>`: no directory grows beyond what a file system likes.
    pub(crate) fn key(&self, sha256: Sha256Digest) -> String {
        let hex = sha256.to_hex();
        format!("{}/{}/{hex}", self.0, &hex[..2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_namespace_and_digest() {
        let digest = Sha256Digest::from_bytes([0xa7; 32]);
        let key = Namespace::parse("projects/12").unwrap().key(digest);
        assert_eq!(key, format!("projects/12/a7/{}", "a7".repeat(32)));
    }

    #[test]
    fn a_namespace_that_could_lead_elsewhere_is_refused() {
        let long = "a".repeat(BYTES_MAX + 1);
        for text in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "..",
            "a/..",
            "a.b",
            "A",
            "a b",
            "a/b/c/d/e",
            "é",
            "a\0",
            &long,
        ] {
            let error = Namespace::parse(text).unwrap_err();
            assert!(matches!(error, BlobError::BadNamespace { .. }), "{text:?}");
        }
    }
}
