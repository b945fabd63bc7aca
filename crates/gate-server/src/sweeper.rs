//! On a timer: runs whose worker is gone, runs whose delay is over, and what grows old.

use std::time::Duration;

use gate_core::limits::RUN_ATTEMPTS_MAX;
use gate_core::{Blame, Chain, FindingKind, without_evidence};
use gate_store::{LostRun, Origin, Store, StoreError};
use tokio::time::{Instant, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::payload::{self, Judged};
use crate::pipeline::{Of, announce, verdict};

const SWEEP_EVERY: Duration = Duration::from_secs(1);
const REMOVE_THE_OLD_EVERY: Duration = Duration::from_secs(60);

/// Sweeps until `stopping`. Any number of processes may do this at once.
pub(crate) async fn sweep(store: Store, stopping: CancellationToken) {
    let mut ticks = interval(SWEEP_EVERY);
    let mut removed_at: Option<Instant> = None;
    loop {
        tokio::select! {
            _tick = ticks.tick() => {}
            () = stopping.cancelled() => return,
        }
        if let Err(error) = sweep_once(&store).await {
            warn!(error = %Chain(&error), "could not sweep; trying again");
        }
        if removed_at.is_none_or(|it| it.elapsed() >= REMOVE_THE_OLD_EVERY) {
            removed_at = Some(Instant::now());
            if let Err(error) = store.remove_the_old().await {
                warn!(error = %Chain(&error), "could not remove what is old; trying again");
            }
        }
    }
}

/// One turn.
pub(crate) async fn sweep_once(store: &Store) -> Result<(), StoreError> {
    let _promoted: u64 = store.promote_due_runs().await?;
    for lost in store.take_over_lost_runs().await? {
        let run = lost.lease.run();
        match settle(store, lost).await {
            Ok(()) | Err(StoreError::LeaseLost) => {}
            Err(error) => {
                warn!(run.id = %run, error = %Chain(&error), "could not settle lost gate run {run}");
            }
        }
    }
    Ok(())
}

/// A lost run is queued again; one that has lost its worker too often is concluded, so that nothing loops for ever.
async fn settle(store: &Store, lost: LostRun) -> Result<(), StoreError> {
    let run = lost.lease.run();
    let origin = Origin::gate(lost.request_id.clone(), lost.traceparent.clone());
    if lost.crashes < RUN_ATTEMPTS_MAX {
        warn!(run.id = %run, worker.id = lost.worker, "gate run {run} lost its worker and is queued again");
        let reason = "the worker was lost";
        return store.give_back_run(lost.lease, Duration::ZERO, reason, &origin).await;
    }
    error!(run.id = %run, "gate run {run} lost its worker {} times and is given up", lost.crashes);
    let title = format!("the gate lost its worker {} times while it judged this", lost.crashes);
    let judgement = without_evidence(FindingKind::GateFault, Blame::Gate, title);
    let of = Of { run, round: lost.round, opens: lost.opens };
    let verdict = verdict(judgement, None, None, &of);
    let judged = Judged {
        project: lost.project,
        task: lost.lease.task(),
        run,
        report: lost.report,
        traceparent: lost.traceparent,
        request_id: lost.request_id,
    };
    let write = |stamp| payload::decided(&judged, &verdict, stamp);
    store.record_verdict(lost.lease, &verdict, &origin, write).await?;
    announce(&of, verdict.decision);
    Ok(())
}
