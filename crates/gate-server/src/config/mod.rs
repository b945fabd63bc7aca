//! All configuration, read once. A variable that nobody knows refuses to start: it is a typo.

mod reader;
mod sandbox;
mod settings;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use gate_excerpt::Matcher;

use crate::api_key::ApiKeySecret;
use crate::callback::{Networks, SecretKey};
use reader::Reader;

pub use sandbox::{SandboxConfig, TierChoice, WorkspaceConfig};
pub use settings::{SETTINGS, Setting};

/// What a process of the gate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    All,
    /// Answers requests and delivers callbacks; runs nothing.
    Api,
    /// Runs acceptance commands; answers only health and metrics.
    Worker,
}

/// Without the notices of PostgreSQL, which look like faults and are none.
const LOG_FILTER: &str = "info,sqlx::postgres::notice=warn";

/// Who can reach a gate on loopback is on this machine, and so are its receivers.
const LOOPBACK: &str = "127.0.0.0/8, ::1/128";

/// The configuration of one process.
#[derive(Debug, Clone)]
pub struct Config {
    /// None: a private cluster is started.
    pub database_url: Option<String>,
    /// Connections that this process opens.
    pub database_connections_max: u32,
    /// Where the API listens.
    pub listen_address: SocketAddr,
    /// What this process does.
    pub role: Role,
    /// Where this process keeps its files.
    pub data_dir: PathBuf,
    /// Where archives and logs are kept.
    pub blobs_url: String,
    /// None: the one in the data directory, made at the first start.
    pub secret_key: Option<SecretKey>,
    /// An admin key that holds from the start.
    pub admin_key: Option<ApiKeySecret>,
    /// The worker's settings.
    pub worker: WorkerConfig,
    /// The sandboxes' settings.
    pub sandbox: SandboxConfig,
    /// The workspaces' settings.
    pub workspace: WorkspaceConfig,
    /// The callbacks' settings.
    pub callback: CallbackConfig,
    /// The log's settings.
    pub log: LogConfig,
    /// The private cluster's settings.
    pub postgres: PostgresConfig,
}

/// Settings of the worker.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Runs at once.
    pub slots: u32,
    /// Grace of running runs after SIGTERM.
    pub drain: Duration,
    /// Passed to acceptance commands beside the default ones.
    pub pass_variables: Vec<String>,
    /// One fetch.
    pub git_fetch: Duration,
    /// Whether `file://` repositories are fetched.
    pub git_file_urls: bool,
    /// For credentials.
    pub git_config: Option<PathBuf>,
    /// The operator's own patterns for tools that the gate does not know.
    pub matchers: Arc<[Matcher]>,
    /// The gate's own environment, from which the above are taken.
    pub environment: BTreeMap<OsString, OsString>,
}

/// Settings of callbacks.
#[derive(Debug, Clone)]
pub struct CallbackConfig {
    /// Private networks that callbacks may go to.
    pub allowed_networks: Networks,
    /// How long a receiver may take.
    pub timeout: Duration,
}

/// Settings of the log.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// A filter of `tracing`.
    pub filter: String,
    /// One JSON object for each line.
    pub json: bool,
}

/// Settings of the private cluster.
#[derive(Debug, Clone, Default)]
pub struct PostgresConfig {
    /// The server's executables.
    pub bin_dir: Option<PathBuf>,
    /// Who runs it when the gate is root.
    pub user: Option<String>,
}

/// What the command line says instead of the environment.
#[derive(Debug, Clone)]
pub struct Overrides {
    /// The default, and what `--data-dir` says.
    pub default_data_dir: PathBuf,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--listen`.
    pub listen_address: Option<SocketAddr>,
    /// `--role`.
    pub role: Option<Role>,
}

/// All that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the configuration is not right:\n{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

impl FromStr for Role {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "all" => Ok(Self::All),
            "api" => Ok(Self::Api),
            "worker" => Ok(Self::Worker),
            _ => Err("must be all, api, or worker"),
        }
    }
}

impl Config {
    /// Reads the configuration from the environment.
    ///
    /// # Errors
    /// All faults at once, each with the name of its variable.
    pub fn read(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        overrides: Overrides,
    ) -> Result<Self, ConfigError> {
        let mut reader = Reader { variables: variables.into_iter().collect(), faults: Vec::new() };
        reader.refuse_unknown();
        let listen_address = overrides.listen_address.unwrap_or_else(|| {
            reader.value("DONEGATE_LISTEN_ADDRESS", SocketAddr::from(([127, 0, 0, 1], 8080)))
        });
        let data_dir = overrides
            .data_dir
            .or_else(|| reader.path("DONEGATE_DATA_DIR"))
            .unwrap_or(overrides.default_data_dir);
        let blobs = data_dir.join("blobs").to_string_lossy().into_owned();
        let config = Self {
            database_url: reader.text("DATABASE_URL"),
            database_connections_max: reader.bounded(
                "DONEGATE_DATABASE_CONNECTIONS_MAX",
                20,
                4,
                1000,
            ),
            listen_address,
            role: overrides.role.unwrap_or_else(|| reader.value("DONEGATE_ROLE", Role::All)),
            blobs_url: reader.text("DONEGATE_BLOBS_URL").unwrap_or(blobs),
            secret_key: reader.secret("DONEGATE_SECRET_KEY"),
            admin_key: reader.secret("DONEGATE_ADMIN_KEY"),
            worker: reader.worker(),
            sandbox: SandboxConfig::read(&mut reader),
            workspace: WorkspaceConfig::read(&mut reader),
            callback: CallbackConfig {
                allowed_networks: reader.networks(
                    "DONEGATE_CALLBACK_ALLOWED_NETWORKS",
                    if listen_address.ip().is_loopback() { LOOPBACK } else { "" },
                ),
                timeout: reader.seconds("DONEGATE_CALLBACK_TIMEOUT_SECONDS", 15, 1, 60),
            },
            log: reader.log(),
            postgres: PostgresConfig {
                bin_dir: reader.path("DONEGATE_POSTGRES_BIN_DIR"),
                user: reader.text("DONEGATE_POSTGRES_USER"),
            },
            data_dir,
        };
        if reader.faults.is_empty() { Ok(config) } else { Err(ConfigError(reader.faults)) }
    }
}

impl Reader {
    fn worker(&mut self) -> WorkerConfig {
        let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
        let cores = u32::try_from(cores).unwrap_or(1);
        let names = self.text("DONEGATE_WORKER_PASS_VARIABLES").unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|it| !it.is_empty());
        let pass_variables: Vec<String> = names.map(ToOwned::to_owned).collect();
        let ours =
            pass_variables.iter().filter(|it| it.starts_with("DONEGATE_") || *it == "DATABASE_URL");
        let faults: Vec<String> = ours
            .map(|it| {
                format!(
                    "DONEGATE_WORKER_PASS_VARIABLES: {it} is the gate's own and is never passed on"
                )
            })
            .collect();
        self.faults.extend(faults);
        WorkerConfig {
            slots: self.bounded("DONEGATE_WORKER_SLOTS", cores, 1, 512),
            drain: self.seconds("DONEGATE_WORKER_DRAIN_SECONDS", 25, 0, 3600),
            pass_variables,
            git_fetch: self.seconds("DONEGATE_GIT_FETCH_SECONDS", 300, 1, 3600),
            git_file_urls: self.value("DONEGATE_GIT_FILE_URLS", true),
            git_config: self.path("DONEGATE_GIT_CONFIG"),
            matchers: self.matchers("DONEGATE_MATCHERS"),
            environment: self.variables.clone(),
        }
    }

    fn log(&mut self) -> LogConfig {
        let filter = self.text("DONEGATE_LOG").unwrap_or_else(|| LOG_FILTER.to_owned());
        if let Err(error) = filter.parse::<tracing_subscriber::EnvFilter>() {
            self.faults.push(format!("DONEGATE_LOG: `{filter}`: {error}"));
        }
        let json = match self.text("DONEGATE_LOG_FORMAT").as_deref() {
            None | Some("text") => false,
            Some("json") => true,
            Some(other) => {
                self.faults
                    .push(format!("DONEGATE_LOG_FORMAT: `{other}` is neither text nor json"));
                false
            }
        };
        LogConfig { filter, json }
    }
}

/// The secret key of the data directory; made at the first start, readable for its owner only.
pub(crate) fn secret_key_in(data_dir: &Path) -> std::io::Result<SecretKey> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let path = data_dir.join("secret.key");
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let invalid = |error| std::io::Error::other(format!("{}: {error}", path.display()));
            return text.trim().parse().map_err(invalid);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let key = SecretKey::random();
    // Written whole under another name, so that a crash leaves no half a key.
    let half = data_dir.join(format!("secret.key.{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&half)?;
    writeln!(file, "{}", key.expose_base64())?;
    file.sync_all()?;
    // A link fails if somebody was faster, whose key it is then.
    let linked = std::fs::hard_link(&half, &path);
    std::fs::remove_file(&half)?;
    match linked {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => secret_key_in(data_dir),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables = pairs.iter().map(|(name, value)| (name.into(), value.into()));
        let overrides = Overrides {
            default_data_dir: "/var/lib/donegate".into(),
            data_dir: None,
            listen_address: None,
            role: None,
        };
        Config::read(variables, overrides)
    }

    #[test]
    fn without_any_variable_the_defaults_hold() {
        let config = read(&[]).unwrap();
        assert_eq!(config.listen_address.to_string(), "127.0.0.1:8080");
        assert_eq!(config.blobs_url, "/var/lib/donegate/blobs");
        assert_eq!(config.role, Role::All);
    }

    #[test]
    fn an_unknown_variable_of_ours_refuses_to_start() {
        let error = read(&[("DONEGATE_WORKER_SLOT", "4"), ("HOME", "/root")]).unwrap_err();
        assert_eq!(error.0.len(), 1);
        assert!(error.0[0].starts_with("DONEGATE_WORKER_SLOT: there is no such setting"));
    }

    #[test]
    fn all_faults_are_named_at_once() {
        let error = read(&[
            ("DONEGATE_LISTEN_ADDRESS", "localhost"),
            ("DONEGATE_ROLE", "both"),
            ("DONEGATE_WORKER_SLOTS", "0"),
            ("DONEGATE_CALLBACK_ALLOWED_NETWORKS", "10.0.0.0/99"),
            ("DONEGATE_WORKER_PASS_VARIABLES", "TZ, DATABASE_URL"),
            ("DONEGATE_LOG_FORMAT", "xml"),
            ("DONEGATE_SANDBOX_TIER", "container"),
            ("DONEGATE_SANDBOX_READ_ONLY_PATHS", "/opt:tools:/"),
            ("DONEGATE_SANDBOX_UID_BASE", "65100"),
            ("DONEGATE_SANDBOX_ALLOWED_NETWORKS", "intranet"),
            ("DONEGATE_WORKSPACE_DIRECTORY_ROOTS", "work"),
            ("DONEGATE_WORKSPACE_CACHE_BYTES", "4 GiB"),
        ])
        .unwrap_err();
        assert_eq!(error.0.len(), 13, "{error}");
    }

    #[test]
    fn every_fault_of_a_file_of_matchers_is_told_with_file_and_pointer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("matchers.json");
        let name = path.to_str().unwrap();
        let gone = read(&[("DONEGATE_MATCHERS", name)]).unwrap_err();
        assert!(gone.0[0].starts_with(&format!("DONEGATE_MATCHERS: cannot read {name}: ")));
        let pattern = r#""pattern": [{ "regexp": "^E: (.+)$", "message": 1 }]"#;
        std::fs::write(&path, format!(r#"{{ "problemMatcher": [{{ {pattern} }}, 7] }}"#)).unwrap();
        let error = read(&[("DONEGATE_MATCHERS", name)]).unwrap_err();
        let starts = [
            format!("DONEGATE_MATCHERS: {name}: /problemMatcher/0/owner: "),
            format!("DONEGATE_MATCHERS: {name}: /problemMatcher/1: "),
        ];
        assert_eq!(error.0.len(), starts.len(), "{error}");
        assert!(error.0.iter().zip(&starts).all(|(it, start)| it.starts_with(start)), "{error}");
        let right = format!(r#"{{ "problemMatcher": [{{ "owner": "hdl", {pattern} }}] }}"#);
        std::fs::write(&path, right).unwrap();
        let config = read(&[("DONEGATE_MATCHERS", name)]).unwrap();
        assert_eq!(config.worker.matchers[0].name(), "hdl");
    }

    #[test]
    fn a_bad_secret_is_not_shown() {
        let error = read(&[("DONEGATE_ADMIN_KEY", "hunter2")]).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn the_key_of_a_data_directory_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let first = secret_key_in(dir.path()).unwrap();
        assert_eq!(secret_key_in(dir.path()).unwrap().fingerprint(), first.fingerprint());
    }
}
