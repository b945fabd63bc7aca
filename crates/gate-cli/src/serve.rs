//! `donegate serve`: a whole gate, or one role of it, until it is asked to stop.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gate_server::{Config, Gate, Overrides, Role};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// What `serve` is told on the command line; all else is in the environment.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArguments {
    /// What this process does
    #[arg(long, value_enum)]
    pub(crate) role: Option<RoleWord>,
    /// Where the API listens; 127.0.0.1:8080 by default
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where this process keeps its files; by default the XDG data directory, for root /var/lib/donegate
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// A role of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleWord {
    /// Everything
    All,
    /// Answers requests and delivers callbacks
    Api,
    /// Runs acceptance commands
    Worker,
}

/// A gate with the private cluster under it, where there is one.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) gate: Gate,
    postgres: Option<gate_postgres::Server>,
}

/// Runs the gate until SIGTERM or Ctrl-C.
pub(crate) async fn run(arguments: &ServeArguments, output: Output) -> Result<Exit, CliError> {
    hide_environment();
    let config = read_config(arguments)?;
    gate_server::log_to_stderr(&config.log);
    let role = config.role;
    let running = start(config).await?;
    let address = running.gate.address();
    output.say(&match role {
        Role::All | Role::Api => format!(
            "donegate serves on http://{address}; its API is described at http://{address}/docs"
        ),
        Role::Worker => format!("donegate works; http://{address} answers /readyz and /metrics"),
    });
    if let Some(key) = running.gate.first_admin_key() {
        output.say(&format!("admin key, shown this once: {}", key.expose()));
    }
    running.until_signal().await?;
    Ok(Exit::Pass)
}

/// A command under the gate's own user could read the gate's secrets in `/proc`; from here on, only root can.
fn hide_environment() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "acceptance commands can read the environment of this process");
    }
}

/// The configuration of the environment and the command line.
pub(crate) fn read_config(arguments: &ServeArguments) -> Result<Config, CliError> {
    let default_data_dir = gate_postgres::default_data_dir().map_err(CliError::Postgres)?;
    let overrides = Overrides {
        default_data_dir,
        data_dir: arguments.data_dir.clone(),
        listen_address: arguments.listen,
        role: arguments.role.map(|it| match it {
            RoleWord::All => Role::All,
            RoleWord::Api => Role::Api,
            RoleWord::Worker => Role::Worker,
        }),
    };
    Ok(Config::read(std::env::vars_os(), overrides)?)
}

/// Starts the private cluster where no database is named, then the gate on it.
pub(crate) async fn start(mut config: Config) -> Result<Running, CliError> {
    // A port that is taken is told at once, and not after a cluster was made.
    if let Err(source) = std::net::TcpListener::bind(config.listen_address) {
        let address = config.listen_address;
        return Err(gate_server::StartError::Listen { address, source }.into());
    }
    let postgres = match &config.database_url {
        Some(_) => None,
        None => Some(start_postgres(&config).await?),
    };
    if let Some(postgres) = &postgres {
        config.database_url = Some(postgres.url());
    }
    match Gate::start(config).await {
        Ok(gate) => Ok(Running { gate, postgres }),
        Err(error) => {
            stop_postgres(postgres).await?;
            Err(error.into())
        }
    }
}

/// SIGTERM and SIGINT, as they come.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, CliError> {
        let handler = |kind| signal(kind).map_err(|source| CliError::Signal { source });
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: handler(terminate)?, interrupt: handler(interrupt)? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _received = self.terminate.recv() => {}
            _received = self.interrupt.recv() => {}
        }
    }
}

impl Running {
    /// Serves until the first signal, then stops in order. At a second one it stops at once, as if it had been killed: what it had is found and run again.
    pub(crate) async fn until_signal(self) -> Result<(), CliError> {
        let mut signals = Signals::new()?;
        signals.next().await;
        tokio::select! {
            stopped = self.stop() => stopped,
            () = signals.next() => Ok(()),
        }
    }

    /// The gate first, its database after it.
    pub(crate) async fn stop(self) -> Result<(), CliError> {
        let Self { gate, postgres } = self;
        gate.stop().await;
        stop_postgres(postgres).await
    }
}

async fn start_postgres(config: &Config) -> Result<gate_postgres::Server, CliError> {
    let mut settings = gate_postgres::Settings::within(&config.data_dir);
    settings.bin_dir.clone_from(&config.postgres.bin_dir);
    settings.run_as.clone_from(&config.postgres.user);
    settings.download = cfg!(feature = "download");
    in_background(move || gate_postgres::Server::start(&settings)).await
}

async fn stop_postgres(postgres: Option<gate_postgres::Server>) -> Result<(), CliError> {
    match postgres {
        Some(postgres) => in_background(move || postgres.stop()).await,
        None => Ok(()),
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, gate_postgres::PostgresError> + Send + 'static,
) -> Result<T, CliError> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(CliError::Postgres),
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
