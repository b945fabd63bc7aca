//! Typed ids: a run's id cannot be handed in where a task's is wanted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use uuid::Uuid;

/// What an id names: implemented by the empty marker types behind the aliases.
pub trait Kind {
    /// The noun for messages, such as `gate run`.
    const NOUN: &'static str;
}

/// A UUIDv7 that names one thing of kind `K`.
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

/// The text was not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the id of a {noun} is a UUID such as 0199c0de-0000-7000-8000-000000000000")]
pub struct IdParseError {
    noun: &'static str,
}

impl<K> Id<K> {
    /// Wraps an id that was stored before, or made by the clock's owner.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self { uuid, kind: PhantomData }
    }

    /// The bare UUID, for storing.
    #[must_use]
    pub const fn as_uuid(&self) -> Uuid {
        self.uuid
    }
}

/// Marks the id of a task.
#[derive(Debug)]
pub enum Task {}
impl Kind for Task {
    const NOUN: &'static str = "task";
}
/// Names one task.
pub type TaskId = Id<Task>;

/// Marks the id of a completion report.
#[derive(Debug)]
pub enum Report {}
impl Kind for Report {
    const NOUN: &'static str = "completion report";
}
/// Names one completion report.
pub type ReportId = Id<Report>;

/// Marks the id of a gate run.
#[derive(Debug)]
pub enum Run {}
impl Kind for Run {
    const NOUN: &'static str = "gate run";
}
/// Names one gate run.
pub type RunId = Id<Run>;

/// Marks the id of an event.
#[derive(Debug)]
pub enum Event {}
impl Kind for Event {
    const NOUN: &'static str = "event";
}
/// Names one event.
pub type EventId = Id<Event>;

/// Marks the id of a callback.
#[derive(Debug)]
pub enum Callback {}
impl Kind for Callback {
    const NOUN: &'static str = "callback";
}
/// Names one callback.
pub type CallbackId = Id<Callback>;

/// Marks the id of an API key.
#[derive(Debug)]
pub enum Key {}
impl Kind for Key {
    const NOUN: &'static str = "API key";
}
/// Names one API key.
pub type KeyId = Id<Key>;

/// Marks the id of a lease.
#[derive(Debug)]
pub enum Lease {}
impl Kind for Lease {
    const NOUN: &'static str = "lease";
}
/// Fences one lease: whoever concludes a run must show the token it was leased with.
pub type LeaseToken = Id<Lease>;

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}
impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid.fmt(f)
    }
}
impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", K::NOUN, self.uuid)
    }
}
impl<K: Kind> FromStr for Id<K> {
    type Err = IdParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Uuid::try_parse(text) {
            Ok(uuid) => Ok(Self::from_uuid(uuid)),
            Err(_) => Err(IdParseError { noun: K::NOUN }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_no_uuid_is_refused_with_the_noun() {
        let error = "7".parse::<RunId>().unwrap_err();
        assert!(error.to_string().contains("gate run"), "{error}");
    }

    #[test]
    fn an_id_reads_back_what_it_prints() {
        let text = "0199c0de-0000-7000-8000-000000000000";
        assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
    }
}
