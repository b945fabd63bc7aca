//! The state machine of tasks, runs, and callbacks, against a real PostgreSQL: each transition, also when two race for it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod append_only;
mod callbacks;
mod fixture;
mod leases;
mod preflights;
mod requests;
mod verdicts;
mod workers;
