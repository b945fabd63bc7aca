//! Fetches workspaces and runs acceptance commands in them.
//!
//! This crate judges nothing, and knows no runs, reports, or rounds. Nothing from inside a sandbox
//! is trusted, neither its exit nor its output; when a command has been run, no process of it is
//! alive; a weaker tier than was asked for is never used instead.
#![warn(missing_docs)]

mod capture;
pub mod init;
pub mod limits;
mod logs;
mod record;
mod run;
mod sandbox;
mod spawn;
mod stop;
mod supervise;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod workspace;

pub use logs::{LogPlace, RawLog, log_slice};
pub use run::{ExecError, Ran, RawExecution, run_commands};
pub use sandbox::{
    Ended, Job, PASSED_BY_DEFAULT, ProcessTier, Profile, Room, Sandbox, SandboxError, SandboxTier,
    open,
};
pub use workspace::{
    EntryFault, PrepareError, PrepareSettings, Preparer, SourceError, SourceRef, SourceRole,
    Sources, Workspace, copy_tree,
};
