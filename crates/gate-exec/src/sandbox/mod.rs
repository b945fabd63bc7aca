//! What an isolation tier promises, and which tiers there are.
//!
//! When [`Sandbox::run`] returns, no process of the command is alive. A command that fails is an
//! [`Ended`]; an error means that nothing is known. A weaker tier is never used instead of the one
//! that was asked for.

mod process;
mod profile;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use gate_core::{Blame, Captured, CommandLine, IsolationTier, Outcome, Usage};
use tokio_util::sync::CancellationToken;

use crate::logs::{LogPlace, RawLog};

pub use process::ProcessSandbox;
pub use profile::{PASSED_BY_DEFAULT, Profile};

/// Runs one command, walled in as its tier says.
#[async_trait]
pub trait Sandbox: Send + Sync + std::fmt::Debug {
    /// Which tier this is.
    fn tier(&self) -> IsolationTier;

    /// Runs the command to its end, and ends whatever it left behind.
    ///
    /// # Errors
    /// When nothing is known of how it ended: the gate's fault, never the command's.
    async fn run(&self, job: &Job<'_>, cancel: &CancellationToken) -> Result<Ended, SandboxError>;
}

/// One command, and what it may have.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// What is run.
    pub command: &'a CommandLine,
    /// The root of the workspace, and the directory it starts in.
    pub root: &'a Path,
    /// Its home.
    pub home: &'a Path,
    /// Its directory for temporary files.
    pub temporary: &'a Path,
    /// The contract's variables.
    pub variables: &'a BTreeMap<String, String>,
    /// How long it may take.
    pub time_limit: Duration,
    /// What it may print on both streams together.
    pub output_bytes_max: u64,
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
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// Both, in the order in which they were read.
    pub merged: Captured,
    /// The whole logs: stdout, stderr, merged.
    pub logs: [RawLog; 3],
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

/// Opens the sandbox of a tier, and proves that it can start something.
///
/// # Errors
/// When this machine cannot do it.
pub async fn open(tier: IsolationTier, profile: Profile) -> Result<Box<dyn Sandbox>, SandboxError> {
    match tier {
        IsolationTier::Process => Ok(Box::new(ProcessSandbox::open(profile).await?)),
    }
}
