//! Values that their place makes secrets: headers, the password of a URL, the parts of a JWT.

use std::ops::Range;

use super::class::{Class, is_place, looks_random};
use super::options;

/// A part of a URL before its host.
const USER_BYTES_MAX: usize = 512;
/// The rest of a header's line.
const LINE_BYTES_MAX: usize = 4096;
/// As much of a value tells whether it is a secret.
const LOOKED_AT_BYTES_MAX: usize = 64;
/// The schemes of an `Authorization` header.
const SCHEMES: [&[u8]; 7] =
    [b"basic", b"bearer", b"token", b"digest", b"negotiate", b"apikey", b"aws4-hmac-sha256"];

pub(super) type Found = Option<(Range<usize>, Class)>;

/// What a literal leads to.
pub(super) type Place = (&'static str, fn(&[u8], Range<usize>) -> Found);

pub(super) const PLACES: &[Place] = &[
    ("authorization", authorization),
    ("bearer ", bearer),
    ("cookie:", cookie),
    ("://", url),
    ("eyJ", jwt),
    ("hooks.slack.com/services/", slack_hook),
    ("&sig=", signature),
    ("?sig=", signature),
    (".atlasv1.", terraform),
    ("Q~", azure_client),
    (":AA", telegram),
    (" -p", options::password),
    (" -u", options::user),
    (" --user", options::user),
];

fn authorization(text: &[u8], mark: Range<usize>) -> Found {
    let mut at = mark.end;
    let skip = |at: usize, bytes: &[u8]| {
        text.get(at..)
            .unwrap_or_default()
            .iter()
            .take(4)
            .take_while(|it| bytes.contains(it))
            .count()
    };
    at += skip(at, b"\"'\\");
    at += skip(at, b" \t");
    if !text.get(at).is_some_and(|it| matches!(it, b':' | b'=')) {
        return None;
    }
    at += 1;
    at += skip(at, b" \t\"'\\");
    let word = Class::Dashed.run(&text[at.min(text.len())..]);
    let scheme = &text[at..at + word];
    let is_scheme = SCHEMES.iter().any(|it| scheme.eq_ignore_ascii_case(it));
    if is_scheme && text.get(at + word) == Some(&b' ') {
        at += word + 1;
        let is_end = |it: &u8| matches!(it, b'\n' | b'\r' | b'"' | b'\'' | b'\\');
        let bytes = text[at..].iter().take(LINE_BYTES_MAX).take_while(|it| !is_end(it)).count();
        let value = text[at..at + bytes].trim_ascii_end();
        return (value.len() >= 6 && !is_place(value))
            .then(|| (at..at + value.len(), Class::Token));
    }
    let limit = text.len().min(at + LOOKED_AT_BYTES_MAX);
    let bytes = Class::Token.run(&text[at..limit]);
    looks_random(&text[at..at + bytes]).then(|| {
        let more = if at + bytes == limit { Class::Token.run(&text[limit..]) } else { 0 };
        (at..at + bytes + more, Class::Token)
    })
}

fn bearer(text: &[u8], mark: Range<usize>) -> Found {
    let bytes = Class::Token.run(&text[mark.end..]);
    let is_secret = bytes >= 12 && looks_random(&text[mark.end..mark.end + bytes]);
    is_secret.then(|| (mark.end..mark.end + bytes, Class::Token))
}

/// `Cookie: a=1; b=2` as a whole; of `Set-Cookie: a=1; Path=/` the value.
fn cookie(text: &[u8], mark: Range<usize>) -> Found {
    let rest = &text[mark.end..];
    let equals = rest.iter().take(LOOKED_AT_BYTES_MAX).position(|it| matches!(it, b'=' | b'\n'))?;
    if rest[equals] != b'=' {
        return None;
    }
    let before = &text[mark.start.saturating_sub(4)..mark.start];
    let is_set = before.eq_ignore_ascii_case(b"set-");
    let is_end = |it: &u8| matches!(it, b'\n' | b'\r') || is_set && *it == b';';
    let end =
        rest.iter().take(LINE_BYTES_MAX).position(is_end).unwrap_or(rest.len().min(LINE_BYTES_MAX));
    let start = if is_set { equals + 1 } else { rest.iter().take_while(|it| **it == b' ').count() };
    (end > start + 3).then(|| (mark.end + start..mark.end + end, Class::Value))
}

/// `scheme://user:password@host`, or a token in the place of the user.
fn url(text: &[u8], mark: Range<usize>) -> Found {
    let is_end = |it: &u8| it.is_ascii_whitespace() || b"/\"'`<>?#@\\".contains(it);
    let rest = &text[mark.end..];
    let end = rest.iter().take(USER_BYTES_MAX).position(is_end)?;
    if rest[end] != b'@' {
        return None;
    }
    let user = &rest[..end];
    let start = match user.iter().position(|it| *it == b':') {
        Some(colon) if colon + 1 < end && !is_place(&user[colon + 1..]) => colon + 1,
        None if end >= 20 && looks_random(user) => 0,
        Some(_) | None => return None,
    };
    Some((mark.end + start..mark.end + end, Class::Value))
}

/// Two objects in base64 and a signature, with dots between.
fn jwt(text: &[u8], mark: Range<usize>) -> Found {
    if &text[mark.clone()] != b"eyJ" || starts_in_word(text, mark.start) {
        return None;
    }
    let head = mark.start + Class::Dashed.run(&text[mark.start..]);
    let body = text.get(head..)?.strip_prefix(b".eyJ")?;
    let body = head + 4 + Class::Dashed.run(body);
    if text.get(body) != Some(&b'.') || head < mark.start + 11 || body < head + 12 {
        return None;
    }
    let end = body + 1 + Class::Dashed.run(&text[body + 1..]);
    Some((mark.start..end, Class::Dashed))
}

fn slack_hook(text: &[u8], mark: Range<usize>) -> Found {
    let bytes = Class::Token.run(&text[mark.end..]);
    (bytes >= 20).then_some((mark.end..mark.end + bytes, Class::Token))
}

fn signature(text: &[u8], mark: Range<usize>) -> Found {
    let bytes = Class::Token.run(&text[mark.end..]);
    (bytes >= 30).then_some((mark.end..mark.end + bytes, Class::Token))
}

fn terraform(text: &[u8], mark: Range<usize>) -> Found {
    let bytes = Class::Dashed.run(&text[mark.end..]);
    (bytes >= 60).then_some((mark.end..mark.end + bytes, Class::Dashed))
}

/// Three characters, a digit, `Q~`, and 31 or more.
fn azure_client(text: &[u8], mark: Range<usize>) -> Found {
    let start = mark.start.checked_sub(4)?;
    let is_word = |it: &u8| Class::Dotted.has(*it) || *it == b'~';
    let is_start =
        text[start..mark.start].iter().all(is_word) && text[mark.start - 1].is_ascii_digit();
    let bytes = text[mark.end..].iter().take(64).take_while(|it| is_word(it)).count();
    let is_secret = &text[mark.clone()] == b"Q~" && is_start && (31..=40).contains(&bytes);
    is_secret.then(|| (start..mark.end + bytes, Class::Dotted))
}

/// Eight to ten digits, `:AA`, and 33 more.
fn telegram(text: &[u8], mark: Range<usize>) -> Found {
    let digits =
        text[..mark.start].iter().rev().take(11).take_while(|it| it.is_ascii_digit()).count();
    let bytes = Class::Dashed.run(&text[mark.end..]);
    let is_secret = &text[mark.clone()] == b":AA" && (8..=10).contains(&digits) && bytes == 33;
    is_secret.then(|| (mark.start - digits..mark.end + bytes, Class::Dashed))
}

fn starts_in_word(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|it| Class::Dashed.has(text[it]))
}
