//! Masks what looks like a secret, before a line leaves this crate and before a log is stored. A mask too many costs a
//! word; one too few a key.
//!
//! One table of shapes serves both: [`redact`] for texts, [`Masker`] for logs of any length.

mod class;
mod find;
mod key_block;
mod masker;
mod named;
mod options;
mod places;
mod tokens;

use std::borrow::Cow;

pub use masker::Masker;

const MASK: &str = "[redacted]";

/// The text with each secret replaced by a word.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = find::all(text.as_bytes());
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for secret in secrets {
        // A bound in the middle of a character is moved out of it.
        let start = text.floor_char_boundary(secret.start).max(done);
        let end = text.ceil_char_boundary(secret.end);
        masked.push_str(&text[done..start]);
        masked.push_str(MASK);
        done = end;
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests;
