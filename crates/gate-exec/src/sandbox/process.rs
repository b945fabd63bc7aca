//! The tier `process`: the user of the gate, a session and an environment of its own, and nothing hidden.
//!
//! It works everywhere, and it ends what was started. It does not keep a command from reading or
//! writing what the gate's user may read or write, nor from the network, nor from memory.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use gate_core::{Isolation, IsolationTier, MemoryBound, Outcome, RunLimits, WorkspaceKind};
use tokio_util::sync::CancellationToken;

use super::{Ended, Job, Profile, Room, Sandbox, SandboxError, SandboxTier};
use crate::capture::Kept;
use crate::spawn::Start;
use crate::supervise::{Bounds, Ending, Finished, SuperviseError, supervise};

/// See the module.
#[derive(Debug)]
pub struct ProcessTier {
    profile: Profile,
}

impl ProcessTier {
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
impl SandboxTier for ProcessTier {
    fn tier(&self) -> IsolationTier {
        IsolationTier::Process
    }

    fn isolation(&self, limits: RunLimits) -> Isolation {
        Isolation {
            tier: IsolationTier::Process,
            kernel_uid: rustix::process::getuid().as_raw(),
            landlock_abi: None,
            loopback: true,
            memory_bound: MemoryBound::None,
            workspace: WorkspaceKind::Copy,
            limits,
            known_gaps: vec!["nothing of the host is hidden".to_owned()],
        }
    }

    async fn open(
        &self,
        room: &Room<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        Ok(Box::new(ProcessSandbox {
            root: room.place.join("workspace"),
            variables: self.profile.variables(room),
        }))
    }
}

/// The commands of one run.
#[derive(Debug)]
struct ProcessSandbox {
    root: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

#[async_trait]
impl Sandbox for ProcessSandbox {
    fn root(&self) -> &Path {
        &self.root
    }

    async fn close(self: Box<Self>) -> Result<(), SandboxError> {
        Ok(())
    }

    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let start = Start {
            words: job.command.to_words().into_iter().map(Into::into).collect(),
            variables: self.variables.clone(),
            directory: self.root.clone(),
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
        let process_limit_hit = false;
        Ok(Ended {
            outcome,
            usage,
            stragglers_killed,
            process_limit_hit,
            stdout,
            stderr,
            merged,
            logs,
        })
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
