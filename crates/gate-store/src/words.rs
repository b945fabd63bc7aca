//! Columns to types: numbers that fit, and words that are known.

use gate_core::{Sha256Digest, TaskState};

use crate::StoreError;

/// A count in a column is never negative, and never near the limit.
pub(crate) fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

pub(crate) fn big(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn small(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

pub(crate) fn long(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// PostgreSQL holds no NUL in text, and output may have one.
pub(crate) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

pub(crate) fn digest(column: &'static str, bytes: &[u8]) -> Result<Sha256Digest, StoreError> {
    let corrupt = StoreError::CorruptRow { column, word: format!("{} bytes", bytes.len()) };
    Sha256Digest::try_from(bytes).or(Err(corrupt))
}

pub(crate) fn task_state(word: &str) -> Result<TaskState, StoreError> {
    TaskState::from_word(word)
        .ok_or_else(|| StoreError::CorruptRow { column: "task.state", word: word.to_owned() })
}
