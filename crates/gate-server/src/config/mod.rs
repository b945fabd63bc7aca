//! All configuration, read once. A variable that nobody knows refuses to start: it is a typo.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::api_key::ApiKeySecret;
use crate::callback::{Networks, SecretKey};

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

/// One setting, as the README's table has it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
}

/// Every variable that the gate reads.
pub const SETTINGS: [Setting; 22] = [
    Setting {
        name: "DATABASE_URL",
        default: "a private cluster in the data directory",
        meaning: "PostgreSQL 14 or newer, as `postgres://user:password@host/database`",
    },
    Setting {
        name: "DONEGATE_DATABASE_CONNECTIONS_MAX",
        default: "20",
        meaning: "connections that one process opens",
    },
    Setting {
        name: "DONEGATE_LISTEN_ADDRESS",
        default: "127.0.0.1:8080",
        meaning: "where the API listens",
    },
    Setting { name: "DONEGATE_ROLE", default: "all", meaning: "`all`, `api`, or `worker`" },
    Setting {
        name: "DONEGATE_DATA_DIR",
        default: "the XDG data directory; for root /var/lib/donegate",
        meaning: "where this process keeps its files",
    },
    Setting {
        name: "DONEGATE_BLOBS_URL",
        default: "a folder in the data directory",
        meaning: "where archives and logs are kept: a folder, or `s3://bucket/prefix` with the usual `AWS_…` variables; every process needs the same",
    },
    Setting {
        name: "DONEGATE_SECRET_KEY",
        default: "made at the first start, in the data directory",
        meaning: "32 bytes in base64, from which callback secrets are derived; every process needs the same",
    },
    Setting {
        name: "DONEGATE_SECRET_KEY_FILE",
        default: "",
        meaning: "a file that holds it instead",
    },
    Setting {
        name: "DONEGATE_ADMIN_KEY",
        default: "one is made and printed at the first start",
        meaning: "an API key `dg_…` that has the role admin from the start; make one with `donegate keys generate`",
    },
    Setting {
        name: "DONEGATE_ADMIN_KEY_FILE",
        default: "",
        meaning: "a file that holds it instead",
    },
    Setting {
        name: "DONEGATE_WORKER_SLOTS",
        default: "the number of cores",
        meaning: "runs that one process does at once",
    },
    Setting {
        name: "DONEGATE_WORKER_DRAIN_SECONDS",
        default: "25",
        meaning: "how long running runs may go on after SIGTERM, before they are given back",
    },
    Setting {
        name: "DONEGATE_WORKER_PASS_VARIABLES",
        default: "toolchains' places, such as RUSTUP_HOME and JAVA_HOME",
        meaning: "names, separated by commas, of variables that acceptance commands get from the gate's own environment, beside the default ones",
    },
    Setting {
        name: "DONEGATE_GIT_FETCH_SECONDS",
        default: "300",
        meaning: "how long one fetch may take",
    },
    Setting {
        name: "DONEGATE_GIT_FILE_URLS",
        default: "true",
        meaning: "whether `file://` repositories are fetched",
    },
    Setting {
        name: "DONEGATE_GIT_CONFIG",
        default: "",
        meaning: "a git configuration file for credentials; the host's own is not read",
    },
    Setting {
        name: "DONEGATE_CALLBACK_ALLOWED_NETWORKS",
        default: "loopback while the API listens on loopback only",
        meaning: "private networks that callbacks may go to, as CIDRs separated by commas; public addresses are always allowed, link-local and metadata addresses never",
    },
    Setting {
        name: "DONEGATE_CALLBACK_TIMEOUT_SECONDS",
        default: "15",
        meaning: "how long a receiver may take to answer",
    },
    Setting {
        name: "DONEGATE_LOG",
        default: "info",
        meaning: "which log lines are written, as a filter of `tracing`",
    },
    Setting { name: "DONEGATE_LOG_FORMAT", default: "text", meaning: "`text` or `json`" },
    Setting {
        name: "DONEGATE_POSTGRES_BIN_DIR",
        default: "found on the machine",
        meaning: "the server's executables, for the private cluster",
    },
    Setting {
        name: "DONEGATE_POSTGRES_USER",
        default: "postgres, else nobody",
        meaning: "who runs the private cluster when the gate is root",
    },
];

/// Variables with our prefix that the client, not the server, reads.
const OF_THE_CLIENT: [&str; 4] =
    ["DONEGATE_URL", "DONEGATE_KEY", "DONEGATE_KEY_FILE", "DONEGATE_TASK"];

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
            callback: CallbackConfig {
                allowed_networks: reader.networks(listen_address),
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

/// Reads variables, and collects what is wrong with them.
struct Reader {
    variables: BTreeMap<OsString, OsString>,
    faults: Vec<String>,
}

impl Reader {
    fn refuse_unknown(&mut self) {
        let names = self.variables.keys().filter_map(|it| it.to_str());
        let ours =
            names.filter(|it| it.starts_with("DONEGATE_") && !it.starts_with("DONEGATE_TEST_"));
        let known =
            |name: &str| SETTINGS.iter().any(|it| it.name == name) || OF_THE_CLIENT.contains(&name);
        let unknown: Vec<String> = ours
            .filter(|it| !known(it))
            .map(|it| format!("{it}: there is no such setting; the README lists them"))
            .collect();
        self.faults.extend(unknown);
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?;
        match value.to_str() {
            Some("") => None,
            Some(text) => Some(text.to_owned()),
            None => {
                self.faults.push(format!("{name}: is not UTF-8"));
                None
            }
        }
    }

    fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    fn parsed<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        match text.trim().parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.faults.push(format!("{name}: `{text}`: {error}"));
                None
            }
        }
    }

    fn value<T: FromStr<Err: Display>>(&mut self, name: &str, default: T) -> T {
        self.parsed(name).unwrap_or(default)
    }

    fn bounded(&mut self, name: &str, default: u32, least: u32, most: u32) -> u32 {
        let value = self.value(name, default);
        if !(least..=most).contains(&value) {
            self.faults.push(format!("{name}: {value} is not from {least} to {most}"));
        }
        value
    }

    fn seconds(&mut self, name: &str, default: u32, least: u32, most: u32) -> Duration {
        Duration::from_secs(self.bounded(name, default, least, most).into())
    }

    /// A secret, or the file that holds it; its text never becomes part of a fault.
    fn secret<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let file = format!("{name}_FILE");
        let text = match (self.text(name), self.path(&file)) {
            (Some(_), Some(_)) => {
                self.faults.push(format!("{name}: is set, and {file} is set, too; set one"));
                None
            }
            (Some(text), None) => Some(text),
            (None, Some(path)) => match std::fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(error) => {
                    self.faults.push(format!("{file}: cannot read {}: {error}", path.display()));
                    None
                }
            },
            (None, None) => None,
        };
        match text?.trim().parse() {
            Ok(secret) => Some(secret),
            Err(error) => {
                self.faults.push(format!("{name}: {error}"));
                None
            }
        }
    }

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
            environment: self.variables.clone(),
        }
    }

    fn networks(&mut self, listen_address: SocketAddr) -> Networks {
        let name = "DONEGATE_CALLBACK_ALLOWED_NETWORKS";
        let default = if listen_address.ip().is_loopback() { LOOPBACK } else { "" };
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        Networks::parse(&text).unwrap_or_else(|error| {
            self.faults.push(format!("{name}: {error}"));
            Networks::default()
        })
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
        ])
        .unwrap_err();
        assert_eq!(error.0.len(), 6, "{error}");
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
