//! Fetches workspaces and runs acceptance commands in them.
//!
//! This crate judges nothing, and knows no runs, reports, or rounds. Nothing from inside a sandbox
//! is trusted, neither its exit nor its output; when a command has been run, no process of it is
//! alive; a weaker tier than was asked for is never used instead.
#![warn(missing_docs)]

mod attend;
mod capture;
mod cgroup;
mod disk;
pub mod init;
pub mod limits;
mod logs;
mod nursery;
mod probe;
mod run;
mod sandbox;
mod setup;
mod spawn;
mod stop;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool;
mod visible;
mod wire;
mod workspace;

pub use logs::{LogPlace, RawLog, log_slice};
pub use run::{ExecError, Ran, RawExecution, Run, run_commands};
pub use sandbox::{
    Egress, Ended, Job, PASSED_BY_DEFAULT, Profile, ResultFile, Room, Sandbox, SandboxError,
    SandboxTier, Surveyed, TierSettings, open_tier, survey,
};
pub use setup::SetupFailure;
pub use wire::Restored;
pub use workspace::{
    EntryFault, Layers, PrepareError, PrepareSettings, Preparer, ProtectedFiles, Scratch,
    SourceError, SourceRef, SourceRole, Sources, Workspace, copy_tree,
};
