//! Builds the parts of a running gate, wires them, and stops them in the right order.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use gate_blob::{BlobError, BlobStore};
use gate_exec::{PrepareError, PrepareSettings, Preparer};
use gate_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::api_key::ApiKeySecret;
use crate::callback::{Deliverer, SecretKey, SendLimits, Sender, SenderError};
use crate::clock::SystemClock;
use crate::config::{self, CallbackConfig, Config, Role};
use crate::http::{self, App};
use crate::tiers::NoTier;
use crate::worker::{self, WorkerContext};
use crate::{machine, sweeper, telemetry};

/// A running gate.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    store: Store,
    first_admin_key: Option<ApiKeySecret>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

/// Why the gate did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is neither a database nor somebody who starts one.
    #[error("no DATABASE_URL, and no private cluster was started")]
    NoDatabase,
    /// The database does not answer, or is not ours.
    #[error("cannot use the database")]
    Store(#[from] StoreError),
    /// The object store cannot be opened.
    #[error("cannot use the object store")]
    Blobs(#[from] BlobError),
    /// The data directory cannot be used.
    #[error("cannot use the data directory {path}")]
    DataDir {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Workspaces cannot be prepared.
    #[error("cannot prepare workspaces")]
    Prepare(#[from] PrepareError),
    /// Callbacks cannot be sent.
    #[error("cannot send callbacks")]
    Callbacks(#[from] SenderError),
    /// No command can be run.
    #[error("cannot run commands")]
    Isolation(#[from] NoTier),
}

/// Applies the migrations that are missing, and nothing else.
///
/// # Errors
/// When the database does not answer, or a migration fails.
pub async fn migrate(database_url: &str) -> Result<(), StartError> {
    let store = Store::connect(database_url, 2).await?;
    store.migrate().await?;
    store.close().await;
    Ok(())
}

impl Gate {
    /// Starts everything that the role asks for, and returns as soon as requests are answered.
    ///
    /// # Errors
    /// When a part of it cannot be had; nothing is left running then.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let database_url = config.database_url.as_deref().ok_or(StartError::NoDatabase)?;
        let listener = TcpListener::bind(config.listen_address).await;
        let listener = listener
            .map_err(|source| StartError::Listen { address: config.listen_address, source })?;
        let address = listener
            .local_addr()
            .map_err(|source| StartError::Listen { address: config.listen_address, source })?;
        make_private_dir(&config.data_dir)?;
        let store = Store::connect(database_url, config.database_connections_max).await?;
        store.migrate().await?;
        let secret_key = Arc::new(secret_key(&config)?);
        store.agree_on_secret_key(&secret_key.fingerprint()).await?;
        let blobs = Arc::new(BlobStore::open(&config.blobs_url)?);
        let stopping = CancellationToken::new();
        let app = App {
            store: store.clone(),
            blobs: Arc::clone(&blobs),
            secret_key: Arc::clone(&secret_key),
            networks: Arc::new(config.callback.allowed_networks.clone()),
            metrics: telemetry::metrics(),
            waiters: App::waiters(),
            stopping: stopping.clone(),
        };
        let sender = sender(&config, &secret_key)?;
        let worker = match config.role {
            Role::All | Role::Worker => Some(worker_context(&config, &store, blobs).await?),
            Role::Api => None,
        };
        let tasks = TaskTracker::new();
        // Last of what can fail: a key that was stored is also shown.
        let first_admin_key = match config.role {
            Role::All | Role::Api => ensure_admin_key(&store, config.admin_key.as_ref()).await?,
            // The first worker of a new gate may be there before the API: the key is not for its log.
            Role::Worker => None,
        };
        let router = match config.role {
            Role::All | Role::Api => http::router(app),
            Role::Worker => http::worker_router(app),
        };
        tasks.spawn(http::serve_connections(listener, router, stopping.clone()));
        let gate = Self { address, store, first_admin_key, stopping, tasks };
        gate.spawn_loops(&config, worker, sender);
        info!(role = ?config.role, %address, "the gate listens on {address}");
        Ok(gate)
    }

    /// Where requests are answered.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The admin key that this start made, because there was none. To be shown once.
    #[must_use]
    pub const fn first_admin_key(&self) -> Option<&ApiKeySecret> {
        self.first_admin_key.as_ref()
    }

    /// Stops leasing, lets running runs finish within their grace, gives the rest back, and closes the database.
    pub async fn stop(self) {
        info!("stopping");
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
        info!("stopped");
    }

    fn spawn_loops(&self, config: &Config, worker: Option<Arc<WorkerContext>>, sender: Sender) {
        let until_stopped = |store: Store, stopping: CancellationToken| async move {
            tokio::select! {
                () = store.listen() => {}
                () = stopping.cancelled() => {}
            }
        };
        self.tasks.spawn(until_stopped(self.store.clone(), self.stopping.clone()));
        if let Some(worker) = worker {
            self.tasks.spawn(worker::work(worker, self.stopping.clone()));
            self.tasks.spawn(sweeper::sweep(self.store.clone(), self.stopping.clone()));
        }
        if config.role != Role::Worker {
            let deliverer = Deliverer::new(self.store.clone(), sender);
            let stopping = self.stopping.clone();
            self.tasks.spawn(async move { deliverer.run(stopping).await });
        }
    }
}

fn sender(config: &Config, secret_key: &SecretKey) -> Result<Sender, StartError> {
    let CallbackConfig { allowed_networks, timeout } = &config.callback;
    for network in allowed_networks.wide() {
        warn!(%network, "callbacks may go to the whole of {network}; is that meant?");
    }
    let limits = SendLimits { total: *timeout, ..SendLimits::default() };
    let clock = Arc::new(SystemClock);
    Ok(Sender::new(secret_key.clone(), allowed_networks.clone(), clock, limits)?)
}

async fn ensure_admin_key(
    store: &Store,
    given: Option<&ApiKeySecret>,
) -> Result<Option<ApiKeySecret>, StoreError> {
    let roles = ["admin".to_owned()];
    if let Some(key) = given {
        store.ensure_api_key(&key.as_admin_key("configured admin", &roles)).await?;
        return Ok(None);
    }
    let key = ApiKeySecret::generate();
    let made = store.create_first_admin_key(&key.as_admin_key("first admin", &roles)).await?;
    Ok(made.then_some(key))
}

fn secret_key(config: &Config) -> Result<SecretKey, StartError> {
    match &config.secret_key {
        Some(key) => Ok(key.clone()),
        None => {
            config::secret_key_in(&config.data_dir).map_err(|it| data_dir(&config.data_dir, it))
        }
    }
}

async fn worker_context(
    config: &Config,
    store: &Store,
    blobs: Arc<BlobStore>,
) -> Result<Arc<WorkerContext>, StartError> {
    let path = config.worker.environment.get(std::ffi::OsStr::new("PATH")).cloned();
    let mut settings = PrepareSettings::new(
        config.data_dir.join("mirrors"),
        config.data_dir.join("work"),
        path.unwrap_or_default(),
    );
    settings.allow_file_urls = config.worker.git_file_urls;
    settings.tree_cache_bytes_max = config.workspace.cache_bytes;
    settings.directory_roots.clone_from(&config.workspace.directory_roots);
    settings.git_timeout = config.worker.git_fetch;
    settings.git_config.clone_from(&config.worker.git_config);
    for name in [
        "SSH_AUTH_SOCK",
        "GIT_SSH_COMMAND",
        "https_proxy",
        "http_proxy",
        "no_proxy",
        "SSL_CERT_FILE",
        "HOME",
    ] {
        if let Some(value) = config.worker.environment.get(std::ffi::OsStr::new(name)) {
            settings.git_variables.insert(name.into(), value.clone());
        }
    }
    Ok(Arc::new(WorkerContext {
        store: store.clone(),
        blobs,
        preparer: Preparer::new(&settings)?,
        tiers: machine::open_tiers(config).await?,
        matchers: Arc::clone(&config.worker.matchers),
        slots: config.worker.slots,
        node: node_name(),
        drain: config.worker.drain,
    }))
}

fn node_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}/{}", name.trim(), std::process::id())
}

/// Exists, and is nobody else's business; a directory that is there keeps its mode.
fn make_private_dir(path: &Path) -> Result<(), StartError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| data_dir(path, source))
}

fn data_dir(path: &Path, source: io::Error) -> StartError {
    StartError::DataDir { path: path.display().to_string(), source }
}
