//! The worker: leases runs while it has free slots, does them, and proves that it lives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gate_blob::BlobStore;
use gate_core::{Chain, LeaseToken};
use gate_excerpt::Matcher;
use gate_exec::Preparer;
use gate_store::{LeasedRun, Store, StoreError, Topic, WorkerSession};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};

use crate::pipeline::process;
use crate::tiers::Tiers;

/// How often a worker says that it lives, and asks what it still has.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(3);
/// A heartbeat that takes longer is given up, and its connection with it.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);
/// The queue is looked at this often even when nobody says that it changed.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// After a failure of the database.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What every run needs.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    pub(crate) store: Store,
    pub(crate) blobs: Arc<BlobStore>,
    pub(crate) preparer: Preparer,
    pub(crate) tiers: Tiers,
    /// The operator's own patterns for tools that the gate does not know.
    pub(crate) matchers: Arc<[Matcher]>,
    pub(crate) slots: u32,
    /// The name of this host, for people.
    pub(crate) node: String,
    /// How long running runs may go on after the process was asked to stop.
    pub(crate) drain: Duration,
}

/// The runs of this worker, and how to stop each.
#[derive(Debug, Default)]
struct Held(Mutex<HashMap<LeaseToken, CancellationToken>>);

impl Held {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<LeaseToken, CancellationToken>) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tokens(&self) -> Vec<LeaseToken> {
        self.with(|it| it.keys().copied().collect())
    }

    fn stop_all(&self) {
        self.with(|it| it.values().for_each(CancellationToken::cancel));
    }

    /// Stops the runs that the database does not count as ours any more.
    fn stop(&self, lost: &[LeaseToken]) {
        self.with(|it| {
            lost.iter().filter_map(|token| it.get(token)).for_each(CancellationToken::cancel);
        });
    }
}

/// Works until `stopping`, then lets running runs finish within the grace period and gives the rest back.
pub(crate) async fn work(ctx: Arc<WorkerContext>, stopping: CancellationToken) {
    let told = serde_json::to_value(ctx.tiers.told())
        .expect("words, numbers, and lists of them can always be written as JSON");
    while !stopping.is_cancelled() {
        match ctx.store.register_worker(&ctx.node, ctx.slots, &told).await {
            Ok(session) => work_as(session, &ctx, &stopping).await,
            Err(error) => {
                warn!(error = %Chain(&error), "could not register as a worker; trying again");
                pause(&stopping).await;
            }
        }
    }
}

async fn pause(stopping: &CancellationToken) {
    tokio::select! {
        () = sleep(PAUSE_AFTER_FAILURE) => {}
        () = stopping.cancelled() => {}
    }
}

/// One registration: until the process stops, or until the database has given this worker up.
async fn work_as(session: WorkerSession, ctx: &Arc<WorkerContext>, stopping: &CancellationToken) {
    let id = session.id();
    info!(worker.id = id, worker.slots = ctx.slots, "worker {id} takes runs");
    let held = Arc::new(Held::default());
    let given_up = CancellationToken::new();
    // Its own task: nothing that a run does may delay the proof that this worker lives.
    let stop_beating = CancellationToken::new();
    let mut beating = JoinSet::new();
    beating.spawn(beat(
        session,
        Arc::clone(&held),
        Arc::clone(ctx),
        given_up.clone(),
        stop_beating.clone(),
    ));
    let mut runs = Runs::default();
    while !stopping.is_cancelled() && !given_up.is_cancelled() {
        if let Err(error) = lease_and_start(id, ctx, &held, &mut runs).await {
            warn!(worker.id = id, error = %Chain(&error), "could not lease runs; trying again");
            pause(stopping).await;
        }
        let has_free_slot = runs.free_slots(ctx.slots) > 0;
        tokio::select! {
            () = ctx.store.woken(Topic::Work), if has_free_slot => {}
            () = sleep(POLL_EVERY.mul_f64(1.0 + rand::random::<f64>() / 10.0)), if has_free_slot => {}
            ended = runs.set.join_next(), if !runs.set.is_empty() => log_panic(ended),
            () = stopping.cancelled() => {}
            () = given_up.cancelled() => {}
        }
    }
    if given_up.is_cancelled() {
        held.stop_all();
    }
    drain(&mut runs.set, &held, ctx.drain).await;
    stop_beating.cancel();
    while beating.join_next().await.is_some() {}
}

/// The runs of one registration.
#[derive(Debug, Default)]
struct Runs {
    set: JoinSet<()>,
    /// A suspect is among them, and no other.
    alone: bool,
}

impl Runs {
    fn free_slots(&self, slots: u32) -> u32 {
        if self.alone && !self.set.is_empty() {
            return 0;
        }
        slots.saturating_sub(u32::try_from(self.set.len()).unwrap_or(u32::MAX))
    }
}

/// Fills the free slots; a run that two workers died with is taken alone, before all others.
async fn lease_and_start(
    id: i32,
    ctx: &Arc<WorkerContext>,
    held: &Arc<Held>,
    runs: &mut Runs,
) -> Result<(), StoreError> {
    while let Some(ended) = runs.set.try_join_next() {
        log_panic(Some(ended));
    }
    let free = runs.free_slots(ctx.slots);
    if free == 0 {
        return Ok(());
    }
    runs.alone = false;
    let mut leased = Vec::new();
    if runs.set.is_empty() {
        leased.extend(ctx.store.lease_suspect_run(id).await?);
        runs.alone = !leased.is_empty();
    }
    if !runs.alone {
        leased = ctx.store.lease_next_runs(id, free).await?;
    }
    for run in leased {
        let (token, stop) = (run.lease.token(), CancellationToken::new());
        held.with(|it| it.insert(token, stop.clone()));
        let (ctx, held) = (Arc::clone(ctx), Arc::clone(held));
        // Every line that is logged about the run leads back to the request that brought its report.
        let span = info_span!("run", request.id = run.request_id, traceparent = run.traceparent);
        let done = async move {
            run_one(run, &ctx, &stop).await;
            held.with(|it| it.remove(&token));
        };
        runs.set.spawn(done.instrument(span));
    }
    Ok(())
}

/// One run, to its end.
async fn run_one(run: LeasedRun, ctx: &WorkerContext, stop: &CancellationToken) {
    let run_id = run.lease.run();
    let started = Instant::now();
    match process(run, ctx, stop).await {
        Ok(()) => {}
        Err(StoreError::LeaseLost) => {
            info!(run.id = %run_id, "gate run {run_id} was concluded by somebody else");
        }
        // A later heartbeat finds the lease without a run and queues it again; the attempts are bounded.
        Err(error) => {
            warn!(run.id = %run_id, error = %Chain(&error), "gate run {run_id} could not be recorded");
        }
    }
    metrics::histogram!("gate_run_duration_seconds").record(started.elapsed().as_secs_f64());
}

/// Waits for running runs, then stops what is left; a stopped run gives itself back.
async fn drain(runs: &mut JoinSet<()>, held: &Held, grace: Duration) {
    if runs.is_empty() {
        return;
    }
    info!(runs = runs.len(), grace_seconds = grace.as_secs(), "letting running runs finish");
    let finish = async {
        while let Some(ended) = runs.join_next().await {
            log_panic(Some(ended));
        }
    };
    if timeout(grace, finish).await.is_err() {
        held.stop_all();
        while let Some(ended) = runs.join_next().await {
            log_panic(Some(ended));
        }
    }
}

/// Heartbeats until told to stop; whatever is not ours any more is stopped at once.
async fn beat(
    mut session: WorkerSession,
    held: Arc<Held>,
    ctx: Arc<WorkerContext>,
    given_up: CancellationToken,
    stop: CancellationToken,
) {
    let mut ticks = interval(HEARTBEAT_EVERY);
    loop {
        tokio::select! {
            _tick = ticks.tick() => {}
            () = ctx.store.woken(Topic::TakenAway) => {}
            () = stop.cancelled() => break,
        }
        let known = held.tokens();
        let answer = timeout(HEARTBEAT_TIMEOUT, session.heartbeat(&known)).await;
        match answer {
            Ok(Ok(Some(alive))) => {
                let alive: Vec<_> = alive.into_iter().map(|it| it.token).collect();
                // Only what was known before the question: a lease may have come in between.
                let lost: Vec<_> = known.into_iter().filter(|it| !alive.contains(it)).collect();
                held.stop(&lost);
            }
            Ok(Ok(None)) => {
                warn!(worker.id = session.id(), "worker {} was given up", session.id());
                given_up.cancel();
                return;
            }
            // The runs go on: if they were given to somebody else meanwhile, the next answer says so.
            Ok(Err(_)) | Err(_) => {
                warn!(worker.id = session.id(), "worker {} lost its connection", session.id());
                reconnect(&mut session, &ctx.store, &stop).await;
            }
        }
    }
    if let Err(error) = session.deregister().await {
        warn!(error = %Chain(&error), "could not take this worker off the list");
    }
}

async fn reconnect(session: &mut WorkerSession, store: &Store, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        match timeout(HEARTBEAT_TIMEOUT, session.reconnect(store)).await {
            Ok(Ok(())) => return,
            Ok(Err(_)) | Err(_) => pause(stop).await,
        }
    }
}

/// A panic in a run is a bug; the run is tried again when its lease is found to be lost.
fn log_panic(ended: Option<Result<(), tokio::task::JoinError>>) {
    if let Some(Err(error)) = ended
        && error.is_panic()
    {
        tracing::error!(error = %error, "a run panicked");
    }
}
