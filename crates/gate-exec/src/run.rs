//! Runs the acceptance commands of a contract, in its order and within its time.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use gate_core::limits::OUTPUT_BYTES_MAX;
use gate_core::{
    Blame, Captured, CommandLine, Contract, Execution, LogStream, Outcome, Reading, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::logs::{LogPlace, RawLog, log_slice};
use crate::sandbox::{Ended, Job, Sandbox, SandboxError};
use crate::workspace::Workspace;

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
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// Both, in the order in which they were read.
    pub merged: Captured,
    /// The whole logs: stdout, stderr, merged.
    pub logs: [RawLog; 3],
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
    /// Always the gate's own fault: what a command does wrong is an outcome.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Cancelled | Self::Sandbox { .. } | Self::Logs { .. } => Blame::Gate,
        }
    }
}

/// Runs the contract's commands one after the other; one that fails does not keep the next from running.
///
/// The logs go to `logs_directory`, which must exist. When the run's time is used up, the rest is
/// [`Outcome::NotRun`].
///
/// # Errors
/// When there is no evidence: cancelled, or a fault of the gate.
pub async fn run_commands(
    contract: &Contract,
    workspace: &Workspace,
    sandbox: &dyn Sandbox,
    logs_directory: &Path,
    cancel: &CancellationToken,
) -> Result<Vec<RawExecution>, ExecError> {
    let limits = contract.limits();
    let run_ends = Instant::now() + Duration::from_secs(limits.run_seconds.into());
    let mut executions = Vec::new();
    for (index, check) in contract.checks().iter().enumerate() {
        let Some(command) = check.command() else { continue };
        let left = run_ends.saturating_duration_since(Instant::now());
        let logs = LogPlace { directory: logs_directory.to_owned(), stem: format!("{index:03}") };
        let job = Job {
            command,
            root: workspace.root(),
            home: workspace.home(),
            temporary: workspace.temporary(),
            variables: contract.variables(),
            time_limit: left.min(Duration::from_secs(limits.command_seconds.into())),
            output_bytes_max: limits.output_bytes,
            logs,
        };
        let ended = if left.is_zero() {
            not_run(&job).map_err(|source| ExecError::Logs { check: check.id.clone(), source })?
        } else {
            sandbox.run(&job, cancel).await.map_err(|error| match error {
                SandboxError::Cancelled => ExecError::Cancelled,
                source @ SandboxError::Failed { .. } => {
                    ExecError::Sandbox { check: check.id.clone(), source }
                }
            })?
        };
        executions.push(signed(&check.id, command, ended));
    }
    Ok(executions)
}

fn signed(check: &str, command: &CommandLine, ended: Ended) -> RawExecution {
    let Ended { outcome, usage, stragglers_killed, stdout, stderr, merged, logs } = ended;
    RawExecution {
        check: check.to_owned(),
        command: command.clone(),
        outcome,
        usage,
        stragglers_killed,
        stdout,
        stderr,
        merged,
        logs,
    }
}

fn not_run(job: &Job<'_>) -> io::Result<Ended> {
    ended_with(job, Outcome::NotRun, &[])
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
        stdout: kept.stdout,
        stderr: kept.stderr,
        merged: kept.merged,
        logs,
    })
}
