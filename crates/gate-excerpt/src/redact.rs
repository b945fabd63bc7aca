//! Masks what looks like a secret, before a line leaves this crate. A mask too many costs a word; one too few a key.

use std::borrow::Cow;

use crate::pattern::{Pattern, pattern};

const MASK: &str = "[redacted]";

/// Shapes that are secrets by themselves.
static TOKEN: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"|\bgh[pousr]_[A-Za-z0-9]{30,}",
        r"|\bgithub_pat_[A-Za-z0-9_]{40,}",
        r"|\bglpat-[A-Za-z0-9_-]{20,}",
        r"|\bxox[abprs]-[A-Za-z0-9-]{10,}",
        r"|\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        r"|\bsk-[A-Za-z0-9_-]{20,}",
        r"|\bAIza[0-9A-Za-z_-]{35}",
        r"|\bnpm_[A-Za-z0-9]{36}\b",
        r"|\bpypi-[A-Za-z0-9_-]{40,}",
        r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ))
});

/// Values that a name or a place makes secrets: the first group stays.
static NAMED: Pattern = Pattern::new(|| {
    pattern(concat!(
        r#"(?i)((?:\b|_)(?:password|passwd|pwd|secret|secret_?key|api_?key|access_?key|private_?key"#,
        r#"|auth_?token|access_?token|refresh_?token|client_?secret)["']?\s*[=:]\s*["']?)[^\s"',;]{4,}"#,
        r"|(\b(?:bearer|authorization:\s*basic)\s+)[A-Za-z0-9._~+/=-]{12,}",
        r"|(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]+@",
    ))
});

/// A line of a key whose first line was cut off.
static KEY_LINE: Pattern = Pattern::new(|| pattern(r"(?m)^[A-Za-z0-9+/]{64}$"));

/// The text with each secret masked.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if TOKEN.is_match(&text) {
        text = Cow::Owned(TOKEN.replace_all(&text, MASK).into_owned());
    }
    if NAMED.is_match(&text) {
        let masked = NAMED.replace_all(&text, |found: &regex::Captures<'_>| {
            let kept = (1..4).find_map(|it| found.get(it)).map_or("", |it| it.as_str());
            let at = if found.get(3).is_some() { "@" } else { "" };
            format!("{kept}{MASK}{at}")
        });
        text = Cow::Owned(masked.into_owned());
    }
    if KEY_LINE.is_match(&text) {
        let masked = KEY_LINE.replace_all(&text, |found: &regex::Captures<'_>| {
            let line = &found[0];
            // A digest in hexadecimal is no key.
            let is_key = line.bytes().any(|it| it.is_ascii_uppercase())
                && line.bytes().any(|it| it.is_ascii_lowercase());
            if is_key { MASK.to_owned() } else { line.to_owned() }
        });
        text = Cow::Owned(masked.into_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_secrets_are_masked() {
        let cases = [
            ("key AKIAIOSFODNN7EXAMPLE used", "key [redacted] used"),
            (&format!("push ghp_{}", "a1B2".repeat(9)), "push [redacted]"),
            ("DB_PASSWORD=hunter22 retry", "DB_PASSWORD=[redacted] retry"),
            (r#"{"api_key": "abcdef123456"}"#, r#"{"api_key": "[redacted]"}"#),
            ("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"),
            ("postgres://app:s3cret@db/x", "postgres://app:[redacted]@db/x"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nok",
                "[redacted]\nok",
            ),
        ];
        for (text, masked) in cases {
            assert_eq!(redact(text), masked);
        }
    }

    #[test]
    fn a_key_without_its_first_line_is_masked_and_a_digest_is_not() {
        let line = format!("{}Zz9", "aB3/".repeat(16))[..64].to_owned();
        assert_eq!(redact(&line), MASK);
        let digest = "0123456789abcdef".repeat(4);
        assert_eq!(redact(&digest), digest);
    }

    #[test]
    fn ordinary_output_is_untouched() {
        for text in ["expected token `;`", "left: \"password\"", "wrong password: 3 attempts"] {
            assert_eq!(redact(text), text);
        }
    }
}
