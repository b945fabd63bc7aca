//! Runs the acceptance commands of a contract, in its order and within its time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gate_core::limits::OUTPUT_BYTES_MAX;
use gate_core::{
    Blame, Captured, Check, CommandLine, Contract, Execution, Isolation, LogStream, NetworkAccess,
    Outcome, Reading, SetupUse, Usage, Wanted,
};
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::logs::{LogPlace, RawLog, log_slice};
use crate::sandbox::{Ended, Job, ResultFile, Room, Sandbox, SandboxError, SandboxTier};
use crate::setup::{self, SetupFailure};
use crate::wire::Restored;
use crate::workspace::{Layers, Workspace};

/// One acceptance command, run once; what was read in its log is added by somebody else.
#[derive(Debug, Clone)]
pub struct RawExecution {
    /// The id of the check that owns it.
    pub check: String,
    /// What was run.
    pub command: CommandLine,
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
    /// What it wrote for machines to read, where its check names such files.
    pub results: Vec<ResultFile>,
}

impl RawExecution {
    /// The whole merged log, read back.
    ///
    /// # Errors
    /// When the file is not there any more.
    pub fn merged_bytes(&self) -> io::Result<Vec<u8>> {
        let [_, _, merged] = &self.logs;
        log_slice(File::open(&merged.path)?, 0, OUTPUT_BYTES_MAX)
    }

    /// What the evidence keeps of it.
    #[must_use]
    pub fn into_execution(self, reading: Reading) -> Execution {
        Execution {
            logs: self.logs.each_ref().map(RawLog::reference),
            check: self.check,
            command: self.command,
            outcome: self.outcome,
            usage: self.usage,
            stragglers_killed: self.stragglers_killed,
            process_limit_hit: self.process_limit_hit,
            reading,
        }
    }
}

/// Why there is no evidence of a contract's commands.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// Somebody wanted the run to end.
    #[error("the run was cancelled")]
    Cancelled,
    /// The sandbox could not do its work.
    #[error("the command of check `{check}` could not be run")]
    Sandbox {
        /// The check's id.
        check: String,
        /// What went wrong.
        source: SandboxError,
    },
    /// The sandbox could not be set up or taken down.
    #[error("the sandbox of the run could not be had")]
    Open(#[source] SandboxError),
    /// A command that prepares the environment failed.
    #[error(transparent)]
    SetUpFailed(Box<SetupFailure>),
    /// What such commands left could not be kept.
    #[error("what the setup left could not be kept")]
    Layer(#[source] io::Error),
    /// The logs could not be written.
    #[error("the logs of check `{check}` could not be written")]
    Logs {
        /// The check's id.
        check: String,
        /// What went wrong.
        source: io::Error,
    },
}

impl ExecError {
    /// What an acceptance command does wrong is an outcome, and no error.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            // The planner wrote them, and knew the tree that the reporter would start from.
            Self::SetUpFailed(_) => Blame::Contract,
            Self::Cancelled
            | Self::Sandbox { .. }
            | Self::Open(_)
            | Self::Layer(_)
            | Self::Logs { .. } => Blame::Gate,
        }
    }

    pub(crate) fn open(error: SandboxError) -> Self {
        match error {
            SandboxError::Cancelled => Self::Cancelled,
            error @ SandboxError::Failed { .. } => Self::Open(error),
        }
    }

    fn of(check: &str, error: SandboxError) -> Self {
        match error {
            SandboxError::Cancelled => Self::Cancelled,
            source @ SandboxError::Failed { .. } => {
                Self::Sandbox { check: check.to_owned(), source }
            }
        }
    }
}

/// What is to be run, on what, and where.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Whose commands.
    pub contract: &'a Contract,
    /// Which of its checks' commands.
    pub runs: fn(&Check) -> bool,
    /// What is looked for before any of them is started.
    pub wanted: &'a [Wanted],
    /// The tree that they see.
    pub workspace: &'a Workspace,
    /// How they are walled in.
    pub tier: &'a dyn SandboxTier,
    /// What setup commands have left in earlier runs.
    pub layers: &'a Layers,
    /// Where the logs go. It must exist.
    pub logs_directory: &'a Path,
}

/// What the commands of a contract left.
#[derive(Debug)]
pub struct Ran {
    /// One for each acceptance command that was to run, in the contract's order.
    pub executions: Vec<RawExecution>,
    /// What was looked for and is not there, as the commands would see it.
    pub absent: Vec<Wanted>,
    /// How they were walled in.
    pub isolation: Isolation,
    /// The workspace, as they saw it.
    pub root: PathBuf,
}

/// Prepares the environment, then runs the acceptance commands one after the other; one that fails does not keep the next from running.
///
/// Each starts with the protected files as they were prepared, whatever another one has done to them.
///
/// The time of the run begins with its first acceptance command. When it is used up, the rest is
/// [`Outcome::NotRun`].
///
/// # Errors
/// When there is no evidence: cancelled, a setup command that failed, or a fault of the gate.
pub async fn run_commands(run: &Run<'_>, cancel: &CancellationToken) -> Result<Ran, ExecError> {
    let limits = run.contract.limits();
    let (mut sandbox, setup) = setup::sandbox(run, cancel).await?;
    let run_ends = Instant::now() + Duration::from_secs(limits.run_seconds.into());
    let protected = run.workspace.protected_files();
    let absent = absent(run, &mut sandbox).await?;
    // Whether anything in the sandbox can have altered them.
    let mut ran = setup != SetupUse::None;
    let mut executions = Vec::new();
    for (index, check) in run.contract.checks().iter().enumerate() {
        let Some(command) = check.command().filter(|_| (run.runs)(check)) else { continue };
        let left = run_ends.saturating_duration_since(Instant::now());
        let time_limit = left.min(Duration::from_secs(limits.command_seconds.into()));
        let job = run.job(command, time_limit, format!("{index:03}"));
        let failed = |it| ExecError::of(&check.id, it);
        let no_logs = |source| ExecError::Logs { check: check.id.clone(), source };
        let not_run = |outcome| ended_with(&job, outcome, &[]).map_err(no_logs);
        let (ended, results) = if left.is_zero() {
            (not_run(Outcome::NotRun)?, Vec::new())
        } else if ran && sandbox.restore(&protected).await.map_err(failed)? == Restored::NoRoom {
            let limit_bytes = limits.disk_bytes();
            (not_run(Outcome::DiskLimitExceeded { limit_bytes })?, Vec::new())
        } else {
            ran = true;
            let ended = sandbox.run(&job, cancel).await.map_err(failed)?;
            let results = match check.results() {
                [] => Vec::new(),
                patterns => sandbox.results(patterns).await.map_err(failed)?,
            };
            (ended, results)
        };
        executions.push(RawExecution { results, ..signed(&check.id, command, ended) });
    }
    let root = sandbox.root().to_owned();
    let kernel_uid = sandbox.kernel_uid();
    let isolation = Isolation { kernel_uid, setup, ..run.tier.isolation(limits) };
    sandbox.close().await.map_err(ExecError::open)?;
    Ok(Ran { executions, absent, isolation, root })
}

async fn absent(run: &Run<'_>, sandbox: &mut Box<dyn Sandbox>) -> Result<Vec<Wanted>, ExecError> {
    if run.wanted.is_empty() {
        return Ok(Vec::new());
    }
    let there = sandbox.look(run.wanted).await.map_err(ExecError::open)?;
    let absent = run.wanted.iter().zip(there).filter(|(_, there)| !there);
    Ok(absent.map(|(it, _)| it.clone()).collect())
}

impl<'a> Run<'a> {
    /// One command of it, with the contract's limits.
    pub(crate) fn job(
        &self,
        command: &'a CommandLine,
        time_limit: Duration,
        stem: String,
    ) -> Job<'a> {
        let limits = self.contract.limits();
        Job {
            command,
            time_limit,
            output_bytes_max: limits.output_bytes,
            limits,
            logs: LogPlace { directory: self.logs_directory.to_owned(), stem },
        }
    }

    /// A room for its commands, with nothing laid over the tree.
    pub(crate) fn room(&self, network: NetworkAccess) -> Room<'a> {
        let environment = self.contract.environment();
        Room {
            base: self.workspace.base(),
            layer: None,
            keep: None,
            place: self.workspace.place(),
            limits: self.contract.limits(),
            network,
            variables: &environment.variables,
            image: environment.image.as_deref(),
        }
    }
}

fn signed(check: &str, command: &CommandLine, ended: Ended) -> RawExecution {
    let Ended { outcome, usage, stragglers_killed, process_limit_hit, .. } = ended;
    let Ended { stdout, stderr, merged, logs, .. } = ended;
    RawExecution {
        check: check.to_owned(),
        command: command.clone(),
        outcome,
        usage,
        stragglers_killed,
        process_limit_hit,
        stdout,
        stderr,
        merged,
        logs,
        results: Vec::new(),
    }
}

/// What a command leaves that printed these chunks and ended so.
pub(crate) fn ended_with(
    job: &Job<'_>,
    outcome: Outcome,
    chunks: &[(LogStream, Vec<u8>)],
) -> io::Result<Ended> {
    let mut capture = Capture::new(job.output_bytes_max, Some(&job.logs));
    chunks.iter().try_for_each(|(stream, bytes)| capture.take(*stream, bytes))?;
    let kept = capture.finish()?;
    let logs = kept.logs.try_into().or(Err(io::Error::other("there are not three logs")))?;
    Ok(Ended {
        outcome,
        usage: Usage::default(),
        stragglers_killed: 0,
        process_limit_hit: false,
        stdout: kept.stdout,
        stderr: kept.stderr,
        merged: kept.merged,
        logs,
    })
}
