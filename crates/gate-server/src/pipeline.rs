//! One leased run, from workspace to recorded verdict: every step in order, every branch owned here.

use std::io;
use std::path::Path;
use std::sync::Arc;

use gate_api::body::{BodyError, Format};
use gate_api::{InvalidField, SubmitReport, body, contract_document};
use gate_blob::BlobError;
use gate_core::limits::RUN_ATTEMPTS_MAX;
use gate_core::{
    Blame, Chain, CompletionReport, Contract, Decision, Evidence, Excerpt, Execution, FindingKind,
    Judgement, LogStream, Outcome, Round, RunId, Told, Verdict, WorkspaceSource, conclude,
    execution_report, feedback, judge, retry, without_evidence,
};
use gate_excerpt::{Input, Matcher, Side, redact};
use gate_exec::{
    ExecError, PrepareError, Ran, RawExecution, Run, SandboxTier, SourceRef, SourceRole, Sources,
    Workspace, run_commands,
};
use gate_store::{LeasedRun, Origin, StoreError};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::logs::LogError;
use crate::payload::{self, Judged};
use crate::tiers::Unavailable;
use crate::worker::WorkerContext;
use crate::{archives, logs};

/// Takes one leased run to its recorded verdict, or gives it back.
pub(crate) async fn process(
    run: LeasedRun,
    ctx: &WorkerContext,
    cancel: &CancellationToken,
) -> Result<(), StoreError> {
    if run.attempt > RUN_ATTEMPTS_MAX {
        let title =
            format!("the gate tried {RUN_ATTEMPTS_MAX} times and could not record a verdict");
        let judgement = without_evidence(FindingKind::GateFault, Blame::Gate, title);
        return record(run, judgement, None, None, ctx).await;
    }
    let (contract, report) = match read_documents(&run) {
        Ok(documents) => documents,
        Err(error) => return conclude_without(run, &error, None, ctx).await,
    };
    // Before anything is fetched, and never a weaker one instead: nobody would notice.
    let tier = match ctx.tiers.for_contract(&contract) {
        Ok(tier) => tier,
        Err(error) => return conclude_without(run, &error.into(), Some(&contract), ctx).await,
    };
    let scratch = match ctx.preparer.scratch() {
        Ok(scratch) => scratch,
        Err(error) => {
            let error = GatherError::Scratch(error);
            return conclude_without(run, &error, Some(&contract), ctx).await;
        }
    };
    let (tier, directory) = (tier.as_ref(), scratch.path());
    let asked = Asked { contract: &contract, report: &report, tier, scratch: directory };
    let gathered = gather(&run, asked, ctx, cancel).await;
    if let Err(error) = scratch.dispose().await {
        warn!(run.id = %run.lease.run(), error = %error, "the files of a run were not removed; the next start sweeps them");
    }
    match gathered {
        Ok(evidence) => {
            let judgement = judge(&contract, &evidence);
            record(run, judgement, Some(&contract), Some(evidence), ctx).await
        }
        Err(error) => conclude_without(run, &error, Some(&contract), ctx).await,
    }
}

/// There is no evidence: the run is put back as it was, tried again, or blamed on whoever's fault it is.
async fn conclude_without(
    run: LeasedRun,
    error: &GatherError,
    contract: Option<&Contract>,
    ctx: &WorkerContext,
) -> Result<(), StoreError> {
    if matches!(error, GatherError::Cancelled) {
        return give_up(run, ctx).await;
    }
    if may_retry(&run, error) {
        return give_back(run, error, ctx).await;
    }
    let mut judgement = without_evidence(error.kind(), error.blame(), error.told());
    if let GatherError::Exec(ExecError::SetUpFailed(failure)) = error {
        let (stream, offset) = (LogStream::Merged, failure.tail_offset);
        let text = redact(&failure.tail).into_owned();
        judgement = judgement.showing(Excerpt { stream, offset, text });
    }
    record(run, judgement, contract, None, ctx).await
}

/// The texts that were checked when they were accepted.
fn read_documents(run: &LeasedRun) -> Result<(Contract, CompletionReport), GatherError> {
    let format = match run.contract_media_type.as_str() {
        "application/yaml" => Format::Yaml,
        _ => Format::Json,
    };
    let contract = contract_document::read(run.contract_text.as_bytes(), format)?;
    let report: SubmitReport = body::read(run.report_body.as_bytes(), Format::Json)?;
    let report = CompletionReport::try_from(report)
        .map_err(|it: Vec<InvalidField>| GatherError::Document(BodyError::Form(it)))?;
    Ok((contract, report))
}

/// What is judged, by what, and where its commands are run.
#[derive(Clone, Copy)]
struct Asked<'a> {
    contract: &'a Contract,
    report: &'a CompletionReport,
    tier: &'a dyn SandboxTier,
    /// For logs and archives, until they are in the object store.
    scratch: &'a Path,
}

/// Fetches, runs, and reads; writes nothing to the database, so it can be repeated at will.
async fn gather(
    run: &LeasedRun,
    Asked { contract, report, tier, scratch }: Asked<'_>,
    ctx: &WorkerContext,
    cancel: &CancellationToken,
) -> Result<Evidence, GatherError> {
    let source = report.workspace.as_ref().ok_or(GatherError::NoWorkspace)?;
    let workspace = prepare(run, contract, source, ctx, (scratch, cancel)).await?;
    let order = Run {
        contract,
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
    let Ran { executions: ran, isolation, root } = ran?;
    let root = root.to_string_lossy().into_owned();
    for raw in ran {
        // Megabytes of output take a second to mask and to read, which other tasks of this thread would wait for.
        let raw = blocking(move || logs::mask(raw)).await?;
        let logs = logs::keep(&ctx.blobs, &raw).await?;
        let (root, matchers) = (root.clone(), Arc::clone(&ctx.matchers));
        let read = blocking(move || read_log(raw, &root, &matchers)).await?;
        executions.push(Execution { logs, ..read });
    }
    Ok(Evidence {
        tree,
        isolation,
        executions,
        files,
        protected_changes,
        changes,
        changes_left_out,
    })
}

async fn prepare(
    run: &LeasedRun,
    contract: &Contract,
    source: &WorkspaceSource,
    ctx: &WorkerContext,
    (scratch, cancel): (&Path, &CancellationToken),
) -> Result<Workspace, GatherError> {
    let project_id = run.lease.project_id();
    let archive = archives::fetch(&ctx.blobs, project_id, source, scratch).await;
    let archive = archive.map_err(|it| GatherError::archive(it, SourceRole::Report))?;
    let baseline_archive = match contract.baseline() {
        Some(baseline) => archives::fetch(&ctx.blobs, project_id, baseline, scratch)
            .await
            .map_err(|it| GatherError::archive(it, SourceRole::Baseline))?,
        None => None,
    };
    let watched = contract.watched_paths();
    let sources = Sources {
        report: SourceRef { source, archive: archive.as_deref() },
        baseline: contract
            .baseline()
            .map(|source| SourceRef { source, archive: baseline_archive.as_deref() }),
        protected: contract.protected(),
        watched: &watched,
    };
    Ok(ctx.preparer.prepare(&sources, cancel).await?)
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

/// Only the gate's own faults are tried again, and only where another try can end otherwise.
fn may_retry(run: &LeasedRun, error: &GatherError) -> bool {
    let can_pass = !matches!(error, GatherError::Isolation(_));
    error.blame() == Blame::Gate && can_pass && run.attempt < RUN_ATTEMPTS_MAX
}

async fn give_back(
    run: LeasedRun,
    error: &GatherError,
    ctx: &WorkerContext,
) -> Result<(), StoreError> {
    let run_id = run.lease.run();
    let reason = Chain(error).to_string();
    // Not `error!`: the attempt counter ends this loop, and the last attempt escalates.
    warn!(run.id = %run_id, run.attempt = run.attempt, error = reason, "gate run {run_id} goes back to the queue");
    metrics::counter!("gate_runs_retried_total").increment(1);
    let delay = retry::run_delay(run.attempt, rand::random());
    let origin = Origin::gate(run.request_id, run.traceparent);
    ctx.store.give_back_run(run.lease, delay, &reason, &origin).await
}

/// The run was taken away, or this worker stops: then it is as if it had never been leased.
async fn give_up(run: LeasedRun, ctx: &WorkerContext) -> Result<(), StoreError> {
    let run_id = run.lease.run();
    info!(run.id = %run_id, "gate run {run_id} was stopped");
    ctx.store.return_run(run.lease).await
}

async fn record(
    run: LeasedRun,
    judgement: Judgement,
    contract: Option<&Contract>,
    evidence: Option<Evidence>,
    ctx: &WorkerContext,
) -> Result<(), StoreError> {
    let verdict = verdict(judgement, contract, evidence, run.round, run.lease.run());
    let judged = Judged {
        project: run.project,
        task: run.lease.task(),
        run: run.lease.run(),
        report: Some(run.report),
        traceparent: run.traceparent.clone(),
        request_id: run.request_id.clone(),
    };
    let origin = Origin::gate(run.request_id, run.traceparent);
    let write = |stamp| payload::decided(&judged, &verdict, stamp);
    ctx.store.record_verdict(run.lease, &verdict, &origin, write).await?;
    announce(judged.run, verdict.decision);
    Ok(())
}

/// The whole answer: what was decided, and what follows from it.
pub(crate) fn verdict(
    judgement: Judgement,
    contract: Option<&Contract>,
    evidence: Option<Evidence>,
    round: Round,
    run: RunId,
) -> Verdict {
    let (next_step, task_state) = conclude(judgement.decision, judgement.blame, round);
    let told = Told {
        contract,
        judgement: &judgement,
        executions: evidence.as_ref().map(|it| it.executions.as_slice()).unwrap_or_default(),
        evidence: evidence.as_ref(),
        round,
        next_step,
        run: Some(run),
    };
    let (feedback, execution_report) = (feedback(&told), execution_report(&told));
    let (tree, isolation, executions, changes, changes_left_out) = match evidence {
        Some(it) => {
            (Some(it.tree), Some(it.isolation), it.executions, it.changes, it.changes_left_out)
        }
        None => (None, None, Vec::new(), Vec::new(), 0),
    };
    Verdict {
        decision: judgement.decision,
        next_step,
        task_state,
        round: round.number,
        rounds_max: round.rounds_max,
        findings: judgement.findings,
        findings_left_out: judgement.findings_left_out,
        executions,
        tree,
        isolation,
        changes,
        changes_left_out,
        feedback,
        execution_report,
    }
}

pub(crate) fn announce(run: RunId, decision: Decision) {
    let decision = decision.as_str();
    metrics::counter!("gate_runs_total", "decision" => decision).increment(1);
    info!(run.id = %run, run.decision = decision, "gate run {run} was {decision}");
}

/// Why there is no evidence; each variant knows whose fault it is.
#[derive(Debug, thiserror::Error)]
enum GatherError {
    #[error("the run was stopped")]
    Cancelled,
    #[error("a stored document could not be read back")]
    Document(#[from] BodyError),
    #[error("a report of status success was stored without a workspace")]
    NoWorkspace,
    #[error(transparent)]
    Isolation(#[from] Unavailable),
    #[error(transparent)]
    Prepare(PrepareError),
    #[error("the {0} archive was never uploaded")]
    ArchiveUnknown(&'static str, SourceRole),
    #[error("the object store failed")]
    Blob(#[from] BlobError),
    #[error("the logs could not be kept")]
    Logs(#[from] LogError),
    #[error("the run's own files could not be written")]
    Scratch(#[source] io::Error),
    #[error("a command could not be run")]
    Exec(#[source] ExecError),
}

impl GatherError {
    fn archive(error: BlobError, role: SourceRole) -> Self {
        let whose = match role {
            SourceRole::Report => "report's",
            SourceRole::Baseline => "baseline's",
        };
        match error {
            BlobError::NotFound { .. } => Self::ArchiveUnknown(whose, role),
            error => Self::Blob(error),
        }
    }

    fn blame(&self) -> Blame {
        match self {
            Self::Prepare(error) => error.blame(),
            Self::Exec(error) => error.blame(),
            Self::ArchiveUnknown(_, SourceRole::Report) => Blame::Reporter,
            Self::ArchiveUnknown(_, SourceRole::Baseline) => Blame::Contract,
            Self::Cancelled
            | Self::Document(_)
            | Self::NoWorkspace
            | Self::Isolation(_)
            | Self::Blob(_)
            | Self::Logs(_)
            | Self::Scratch(_) => Blame::Gate,
        }
    }

    fn kind(&self) -> FindingKind {
        if matches!(self, Self::Isolation(_)) {
            return FindingKind::IsolationUnavailable;
        }
        if matches!(self, Self::Exec(ExecError::SetUpFailed(_))) {
            return FindingKind::SetupFailed;
        }
        match self.blame() {
            Blame::Reporter => FindingKind::SourceUnusable,
            Blame::Contract => FindingKind::BaselineUnusable,
            Blame::Gate => FindingKind::GateFault,
        }
    }

    /// What the verdict says.
    fn told(&self) -> String {
        match self.blame() {
            Blame::Gate if matches!(self, Self::Isolation(_)) => self.to_string(),
            // The address of a repository may hold a password, and so may what git says of it.
            Blame::Reporter | Blame::Contract => redact(&Chain(self).to_string()).into_owned(),
            // Which check, and at which stage: the person who decides starts there.
            Blame::Gate => format!("the gate could not judge: {}", Chain(self)),
        }
    }
}

impl From<PrepareError> for GatherError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Cancelled => Self::Cancelled,
            error => Self::Prepare(error),
        }
    }
}

impl From<ExecError> for GatherError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Cancelled => Self::Cancelled,
            error => Self::Exec(error),
        }
    }
}
