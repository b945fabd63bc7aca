//! What an isolation tier promises, and which tiers there are.
//!
//! When [`Sandbox::run`] returns, no process of the command is alive. A command that fails is an
//! [`Ended`]; an error means that nothing is known. A weaker tier is never used instead of the one
//! that was asked for.

mod container;
mod local;
mod outcome;
mod profile;
mod room;
mod self_test;
mod survey;
mod uids;
mod way_out;

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use gate_core::{
    Blame, Captured, CommandLine, Isolation, IsolationTier, NetworkAccess, Outcome, PathPattern,
    RunLimits, Usage, Wanted,
};
use tokio_util::sync::CancellationToken;

use crate::logs::{LogPlace, RawLog};
use crate::wire::Restored;
use crate::workspace::ProtectedFiles;

pub use profile::{PASSED_BY_DEFAULT, Profile};
pub use survey::{Surveyed, TierSettings, open_tier, survey};

/// Lets commands out to the network, as far as they may go.
pub trait Egress: Send + Sync + std::fmt::Debug {
    /// Answers on this listener until the guard is dropped, and then cuts what goes through it.
    ///
    /// # Errors
    /// When the listener cannot be used.
    fn serve(&self, listener: TcpListener) -> io::Result<Box<dyn Send>>;
}

/// A tier that this machine has.
#[async_trait]
pub trait SandboxTier: Send + Sync + std::fmt::Debug {
    /// Which one.
    fn tier(&self) -> IsolationTier;

    /// Whether what is written in one sandbox can be laid under another.
    fn keeps_layers(&self) -> bool;

    /// What holds for the commands of a run with these limits.
    fn isolation(&self, limits: RunLimits) -> Isolation;

    /// Sets up a sandbox for the commands of one run.
    ///
    /// # Errors
    /// When it cannot be set up: the gate's fault. A weaker one is never used instead.
    async fn open(
        &self,
        room: &Room<'_>,
        cancel: &CancellationToken,
    ) -> Result<Box<dyn Sandbox>, SandboxError>;
}

/// Where the commands of one run are run, one after the other.
#[async_trait]
pub trait Sandbox: Send + std::fmt::Debug {
    /// The workspace, as the commands see it.
    fn root(&self) -> &Path;

    /// The user that the kernel sees behind the commands.
    fn kernel_uid(&self) -> u32;

    /// The version of Landlock that fences them.
    fn landlock_abi(&self) -> Option<u32>;

    /// Runs the command to its end, and ends whatever it left behind.
    ///
    /// # Errors
    /// When nothing is known of how it ended: the gate's fault, never the command's.
    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError>;

    /// What the last command wrote into files that match, by name and with bounds (`limits::RESULTS_*`).
    ///
    /// # Errors
    /// When it cannot be read: the gate's fault.
    async fn results(&mut self, patterns: &[PathPattern]) -> Result<Vec<ResultFile>, SandboxError>;

    /// Whether each of these is there for a command, as the commands until now have left the workspace.
    ///
    /// # Errors
    /// When it cannot be looked up: the gate's fault.
    async fn look(&mut self, wanted: &[Wanted]) -> Result<Vec<bool>, SandboxError>;

    /// Puts protected files back where the commands until now have altered them, and only those.
    ///
    /// # Errors
    /// When it cannot be done: the gate's fault.
    async fn restore(&mut self, protected: &ProtectedFiles) -> Result<Restored, SandboxError>;

    /// The same place, as the commands until now have left it, with another network.
    ///
    /// # Errors
    /// When it cannot be set up.
    async fn with_network(
        self: Box<Self>,
        network: NetworkAccess,
    ) -> Result<Box<dyn Sandbox>, SandboxError>;

    /// Takes the sandbox down, and returns when nothing of it is left.
    ///
    /// # Errors
    /// When something is left.
    async fn close(self: Box<Self>) -> Result<(), SandboxError>;
}

/// What the commands of one run share.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// What the workspace begins as: has `workspace` and `home`, and is never written.
    pub base: &'a Path,
    /// What was kept of an earlier sandbox with the same base, laid over it.
    pub layer: Option<&'a Path>,
    /// An empty directory, where what is written is kept as such a layer.
    pub keep: Option<&'a Path>,
    /// An empty directory of this run alone.
    pub place: &'a Path,
    /// What they may use up.
    pub limits: RunLimits,
    /// What they may reach.
    pub network: NetworkAccess,
    /// The contract's variables.
    pub variables: &'a BTreeMap<String, String>,
    /// The contract's image, where it names one.
    pub image: Option<&'a str>,
}

/// One command.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// What is run.
    pub command: &'a CommandLine,
    /// How long it may take.
    pub time_limit: Duration,
    /// What it may print on both streams together.
    pub output_bytes_max: u64,
    /// The limits of its sandbox, by which an end is told.
    pub limits: RunLimits,
    /// Where its logs go.
    pub logs: LogPlace,
}

/// How one command ended, and what it left.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// What it used.
    pub usage: Usage,
    /// Processes that were still alive when it ended, and were killed.
    pub stragglers_killed: u32,
    /// Whether it once could start no further process or thread.
    pub process_limit_hit: bool,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// Both, in the order in which they were read.
    pub merged: Captured,
    /// The whole logs: stdout, stderr, merged.
    pub logs: [RawLog; 3],
}

/// A file that a command wrote for machines to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFile {
    /// Relative to the workspace.
    pub name: String,
    /// What stands in it, perhaps cut off.
    pub bytes: Vec<u8>,
}

/// Why nothing is known of a command.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Somebody wanted it to end.
    #[error("the command was cancelled")]
    Cancelled,
    /// The sandbox could not be set up, or lost hold of the command.
    #[error("the {} sandbox failed at {stage}", tier.as_str())]
    Failed {
        /// Of which tier.
        tier: IsolationTier,
        /// What was being done.
        stage: &'static str,
        /// What went wrong.
        source: io::Error,
    },
}

impl SandboxError {
    /// Always the gate's own fault.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Cancelled | Self::Failed { .. } => Blame::Gate,
        }
    }
}
