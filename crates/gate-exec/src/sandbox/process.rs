//! The tier `process`: the user of the gate, a session and an environment of its own, and nothing hidden.
//!
//! It works everywhere, and it ends what was started. It does not keep a command from reading or
//! writing what the gate's user may read or write, nor from the network, nor from memory.

use std::io;

use async_trait::async_trait;
use gate_core::{IsolationTier, Outcome};
use tokio_util::sync::CancellationToken;

use super::{Ended, Job, Profile, Sandbox, SandboxError};
use crate::capture::Kept;
use crate::spawn::Start;
use crate::supervise::{Bounds, Ending, Finished, SuperviseError, supervise};

/// See the module.
#[derive(Debug)]
pub struct ProcessSandbox {
    profile: Profile,
}

impl ProcessSandbox {
    /// Proves that this executable can be its own init.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn open(profile: Profile) -> Result<Self, SandboxError> {
        let bounds =
            Bounds { time: std::time::Duration::from_secs(30), output_bytes: 0, logs: None };
        let start = Start {
            words: vec!["/".into()],
            variables: Vec::new(),
            directory: "/".into(),
            file_bytes_max: None,
        };
        // A directory is nothing to execute: an init that is there says so.
        let finished = supervise(start, bounds, &CancellationToken::new()).await.map_err(failed)?;
        match finished.ending {
            Ending::NotExecutable(_) => Ok(Self { profile }),
            Ending::Exited(_)
            | Ending::Signal(_)
            | Ending::NotFound
            | Ending::TimedOut
            | Ending::OutputLimit
            | Ending::Cancelled => {
                let text =
                    format!("the init answered a question of ours with {:?}", finished.ending);
                Err(wrapped("self-test", io::Error::other(text)))
            }
        }
    }
}

#[async_trait]
impl Sandbox for ProcessSandbox {
    fn tier(&self) -> IsolationTier {
        IsolationTier::Process
    }

    async fn run(&self, job: &Job<'_>, cancel: &CancellationToken) -> Result<Ended, SandboxError> {
        let start = Start {
            words: job.command.to_words().into_iter().map(Into::into).collect(),
            variables: self.profile.variables(job),
            directory: job.root.to_owned(),
            file_bytes_max: None,
        };
        let bounds = Bounds {
            time: job.time_limit,
            output_bytes: job.output_bytes_max,
            logs: Some(job.logs.clone()),
        };
        let finished = supervise(start, bounds, cancel).await.map_err(failed)?;
        let Finished { ending, usage, stragglers_killed, kept } = finished;
        let outcome = outcome(ending, job).ok_or(SandboxError::Cancelled)?;
        let Kept { stdout, stderr, merged, logs } = kept;
        let lost = || io::Error::other("there are not three of them");
        let logs = logs.try_into().or(Err(wrapped("keeping the logs", lost())))?;
        Ok(Ended { outcome, usage, stragglers_killed, stdout, stderr, merged, logs })
    }
}

/// `None` where somebody wanted it to end.
fn outcome(ending: Ending, job: &Job<'_>) -> Option<Outcome> {
    Some(match ending {
        Ending::Exited(code) => Outcome::Exited { code },
        Ending::Signal(signal) => Outcome::Killed { signal },
        Ending::NotFound => Outcome::NotFound,
        Ending::NotExecutable(errno) => Outcome::NotExecutable { errno },
        Ending::TimedOut => Outcome::TimedOut {
            limit_ms: u64::try_from(job.time_limit.as_millis()).unwrap_or(u64::MAX),
        },
        Ending::OutputLimit => Outcome::OutputLimitExceeded { limit_bytes: job.output_bytes_max },
        Ending::Cancelled => return None,
    })
}

fn failed(error: SuperviseError) -> SandboxError {
    match error {
        SuperviseError::System { stage, source } => wrapped(stage, source),
        error @ (SuperviseError::Init(_) | SuperviseError::InitLost) => {
            wrapped("running the command", io::Error::other(error))
        }
    }
}

fn wrapped(stage: &'static str, source: io::Error) -> SandboxError {
    SandboxError::Failed { tier: IsolationTier::Process, stage, source }
}
