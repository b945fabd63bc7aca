//! All that the gate itself sees of one run: fetched, run, and read. Nothing is decided here.

use std::io;
use std::path::Path;
use std::sync::Arc;

use gate_core::{
    Check, Contract, Evidence, Execution, LogStream, Outcome, Wanted, WorkspaceSource, wanted,
};
use gate_excerpt::{Input, Matcher, Side};
use gate_exec::{
    Ran, RawExecution, Run, SandboxTier, SourceRef, SourceRole, Sources, Workspace, run_commands,
};
use gate_store::LeasedRun;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::gather_error::GatherError;
use crate::worker::WorkerContext;
use crate::{archives, logs};

/// What is judged, by what, and where its commands are run.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) contract: &'a Contract,
    pub(super) question: &'a Question,
    pub(super) tier: &'a dyn SandboxTier,
    /// For logs and archives, until they are in the object store.
    pub(super) scratch: &'a Path,
}

/// What a run is to find out.
#[derive(Debug)]
pub(super) enum Question {
    /// Whether the reported work meets the contract.
    Report(Option<WorkspaceSource>),
    /// Whether the contract can judge: nothing was reported yet.
    Preflight,
}

/// All that the gate saw.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) evidence: Evidence,
    /// What the contract's commands name and is not there; looked for by a preflight only.
    pub(super) absent: Vec<Wanted>,
}

impl Question {
    fn runs(&self) -> fn(&Check) -> bool {
        match self {
            Self::Report(_) => |_| true,
            Self::Preflight => Check::is_run_on_baseline,
        }
    }

    fn wanted(&self, contract: &Contract) -> Vec<Wanted> {
        match self {
            Self::Report(_) => Vec::new(),
            Self::Preflight => wanted(contract),
        }
    }
}

/// Fetches, runs, and reads; writes nothing to the database, so it can be repeated at will.
pub(super) async fn gather(
    run: &LeasedRun,
    asked: Asked<'_>,
    ctx: &WorkerContext,
    cancel: &CancellationToken,
) -> Result<Gathered, GatherError> {
    let Asked { contract, question, tier, scratch } = asked;
    let workspace = prepare(run, asked, ctx, cancel).await?;
    let wanted = question.wanted(contract);
    let order = Run {
        contract,
        runs: question.runs(),
        wanted: &wanted,
        workspace: &workspace,
        tier,
        layers: ctx.preparer.layers(),
        logs_directory: scratch,
    };
    let ran = run_commands(&order, cancel).await;
    let (tree, files) = (workspace.tree(), workspace.files().to_vec());
    let protected_changes = workspace.protected_changes().to_vec();
    let (changes, changes_left_out) = (workspace.changes().to_vec(), workspace.changes_left_out());
    if let Err(error) = workspace.dispose().await {
        warn!(run.id = %run.lease.run(), error = %error, "a workspace was not removed; the next start sweeps it");
    }
    let mut executions = Vec::new();
    let Ran { executions: ran, absent, isolation, root } = ran?;
    let root = root.to_string_lossy().into_owned();
    for raw in ran {
        // Megabytes of output take a second to mask and to read, which other tasks of this thread would wait for.
        let raw = blocking(move || logs::mask(raw)).await?;
        let logs = logs::keep(&ctx.blobs, &raw).await?;
        let (root, matchers) = (root.clone(), Arc::clone(&ctx.matchers));
        let read = blocking(move || read_log(raw, &root, &matchers)).await?;
        executions.push(Execution { logs, ..read });
    }
    let evidence = Evidence {
        tree,
        isolation,
        executions,
        files,
        protected_changes,
        changes,
        changes_left_out,
        baseline_tests: run.baseline_tests.clone(),
    };
    Ok(Gathered { evidence, absent })
}

async fn prepare(
    run: &LeasedRun,
    Asked { contract, question, scratch, .. }: Asked<'_>,
    ctx: &WorkerContext,
    cancel: &CancellationToken,
) -> Result<Workspace, GatherError> {
    let project_id = run.lease.project_id();
    let fetch = async |source: Option<&WorkspaceSource>, role| {
        let Some(source) = source else { return Ok(None) };
        let fetched = archives::fetch(&ctx.blobs, project_id, source, scratch).await;
        fetched.map_err(|it| GatherError::archive(it, role))
    };
    let baseline_archive = fetch(contract.baseline(), SourceRole::Baseline).await?;
    let baseline = source_ref(contract.baseline(), baseline_archive.as_deref());
    let acceptance_archive = fetch(contract.acceptance_files(), SourceRole::Acceptance).await?;
    let acceptance = source_ref(contract.acceptance_files(), acceptance_archive.as_deref());
    let reported_archive;
    let judged = match question {
        Question::Preflight => baseline,
        Question::Report(source) => {
            reported_archive = fetch(source.as_ref(), SourceRole::Report).await?;
            source_ref(source.as_ref(), reported_archive.as_deref())
        }
    };
    let report = judged.ok_or(GatherError::NoWorkspace)?;
    let watched = contract.watched_paths();
    let protected = contract.protected();
    let sources = Sources { report, baseline, acceptance, protected, watched: &watched };
    Ok(ctx.preparer.prepare(&sources, cancel).await?)
}

fn source_ref<'a>(
    source: Option<&'a WorkspaceSource>,
    archive: Option<&'a Path>,
) -> Option<SourceRef<'a>> {
    source.map(|source| SourceRef { source, archive })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, GatherError> {
    let done = spawn_blocking(work).await.map_err(io::Error::other);
    done.flatten().map_err(GatherError::Scratch)
}

fn read_log(raw: RawExecution, root: &str, matchers: &[Matcher]) -> io::Result<Execution> {
    let bytes = raw.merged_bytes()?;
    let (exit_code, signal) = match raw.outcome {
        Outcome::Exited { code } => (Some(code), None),
        Outcome::Killed { signal } => (None, Some(signal)),
        Outcome::TimedOut { .. }
        | Outcome::OutputLimitExceeded { .. }
        | Outcome::CpuLimitExceeded { .. }
        | Outcome::OutOfMemory { .. }
        | Outcome::DiskLimitExceeded { .. }
        | Outcome::NotFound
        | Outcome::NotExecutable { .. }
        | Outcome::NotRun => (None, None),
    };
    let sides: Vec<Side<'_>> =
        raw.results.iter().map(|it| Side { name: &it.name, bytes: &it.bytes }).collect();
    let reading = gate_excerpt::read(&Input {
        bytes: &bytes,
        command: &raw.command.to_words(),
        exit_code,
        signal,
        timed_out: matches!(raw.outcome, Outcome::TimedOut { .. }),
        stream: LogStream::Merged,
        roots: &[root],
        sides: &sides,
        matchers,
        ..Input::default()
    });
    Ok(raw.into_execution(reading))
}
