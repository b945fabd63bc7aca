//! Values that a name makes secrets: `password=…`, `"api_key": "…"`, `--token …`.

use std::ops::Range;

use super::class::{Class, is_place, looks_random};

/// Names whose value is a secret whatever it looks like, where it is quoted or stands in an environment.
pub(super) const SURE: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secret_key",
    "secret-key",
    "secretkey",
    "secret_key_base",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "accesskey",
    "private_key",
    "privatekey",
    "account_key",
    "accountkey",
    "sharedaccesskey",
    "encryption_key",
    "signing_key",
    "auth_token",
    "access_token",
    "refresh_token",
    "session_token",
    "client_secret",
];
/// Names that also stand for other things: their value must look like a secret.
pub(super) const MAYBE: &[&str] =
    &["token", "credential", "credentials", "auth_key", "authkey", "auth-key", "sessionid"];

/// Blanks around the separator.
const BLANKS_MAX: usize = 3;
/// A quoted value.
const QUOTED_BYTES_MAX: usize = 1024;
/// As much of a value tells whether it is a secret; more would make the search slower than linear.
const LOOKED_AT_BYTES_MAX: usize = 64;
/// Shorter is no secret.
const VALUE_BYTES_MIN: usize = 4;
/// The same in a sentence.
const TOLD_BYTES_MIN: usize = 7;

/// The value behind a name that ends at `end`.
pub(super) fn find(
    text: &[u8],
    name: Range<usize>,
    is_sure: bool,
) -> Option<(Range<usize>, Class)> {
    let is_option = text[..name.start].ends_with(b"--") || text[..name.start].ends_with(b" -");
    let is_environment =
        text[name.clone()].iter().all(|it| it.is_ascii_uppercase() || !it.is_ascii_alphabetic());
    let (value, separator) = after_separator(text, name.end, is_option)?;
    let quote = *text.get(value)?;
    if matches!(quote, b'"' | b'\'' | b'`') {
        let start = value + 1;
        let end = start + quoted(&text[start..], quote)?;
        let inner = &text[start..end];
        let is_words = inner.iter().any(u8::is_ascii_whitespace);
        let is_secret = inner.len() >= VALUE_BYTES_MIN && !is_words && !is_place(inner);
        return (is_secret && (is_sure || looks_random(inner)))
            .then_some((start..end, Class::Value));
    }
    let limit = text.len().min(value + LOOKED_AT_BYTES_MAX);
    let end = value + Class::Value.run(&text[value..limit]);
    let inner = trimmed(&text[value..end]);
    let is_plain = is_environment && is_sure && separator == b'=' && !is_nothing(inner);
    let is_told = match separator {
        // In a sentence a word may follow: `the secret is base64`.
        b'i' => is_sure && inner.len() >= TOLD_BYTES_MIN && looks_random(inner),
        _ => looks_random(inner) || (is_sure && has_sign(inner)),
    };
    let is_secret = inner.len() >= VALUE_BYTES_MIN && !is_place(inner) && (is_plain || is_told);
    is_secret.then(|| {
        let is_longer = value + inner.len() == limit;
        let more = if is_longer { Class::Value.run(&text[limit..]) } else { 0 };
        (value..value + inner.len() + more, Class::Value)
    })
}

/// A sign between letters that words do not have: `p@ssword`.
fn has_sign(value: &[u8]) -> bool {
    value.windows(3).any(|it| {
        it[0].is_ascii_alphanumeric() && b"@#$^".contains(&it[1]) && it[2].is_ascii_alphanumeric()
    })
}

/// Where the value begins, and what stands before it: `=`, `:`, `=>`, `:=`, `i` for `is`, or for an option a blank.
fn after_separator(text: &[u8], name_end: usize, is_option: bool) -> Option<(usize, u8)> {
    let mut at = name_end;
    // The end of a quoted name, also an escaped one: `"password": `, `["password"] = `, `\"password\":`.
    while text.get(at).is_some_and(|it| matches!(it, b'"' | b'\'' | b']' | b'\\'))
        && at < name_end + 3
    {
        at += 1;
    }
    let blanks = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter().take(BLANKS_MAX).take_while(|it| matches!(it, b' ' | b'\t')).count()
    };
    let before = blanks(at);
    let separator = *text.get(at + before)?;
    if before == 1 && text[at..].starts_with(b" is ") {
        return Some((at + 4, b'i'));
    }
    if !matches!(separator, b'=' | b':') {
        return (is_option && before == 1).then_some((at + 1, b' '));
    }
    at += before + 1;
    if text.get(at).is_some_and(|it| matches!(it, b'>' | b'=')) {
        // A comparison is not an assignment; its other side may be a secret all the same.
        at += 1;
    }
    at += blanks(at);
    if text.get(at) == Some(&b'\\') && text.get(at + 1) == Some(&b'"') {
        at += 1;
    }
    Some((at, separator))
}

/// Bytes up to the closing quote in the same line.
fn quoted(text: &[u8], quote: u8) -> Option<usize> {
    let ends = |it: &u8| *it == quote || matches!(*it, b'\n' | b'\r' | b'\\');
    let end = text.iter().take(QUOTED_BYTES_MAX).position(ends)?;
    matches!(text[end], b'\\').then_some(end).or_else(|| (text[end] == quote).then_some(end))
}

/// Without what closes something around it.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|it| !b")]}>.".contains(it)).map_or(0, |it| it + 1);
    &value[..end]
}

fn is_nothing(value: &[u8]) -> bool {
    let nothings: [&[u8]; 8] =
        [b"none", b"null", b"nil", b"true", b"false", b"undefined", b"unset", b"redacted"];
    nothings.iter().any(|it| value.eq_ignore_ascii_case(it))
}
