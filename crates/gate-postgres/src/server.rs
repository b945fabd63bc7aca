//! The handle of a running server.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tracing::{info, warn};

use crate::account::Account;
use crate::binaries::{Binaries, cluster_major};
use crate::layout::Layout;
use crate::lock::DataDirLock;
use crate::postmaster::{self, Durability, NAME};
use crate::supervise::{Recipe, Shared, Status, supervise};
use crate::{PostgresError, Settings, init};

/// How a server is told to stop, and how long each way may take: in order, at once, by force.
const STOP_STEPS: &[(Signal, Duration)] = &[
    (Signal::INT, Duration::from_secs(30)),
    (Signal::QUIT, Duration::from_secs(5)),
    (Signal::KILL, Duration::from_secs(5)),
];

/// A private PostgreSQL server. It is stopped when this is dropped, and by the kernel if the gate is killed.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    layout: Layout,
    thread: Option<JoinHandle<()>>,
    /// Released last, when the server is gone.
    _lock: DataDirLock,
}

impl Server {
    /// Starts the server of this data directory, making its cluster first if there is none, and waits until it is
    /// ready. Blocks: about a second at the first start, some hundredths of one later.
    pub fn start(settings: &Settings) -> Result<Self, PostgresError> {
        let account = Account::resolve(settings.run_as.as_deref())?;
        let layout = Layout::prepare(&settings.data_dir, &account)?;
        let lock = DataDirLock::take(&layout.lock(), &layout.data_dir)?;
        let cluster = layout.cluster();
        let major = cluster_major(&cluster)?;
        let binaries = find_or_download(settings, &layout, major)?;
        if major.is_none() {
            init::make_cluster(&layout, &binaries, &account, Durability::Full)?;
        }
        let args = postmaster::arguments(&layout, settings.connections_max, Durability::Full);
        let recipe =
            Recipe { program: binaries.program("postgres"), args, account, layout: layout.clone() };
        let shared = Arc::new(Shared::new());
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("postgres".to_owned())
            .spawn(move || supervise(&recipe, &for_thread))
            .map_err(PostgresError::io("start a thread for", &cluster))?;
        let server = Self { shared, layout, thread: Some(thread), _lock: lock };
        server.wait_while(&Status::Starting, None);
        let failed = server.shared.lock().failed.take();
        failed.map_or(Ok(server), Err)
    }

    /// The database `donegate`, over the Unix socket, as libpq and sqlx understand it.
    pub fn url(&self) -> String {
        postmaster::url(&self.layout.socket_dir, NAME)
    }

    /// The directory with the server's socket: what an acceptance command must not be able to enter.
    pub fn socket_dir(&self) -> &Path {
        &self.layout.socket_dir
    }

    pub fn status(&self) -> Status {
        self.shared.lock().status.clone()
    }

    /// How often the server ended by itself and was started again.
    pub fn restarts(&self) -> u64 {
        self.shared.lock().restarts
    }

    /// Blocks until the status is another one than `status`, or the time is over; gives the status then.
    pub fn wait_for_change(&self, status: &Status, limit: Duration) -> Status {
        self.wait_while(status, Some(limit))
    }

    /// Stops the server in order: sessions are ended, everything is written, nothing is left to recover.
    ///
    /// An error says that it had to be forced. Close the pools first.
    pub fn stop(mut self) -> Result<(), PostgresError> {
        self.stop_now()
    }

    fn stop_now(&mut self) -> Result<(), PostgresError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let began = Instant::now();
        let mut forced = None;
        for (signal, patience) in STOP_STEPS {
            self.shared.tell(*signal);
            if self.wait_until_stopped(*patience) {
                break;
            }
            forced = Some(PostgresError::StopForced { limit_seconds: began.elapsed().as_secs() });
        }
        if thread.join().is_err() {
            warn!("the thread of the PostgreSQL server had panicked");
        }
        info!("the PostgreSQL server has stopped");
        forced.map_or(Ok(()), Err)
    }

    fn wait_while(&self, status: &Status, limit: Option<Duration>) -> Status {
        let state = self.shared.lock();
        let same = |state: &mut crate::supervise::State| state.status == *status;
        let state = match limit {
            Some(limit) => {
                self.shared
                    .changed
                    .wait_timeout_while(state, limit, same)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => {
                self.shared.changed.wait_while(state, same).unwrap_or_else(PoisonError::into_inner)
            }
        };
        state.status.clone()
    }

    fn wait_until_stopped(&self, limit: Duration) -> bool {
        let running = |state: &mut crate::supervise::State| state.status != Status::Stopped;
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), limit, running);
        waited.unwrap_or_else(PoisonError::into_inner).0.status == Status::Stopped
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.stop_now() {
            warn!(error = %error, "the PostgreSQL server did not stop in order");
        }
    }
}

#[cfg(feature = "download")]
fn find_or_download(
    settings: &Settings,
    layout: &Layout,
    major: Option<u32>,
) -> Result<Binaries, PostgresError> {
    match Binaries::find(settings, major) {
        Err(PostgresError::NoBinaries { .. })
            if settings.download && settings.bin_dir.is_none() =>
        {
            crate::download::fetch(&layout.data_dir, major)
        }
        found => found,
    }
}

#[cfg(not(feature = "download"))]
fn find_or_download(
    settings: &Settings,
    _layout: &Layout,
    major: Option<u32>,
) -> Result<Binaries, PostgresError> {
    Binaries::find(settings, major)
}
