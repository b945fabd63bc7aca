//! The whole gate, for tests: the real server, somebody who calls it, and somebody who is called back.
//!
//! Nothing here is a stand-in for a part of the gate. Helpers panic: that is how a test fails.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod client;
mod gate;
mod project;
mod receiver;
pub mod samples;
mod tools;

pub use client::{Answer, Client};
pub use gate::{Setup, TestGate};
pub use project::Project;
pub use receiver::{Received, Receiver};
pub use tools::{has_tool, lacks_tier};
