//! Prepares the environment of a contract: its setup commands, before any check, under a network of their own.
//!
//! Where the tier can, they write to a layer of their own, which is kept and laid under later runs of
//! the same tree. Else they run in the checks' own sandbox, each time. What goes wrong here is the
//! contract's fault or the gate's, and never the reporter's.

use std::time::{Duration, Instant};

use gate_core::limits::EXCERPT_BYTES_MAX;
use gate_core::{CommandLine, Outcome, SetupUse};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::run::{ExecError, Run};
use crate::sandbox::{Ended, Sandbox};
use crate::workspace::{Layer, LayerSite, Layers};

/// The setup command that failed, and its last words.
#[derive(Debug, thiserror::Error)]
#[error("the setup command `{command}` {}", how(*outcome))]
pub struct SetupFailure {
    /// What was run.
    pub command: CommandLine,
    /// How it ended.
    pub outcome: Outcome,
    /// The end of what it printed.
    pub tail: String,
    /// Where that begins in all that it printed.
    pub tail_offset: u64,
}

/// The sandbox of the checks, in an environment that is prepared.
pub(crate) async fn sandbox(
    run: &Run<'_>,
    cancel: &CancellationToken,
) -> Result<(Box<dyn Sandbox>, SetupUse), ExecError> {
    let environment = run.contract.environment();
    let mut room = run.room(environment.checks_network);
    if environment.setup.is_empty() {
        let sandbox = run.tier.open(&room, cancel).await.map_err(ExecError::open)?;
        return Ok((sandbox, SetupUse::None));
    }
    if run.tier.keeps_layers() {
        let (layer, how) = layer(run, cancel).await?;
        let path = layer.path();
        room.layer = Some(&path);
        let sandbox = run.tier.open(&room, cancel).await.map_err(ExecError::open)?;
        // The mount holds the files from here on.
        return Ok((sandbox, how));
    }
    room.network = environment.setup_network;
    let mut sandbox = run.tier.open(&room, cancel).await.map_err(ExecError::open)?;
    commands(run, &mut sandbox, None, cancel).await?;
    let sandbox = sandbox.with_network(environment.checks_network).await;
    Ok((sandbox.map_err(ExecError::open)?, SetupUse::Run))
}

/// Out of the cache, or into it.
async fn layer(
    run: &Run<'_>,
    cancel: &CancellationToken,
) -> Result<(std::sync::Arc<Layer>, SetupUse), ExecError> {
    let environment = run.contract.environment();
    let key = Layers::key(run.workspace.tree(), environment);
    if let Some(layer) = run.layers.get(key) {
        return Ok((layer, SetupUse::Cached));
    }
    let site = run.layers.site().map_err(ExecError::Layer)?;
    let keep = site.path().to_owned();
    let mut room = run.room(environment.setup_network);
    room.keep = Some(&keep);
    let mut sandbox = run.tier.open(&room, cancel).await.map_err(ExecError::open)?;
    commands(run, &mut sandbox, Some(&site), cancel).await?;
    sandbox.close().await.map_err(ExecError::open)?;
    let layers = run.layers.clone();
    let kept = spawn_blocking(move || layers.put(key, site)).await;
    let kept = kept.map_err(std::io::Error::other).flatten().map_err(ExecError::Layer)?;
    Ok((kept, SetupUse::Run))
}

/// All of them, within the time of a run.
async fn commands(
    run: &Run<'_>,
    sandbox: &mut Box<dyn Sandbox>,
    site: Option<&LayerSite>,
    cancel: &CancellationToken,
) -> Result<(), ExecError> {
    let limits = run.contract.limits();
    let ends = Instant::now() + Duration::from_secs(limits.run_seconds.into());
    for (index, command) in run.contract.environment().setup.iter().enumerate() {
        let left = ends.saturating_duration_since(Instant::now());
        let job = run.job(command, left, format!("setup-{index:02}"));
        let ended = sandbox.run(&job, cancel).await.map_err(ExecError::open)?;
        if ended.outcome != (Outcome::Exited { code: 0 }) {
            return Err(failure(command, ended.outcome, &ended));
        }
        let written = site.map_or(Ok(0), LayerSite::bytes).map_err(ExecError::Layer)?;
        if written > limits.disk_bytes() {
            let outcome = Outcome::DiskLimitExceeded { limit_bytes: limits.disk_bytes() };
            return Err(failure(command, outcome, &ended));
        }
    }
    Ok(())
}

fn failure(command: &CommandLine, outcome: Outcome, ended: &Ended) -> ExecError {
    let all = &ended.merged;
    let end = if all.tail.is_empty() { &all.head } else { &all.tail };
    let shown = &end[end.len().saturating_sub(EXCERPT_BYTES_MAX)..];
    ExecError::SetUpFailed(Box::new(SetupFailure {
        command: command.clone(),
        outcome,
        tail: String::from_utf8_lossy(shown).into_owned(),
        tail_offset: all.total_bytes - shown.len() as u64,
    }))
}

fn how(outcome: Outcome) -> String {
    match outcome {
        Outcome::Exited { code } => format!("exited with {code}"),
        Outcome::Killed { signal } => format!("was ended by signal {signal}"),
        Outcome::TimedOut { limit_ms } => format!("ran longer than {limit_ms} ms"),
        Outcome::OutputLimitExceeded { limit_bytes } => {
            format!("printed more than {limit_bytes} bytes")
        }
        Outcome::CpuLimitExceeded { limit_ms } => {
            format!("used more than {limit_ms} ms of CPU time")
        }
        Outcome::OutOfMemory { limit_bytes } => {
            format!("used more than {limit_bytes} bytes of memory")
        }
        Outcome::DiskLimitExceeded { limit_bytes } => {
            format!("wrote more than {limit_bytes} bytes")
        }
        Outcome::NotFound => "could not be run: there is no such program".to_owned(),
        Outcome::NotExecutable { errno } => format!("cannot be executed (errno {errno})"),
        Outcome::NotRun => "did not run".to_owned(),
    }
}
