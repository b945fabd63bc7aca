//! One leased run, from workspace to recorded verdict: every step in order, every branch owned here.

mod gather;
mod gather_error;

use gate_api::body::{BodyError, Format};
use gate_api::{InvalidField, SubmitReport, body, contract_document};
use gate_core::limits::RUN_ATTEMPTS_MAX;
use gate_core::{
    Blame, Chain, CompletionReport, Contract, Decision, Evidence, Excerpt, FindingKind, Judgement,
    LogStream, NextStep, Round, RunId, TaskState, Told, Verdict, baseline_tests, conclude,
    conclude_preflight, execution_report, feedback, judge, preflight, preflight_feedback, retry,
    without_evidence,
};
use gate_excerpt::redact;
use gate_exec::ExecError;
use gate_store::{LeasedRun, Origin, StoreError, Subject};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::gather::{Asked, Gathered, Question, gather};
use self::gather_error::GatherError;
use crate::payload::{self, Judged};
use crate::worker::WorkerContext;

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
    let (contract, question) = match read_documents(&run) {
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
    let asked = Asked { contract: &contract, question: &question, tier, scratch: directory };
    let gathered = gather(&run, asked, ctx, cancel).await;
    if let Err(error) = scratch.dispose().await {
        warn!(run.id = %run.lease.run(), error = %error, "the files of a run were not removed; the next start sweeps them");
    }
    match gathered {
        Ok(Gathered { evidence, absent }) => {
            let judgement = match question {
                Question::Report(_) => judge(&contract, &evidence),
                Question::Preflight => preflight(&contract, &evidence, &absent),
            };
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
fn read_documents(run: &LeasedRun) -> Result<(Contract, Question), GatherError> {
    let format = match run.contract_media_type.as_str() {
        "application/yaml" => Format::Yaml,
        _ => Format::Json,
    };
    let contract = contract_document::read(run.contract_text.as_bytes(), format)?;
    let question = match &run.subject {
        Subject::Preflight { .. } => Question::Preflight,
        Subject::Report { body, .. } => {
            let report: SubmitReport = body::read(body.as_bytes(), Format::Json)?;
            let report = CompletionReport::try_from(report)
                .map_err(|it: Vec<InvalidField>| GatherError::Document(BodyError::Form(it)))?;
            Question::Report(report.workspace)
        }
    };
    Ok((contract, question))
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
    let opens = match run.subject {
        Subject::Report { .. } => None,
        Subject::Preflight { opens } => Some(opens),
    };
    let of = Of { run: run.lease.run(), round: run.round, opens };
    let verdict = verdict(judgement, contract, evidence, &of);
    let judged = Judged {
        project: run.project,
        task: run.lease.task(),
        run: run.lease.run(),
        report: run.subject.report(),
        traceparent: run.traceparent.clone(),
        request_id: run.request_id.clone(),
    };
    let origin = Origin::gate(run.request_id, run.traceparent);
    let write = |stamp| payload::decided(&judged, &verdict, stamp);
    ctx.store.record_verdict(run.lease, &verdict, &origin, write).await?;
    announce(&of, verdict.decision);
    Ok(())
}

/// Which run a verdict is of.
#[derive(Debug)]
pub(crate) struct Of {
    pub(crate) run: RunId,
    pub(crate) round: Round,
    /// Of a preflight: where the task goes when its contract is proven.
    pub(crate) opens: Option<TaskState>,
}

/// The whole answer: what was decided, and what follows from it.
pub(crate) fn verdict(
    judgement: Judgement,
    contract: Option<&Contract>,
    evidence: Option<Evidence>,
    of: &Of,
) -> Verdict {
    let Of { run, round, opens } = *of;
    let (decision, blame) = (judgement.decision, judgement.blame);
    let (next_step, task_state) = match opens {
        None => conclude(decision, blame, round),
        Some(opens) => conclude_preflight(decision, blame, opens),
    };
    let told = Told {
        contract,
        judgement: &judgement,
        executions: evidence.as_ref().map(|it| it.executions.as_slice()).unwrap_or_default(),
        evidence: evidence.as_ref(),
        round,
        next_step,
        run: Some(run),
    };
    let (feedback, execution_report) = match opens {
        None => (feedback(&told), execution_report(&told)),
        Some(_) => (preflight_feedback(&told), String::new()),
    };
    let proven = contract.zip(evidence.as_ref()).filter(|_| next_step == NextStep::Start);
    let baseline_tests = proven.map(|(contract, it)| baseline_tests(contract, it));
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
        baseline_tests: baseline_tests.unwrap_or_default(),
        feedback,
        execution_report,
    }
}

pub(crate) fn announce(of: &Of, decision: Decision) {
    let (run, decision) = (of.run, decision.as_str());
    let kind = if of.opens.is_some() { "preflight" } else { "report" };
    metrics::counter!("gate_runs_total", "decision" => decision, "kind" => kind).increment(1);
    info!(run.id = %run, run.kind = kind, run.decision = decision, "gate run {run} ({kind}) was {decision}");
}
