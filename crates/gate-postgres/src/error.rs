//! What can go wrong between "no server" and "a server", and what the operator can do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no private PostgreSQL server, or why it did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    #[error("could not {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },

    #[error(
        "found no PostgreSQL server of version {wanted} (looked at: {looked_at}); install one \
         (`apt-get install postgresql`), name the directory of its executables, or set DATABASE_URL"
    )]
    NoBinaries { wanted: String, looked_at: String },

    #[error(
        "could not download a PostgreSQL server; install one (`apt-get install postgresql`), name the directory of \
         its executables, or set DATABASE_URL"
    )]
    Download { source: Box<dyn std::error::Error + Send + Sync> },

    #[error(
        "the data directory {} is in use by process {holder}; stop that process, or choose another data directory",
        path.display()
    )]
    DataDirBusy { path: PathBuf, holder: String },

    #[error(
        "the user `{user}`, who is to run PostgreSQL, cannot enter {}; make it searchable (chmod o+x), or choose a \
         data directory such as /var/lib/donegate",
        path.display()
    )]
    NotReachable { user: String, path: PathBuf },

    #[error("{} belongs to user id {owner}, not to {expected}; it is not used, choose another data directory", path.display())]
    ForeignDirectory { path: PathBuf, owner: u32, expected: u32 },

    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },

    #[error("the path of the data directory, {}, is not UTF-8; choose another one", path.display())]
    PathNotUtf8 { path: PathBuf },

    #[error("{} says that the cluster's version is `{text}`, which is no version", path.display())]
    BadVersionFile { path: PathBuf, text: String },

    #[error(
        "there is no user `{name}` in /etc/passwd to run PostgreSQL; write `uid:gid` for a user without a name"
    )]
    UnknownUser { name: String },

    #[error("PostgreSQL refuses to run as root; choose another user than `{name}`")]
    RunAsRoot { name: String },

    #[error("only root can run PostgreSQL as `{name}`; leave the user out, or start as root")]
    RunAsNeedsRoot { name: String },

    #[error("neither XDG_DATA_HOME nor HOME is set to an absolute path; name a data directory")]
    NoHome,

    #[error("{program} failed ({ended}):\n{output}")]
    ToolFailed { program: &'static str, ended: String, output: String },

    #[error("the PostgreSQL server ended while it started ({ended}); the end of its log:\n{log}")]
    EndedAtStart { ended: String, log: String },

    #[error(
        "the PostgreSQL server was not ready within {limit_seconds} s; the end of its log:\n{log}"
    )]
    NotReady { limit_seconds: u64, log: String },

    #[error("processes {pids:?} of an earlier PostgreSQL server still use {} and could not be ended", path.display())]
    LeftOver { path: PathBuf, pids: Vec<i32> },

    #[error(
        "the PostgreSQL server did not stop within {limit_seconds} s and was ended by force; it recovers at the next start"
    )]
    StopForced { limit_seconds: u64 },

    #[cfg(feature = "testing")]
    #[error("the test server refused: {what}")]
    TestServer { what: String, source: postgres::Error },

    #[cfg(feature = "testing")]
    #[error("DATABASE_URL is not a URL such as postgres://user@host/database")]
    BadDatabaseUrl { source: url::ParseError },
}

impl PostgresError {
    /// For `map_err`: an I/O error with what was tried, and where.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}
