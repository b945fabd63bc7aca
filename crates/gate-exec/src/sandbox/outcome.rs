//! From how an init saw a command end to what the sandbox tells of it; the tiers share it.

use std::io;

use gate_core::{IsolationTier, Outcome, PathPattern, Wanted, WantedKind};
use tokio::task::spawn_blocking;

use super::{Ended, Job, ResultFile, SandboxError};
use crate::attend::{AttendError, Ending, Finished, Init};
use crate::capture::Kept;
use crate::wire::{Named, Restored};
use crate::workspace::ProtectedFiles;

/// What is told of a command that ended, and the error of one that somebody wanted to end.
pub(super) fn ended(
    finished: Finished,
    job: &Job<'_>,
    tier: IsolationTier,
) -> Result<Ended, SandboxError> {
    let Finished { ending, usage, stragglers_killed, process_limit_hit, kept } = finished;
    let limits = job.limits;
    let outcome = match ending {
        Ending::Exited(code) => Outcome::Exited { code },
        Ending::Signal(signal) => Outcome::Killed { signal },
        Ending::NotFound => Outcome::NotFound,
        Ending::NotExecutable(errno) => Outcome::NotExecutable { errno },
        Ending::TimedOut => Outcome::TimedOut {
            limit_ms: u64::try_from(job.time_limit.as_millis()).unwrap_or(u64::MAX),
        },
        Ending::CpuLimit => {
            Outcome::CpuLimitExceeded { limit_ms: u64::from(limits.cpu_seconds) * 1000 }
        }
        Ending::OutOfMemory => Outcome::OutOfMemory { limit_bytes: limits.memory_bytes() },
        Ending::DiskFull => Outcome::DiskLimitExceeded { limit_bytes: limits.disk_bytes() },
        Ending::OutputLimit => Outcome::OutputLimitExceeded { limit_bytes: job.output_bytes_max },
        Ending::Cancelled => return Err(SandboxError::Cancelled),
    };
    let Kept { stdout, stderr, merged, logs } = kept;
    let lost = |_| SandboxError::Failed {
        tier,
        stage: "keeping the logs",
        source: io::Error::other("there are not three of them"),
    };
    let logs = logs.try_into().map_err(lost)?;
    Ok(Ended { outcome, usage, stragglers_killed, process_limit_hit, stdout, stderr, merged, logs })
}

/// What the last command wrote for machines to read, asked of its init.
pub(super) async fn results(
    init: &mut Option<Init>,
    patterns: &[PathPattern],
    tier: IsolationTier,
) -> Result<Vec<ResultFile>, SandboxError> {
    let globs = patterns.iter().map(|it| it.as_str().to_owned()).collect();
    with_init(init, tier, |it| it.results(globs)).await
}

/// Whether each of these is there for a command, asked of its init.
pub(super) async fn look(
    init: &mut Option<Init>,
    wanted: &[Wanted],
    tier: IsolationTier,
) -> Result<Vec<bool>, SandboxError> {
    let named = |it: &Wanted| match it.kind {
        WantedKind::Program => Named::Program(it.word.clone().into()),
        WantedKind::Path => Named::Path(it.word.clone().into()),
    };
    let wanted = wanted.iter().map(named).collect();
    with_init(init, tier, |it| it.look(wanted)).await
}

/// Puts back what the last command has altered, by its init. Where nothing is protected, that is asked nothing.
pub(super) async fn restore(
    init: &mut Option<Init>,
    protected: &ProtectedFiles,
    tier: IsolationTier,
) -> Result<Restored, SandboxError> {
    if protected.is_empty() {
        return Ok(Restored::AsPrepared);
    }
    let protected = protected.clone();
    with_init(init, tier, move |it| it.restore(&protected)).await
}

/// Something that an init does at once, on a thread that may block.
async fn with_init<T: Send + 'static>(
    init: &mut Option<Init>,
    tier: IsolationTier,
    work: impl FnOnce(&mut Init) -> Result<T, AttendError> + Send + 'static,
) -> Result<T, SandboxError> {
    let mut own = init.take().ok_or_else(|| failed(tier, AttendError::Lost))?;
    let work = move || {
        let done = work(&mut own);
        (own, done)
    };
    let lost = |it| {
        let (stage, source) = ("a thread of the gate", io::Error::other(it));
        failed(tier, AttendError::System { stage, source })
    };
    let (own, done) = spawn_blocking(work).await.map_err(lost)?;
    *init = Some(own);
    done.map_err(|it| failed(tier, it))
}

/// The gate's own fault, with its stage.
pub(super) fn failed(tier: IsolationTier, error: AttendError) -> SandboxError {
    let (stage, source) = match error {
        AttendError::System { stage, source } => (stage, source),
        error @ AttendError::Refused(_) => ("setting up the sandbox", io::Error::other(error)),
        error @ AttendError::Lost => ("running the command", io::Error::other(error)),
    };
    SandboxError::Failed { tier, stage, source }
}
