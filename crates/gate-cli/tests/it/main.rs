//! The executable, run as its users run it: the client half against a stub of the gate's API that speaks `gate-api`'s
//! bodies, the server half as processes that are stopped and killed.
//!
//! That the real gate speaks the stub's bodies too is what the product tests show.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod bodies;
mod cli;
mod contracts;
mod doctor;
mod drafts;
mod excerpt;
mod faults;
mod healthcheck;
mod init;
mod killed;
mod openapi;
mod read_run;
mod retries;
mod roles;
mod served;
mod stub;
mod verdicts;
mod workspaces;
