//! What the caller chooses.

use std::path::{Path, PathBuf};

use crate::{PostgresError, environment};

/// Where a gate that runs as root keeps its data: a place that other users can enter, unlike root's home.
const ROOT_DATA_DIR: &str = "/var/lib/donegate";

/// How to run the private server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Belongs to this crate alone: cluster, socket, log, lock file.
    pub data_dir: PathBuf,
    /// Directory of `postgres` and `initdb`. Without it: `pg_config`, `PATH`, then Debian's directories.
    pub bin_dir: Option<PathBuf>,
    /// Who runs the server when the gate is root: a name, or `uid:gid`. Without it: `postgres`, else `nobody`.
    pub run_as: Option<String>,
    /// Fetch a server where the machine has none. Needs the feature `download`.
    pub download: bool,
    /// Connections that the server accepts.
    pub connections_max: u16,
}

impl Settings {
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            bin_dir: None,
            run_as: None,
            download: true,
            connections_max: 60,
        }
    }

    /// The directory `postgres` within the gate's own data directory. Leave it to `Server::start` to create both: for
    /// root it makes them searchable by the server's user.
    pub fn within(gate_data_dir: &Path) -> Self {
        Self::new(gate_data_dir.join("postgres"))
    }
}

/// Where the gate keeps its data if nobody says otherwise: `/var/lib/donegate` for root, the XDG data directory for
/// everyone else.
pub fn default_data_dir() -> Result<PathBuf, PostgresError> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(ROOT_DATA_DIR));
    }
    Ok(environment::user_data_home().ok_or(PostgresError::NoHome)?.join("donegate"))
}
