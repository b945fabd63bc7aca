//! The thread that owns the server: starts it, waits for it, starts it again.
//!
//! The kernel's signal to the server ("your parent is gone") is sent when the *thread* that forked it ends. So this one
//! thread forks, and lives as long as the server does.

use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tracing::{info, warn};

use crate::account::Account;
use crate::layout::Layout;
use crate::spawn::{self, Lifetime};
use crate::{PostgresError, log, postmaster, recover};

/// After a crash the server replays its log before it is ready.
pub(crate) const READY_SECONDS_MAX: u64 = 60;

const POLL: Duration = Duration::from_millis(10);

const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// A server that ran for so long has recovered from what ended the one before.
const HEALTHY: Duration = Duration::from_secs(60);

/// What the server is doing now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It does not accept connections yet.
    Starting,
    Ready,
    /// It ended by itself, or did not become ready, and is started again after a pause.
    Down {
        reason: String,
    },
    /// It was told to stop, and has.
    Stopped,
}

/// What the thread and the handle share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) changed: Condvar,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) status: Status,
    /// How often the server was started again.
    pub(crate) restarts: u64,
    /// The first start failed, and there is no second.
    pub(crate) failed: Option<PostgresError>,
    stopping: bool,
    /// Set while the process exists and is not reaped, so that no signal can reach another one.
    pid: Option<Pid>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let state = State {
            status: Status::Starting,
            restarts: 0,
            failed: None,
            stopping: false,
            pid: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panicked with the lock held changed single fields only: the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, status: Status) {
        self.lock().status = status;
        self.changed.notify_all();
    }

    /// Tells the server to stop in this way, and the thread not to start it again.
    pub(crate) fn tell(&self, signal: Signal) {
        let mut state = self.lock();
        state.stopping = true;
        if let Some(pid) = state.pid {
            // Not reaped yet (see `pid`), so this is our process; that it may be dead already is no harm.
            postmaster::tell(pid, signal);
        }
        self.changed.notify_all();
    }
}

/// Everything that is needed to start the server once more.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) account: Account,
    pub(crate) layout: Layout,
}

/// Runs until the server is told to stop, or fails at its first start.
pub(crate) fn supervise(recipe: &Recipe, shared: &Shared) {
    let mut backoff = BACKOFF_FIRST;
    let mut was_ready = false;
    loop {
        let began = Instant::now();
        let ended = run_once(recipe, shared);
        let mut state = shared.lock();
        was_ready |= state.status == Status::Ready;
        if state.stopping {
            break stopped(state, shared, None);
        }
        let error = match ended {
            Ok(status) => PostgresError::EndedAtStart {
                ended: status.to_string(),
                log: log::tail(&recipe.layout.log()),
            },
            Err(error) => error,
        };
        if !was_ready {
            break stopped(state, shared, Some(error));
        }
        let reason = match (&error, &state.status) {
            (PostgresError::EndedAtStart { ended, .. }, Status::Ready) => {
                format!("it ended by itself ({ended})")
            }
            (error, _) => error.to_string(),
        };
        warn!(reason, "the PostgreSQL server is down, and is started again");
        state.status = Status::Down { reason };
        shared.changed.notify_all();
        backoff = if began.elapsed() > HEALTHY { BACKOFF_FIRST } else { backoff };
        let told = shared.changed.wait_timeout_while(state, backoff, |state| !state.stopping);
        let (mut state, _) = told.unwrap_or_else(PoisonError::into_inner);
        if state.stopping {
            break stopped(state, shared, None);
        }
        state.restarts += 1;
        drop(state);
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
}

fn stopped(mut state: MutexGuard<'_, State>, shared: &Shared, error: Option<PostgresError>) {
    state.failed = error;
    state.status = Status::Stopped;
    shared.changed.notify_all();
}

/// One life of the server, from recovery to its end.
fn run_once(recipe: &Recipe, shared: &Shared) -> Result<ExitStatus, PostgresError> {
    let cluster = recipe.layout.cluster();
    recover::end_leftovers(&cluster, &recipe.layout.socket_dir)?;
    let mut state = shared.lock();
    let lifetime = Lifetime::EndsWithThread(Signal::INT);
    let spawned = spawn::server(
        &recipe.program,
        &recipe.args,
        (&recipe.account, &cluster),
        Stdio::piped(),
        lifetime,
    );
    let mut child = spawned.map_err(PostgresError::io("start", &recipe.program))?;
    let pid = Pid::from_child(&child);
    state.pid = Some(pid);
    if state.stopping {
        // It was told so while we were recovering.
        postmaster::tell(pid, Signal::INT);
    }
    drop(state);
    let outcome = attend(recipe, shared, &mut child, pid);
    if outcome.is_err() {
        kill(shared);
    }
    let status = reap(shared, &mut child, pid);
    outcome?;
    status.map_err(PostgresError::io("wait for", &recipe.program))
}

/// Until the server is ready, or has ended.
fn attend(
    recipe: &Recipe,
    shared: &Shared,
    child: &mut Child,
    pid: Pid,
) -> Result<(), PostgresError> {
    let pipe = child.stderr.take();
    let copying = pipe.map(|it| log::keep(it, recipe.layout.log())).transpose()?;
    let began = Instant::now();
    let cluster = recipe.layout.cluster();
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while !postmaster::is_ready(&cluster, pid.as_raw_nonzero().get()) {
        if waitid(WaitId::Pid(pid), look).is_ok_and(|it| it.is_some()) {
            copying.iter().for_each(log::catch_up);
            return Ok(());
        }
        if began.elapsed().as_secs() >= READY_SECONDS_MAX {
            let log = log::tail(&recipe.layout.log());
            return Err(PostgresError::NotReady { limit_seconds: READY_SECONDS_MAX, log });
        }
        thread::sleep(POLL);
    }
    let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    info!(duration_ms = elapsed, "the PostgreSQL server is ready");
    shared.set(Status::Ready);
    Ok(())
}

/// Waits for the end of the process, and forgets its number in the moment in which the kernel does.
fn reap(shared: &Shared, child: &mut Child, pid: Pid) -> std::io::Result<ExitStatus> {
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    let mut state = shared.lock();
    state.pid = None;
    child.wait()
}

/// A server that does not become ready is ended at once; it has accepted nothing.
fn kill(shared: &Shared) {
    if let Some(pid) = shared.lock().pid {
        postmaster::tell(pid, Signal::KILL);
    }
}
