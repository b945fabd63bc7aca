//! Callbacks: leased from the outbox, signed, sent through a guard, and recorded.
//!
//! What a callback says is written with its event, in the store. When it is tried again is decided
//! in `gate_core::retry`. This module carries the bytes to the receiver, and never to a place that
//! the operator did not allow.

mod address;
mod answer;
mod deliver;
mod guard;
mod secret;
mod send;
mod sign;
#[cfg(test)]
mod tests;

pub use deliver::Deliverer;
pub use guard::{GuardedResolver, Networks, NetworksError, Refusal};
pub use secret::{CallbackSecret, SecretKey, SecretKeyError, SecretTextError};
pub use send::{SendLimits, Sender, SenderError};
pub use sign::{HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, SignatureError, Signed, sign};
