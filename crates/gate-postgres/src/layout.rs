//! The directories of one private server: who owns them, and who can enter.
//!
//! The data directory stays the gate's own; only the cluster and the socket belong to the server's user, each 0700.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::PostgresError;
use crate::account::Account;

/// A socket's address holds 107 bytes; the name of the socket and some room are taken off.
const SOCKET_DIR_BYTES_MAX: usize = 80;

/// Where short socket directories stand, when the data directory's path is too long for one.
const SHORT_DIRS: &str = "/tmp";

const PRIVATE: u32 = 0o700;

/// For directories of root on the way to the cluster: others may pass, but not look.
const PASSABLE: u32 = 0o711;

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) data_dir: PathBuf,
    pub(crate) socket_dir: PathBuf,
}

impl Layout {
    /// Creates the data directory and the socket's, and makes sure that `account` can reach them.
    pub(crate) fn prepare(data_dir: &Path, account: &Account) -> Result<Self, PostgresError> {
        let mode = if account.switch { PASSABLE } else { PRIVATE };
        let data_dir =
            std::path::absolute(data_dir).map_err(PostgresError::io("resolve", data_dir))?;
        create_with_parents(&data_dir, mode)?;
        check_owner(&data_dir)?;
        // Without links, as the kernel will report it for the server's processes.
        let data_dir =
            fs::canonicalize(&data_dir).map_err(PostgresError::io("resolve", &data_dir))?;
        if data_dir.to_str().is_none() {
            return Err(PostgresError::PathNotUtf8 { path: data_dir });
        }
        let set_mode = fs::set_permissions(&data_dir, Permissions::from_mode(mode));
        set_mode.map_err(PostgresError::io("set the permissions of", &data_dir))?;
        if account.switch
            && let Some(path) = first_closed(&data_dir, account)
        {
            return Err(PostgresError::NotReachable { user: account.name.clone(), path });
        }
        let socket_dir = socket_dir(&data_dir);
        private_dir(&socket_dir, account)?;
        Ok(Self { data_dir, socket_dir })
    }

    pub(crate) fn cluster(&self) -> PathBuf {
        self.data_dir.join("cluster")
    }

    /// A cluster that is being made; it is renamed when it is whole.
    pub(crate) fn unfinished_cluster(&self) -> PathBuf {
        self.data_dir.join("cluster.init")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.data_dir.join("server.log")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.data_dir.join("lock")
    }
}

/// Also the parents that are missing get this mode, whatever our umask says.
fn create_with_parents(dir: &Path, mode: u32) -> Result<(), PostgresError> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|it| !it.exists()).collect();
    let created = DirBuilder::new().recursive(true).mode(mode).create(dir);
    created.map_err(PostgresError::io("create the data directory", dir))?;
    missing.into_iter().try_for_each(|path| {
        let set = fs::set_permissions(path, Permissions::from_mode(mode));
        set.map_err(PostgresError::io("set the permissions of", path))
    })
}

/// The data directory, and the link to it if it is one, must be our own: in a directory such as /tmp anyone may have been
/// there first, and we write into it, perhaps as root.
fn check_owner(data_dir: &Path) -> Result<(), PostgresError> {
    let ours = rustix::process::geteuid().as_raw();
    for found in [fs::symlink_metadata(data_dir), fs::metadata(data_dir)] {
        let owner = found.map_err(PostgresError::io("look at", data_dir))?.uid();
        if owner != ours {
            return Err(PostgresError::ForeignDirectory {
                path: data_dir.to_path_buf(),
                owner,
                expected: ours,
            });
        }
    }
    Ok(())
}

/// A directory for `account` alone. One that exists must be its own already (or ours, to be handed over).
pub(crate) fn private_dir(path: &Path, account: &Account) -> Result<(), PostgresError> {
    match DirBuilder::new().mode(PRIVATE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(PostgresError::io("create", path)(error));
        }
        Ok(()) | Err(_) => {}
    }
    // As in `check_owner`: what stands there may be anyone's.
    let found = fs::symlink_metadata(path).map_err(PostgresError::io("look at", path))?;
    if !found.is_dir() {
        return Err(PostgresError::NotADirectory { path: path.to_path_buf() });
    }
    let ours = account.switch && found.uid() == 0;
    if found.uid() != account.uid && !ours {
        let path = path.to_path_buf();
        return Err(PostgresError::ForeignDirectory {
            path,
            owner: found.uid(),
            expected: account.uid,
        });
    }
    if account.switch {
        chown(path, Some(account.uid), Some(account.gid))
            .map_err(PostgresError::io("hand over", path))?;
    }
    fs::set_permissions(path, Permissions::from_mode(PRIVATE))
        .map_err(PostgresError::io("set the permissions of", path))
}

/// The first directory on the way to `path` that `account` cannot pass.
pub(crate) fn first_closed(path: &Path, account: &Account) -> Option<PathBuf> {
    let mut on_the_way: Vec<&Path> = path.ancestors().collect();
    on_the_way.reverse();
    let closed = on_the_way
        .into_iter()
        .find(|dir| fs::metadata(dir).is_ok_and(|it| !passable(&it, account)));
    closed.map(Path::to_path_buf)
}

fn passable(dir: &fs::Metadata, account: &Account) -> bool {
    let bit = match (dir.uid() == account.uid, dir.gid() == account.gid) {
        (true, _) => 0o100,
        (false, true) => 0o010,
        (false, false) => 0o001,
    };
    dir.mode() & bit != 0
}

/// `socket` in the data directory, or a short path that is always the same for this data directory.
fn socket_dir(data_dir: &Path) -> PathBuf {
    let near = data_dir.join("socket");
    // The server takes a list there: what separates or quotes its items is avoided too.
    let text = near.to_str().filter(|path| !path.contains([',', '"', '\'', ' ', '\t', '\n']));
    if text.is_some_and(|path| path.len() <= SOCKET_DIR_BYTES_MAX) {
        return near;
    }
    Path::new(SHORT_DIRS)
        .join(format!("donegate-{:016x}", fingerprint(data_dir.as_os_str().as_encoded_bytes())))
}

/// FNV-1a: stable over versions of Rust, for processes of different builds must agree. Guards against nothing.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_stands_in_the_data_directory_where_its_path_fits() {
        assert_eq!(
            socket_dir(Path::new("/var/lib/donegate")),
            Path::new("/var/lib/donegate/socket")
        );
    }

    #[test]
    fn a_long_or_awkward_path_gets_a_short_directory_of_its_own() {
        let long = PathBuf::from("/srv").join("x".repeat(90));
        let short = socket_dir(&long);
        assert!(short.as_os_str().len() < 40, "{}", short.display());
        assert_eq!(short, socket_dir(&long));
        assert_ne!(short, socket_dir(&long.join("y")));
        assert!(socket_dir(Path::new("/srv/my data")).starts_with("/tmp"));
    }

    #[test]
    fn a_link_in_the_place_of_a_private_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let account = Account {
            switch: false,
            uid: rustix::process::geteuid().as_raw(),
            gid: 0,
            name: String::new(),
        };
        let refused = private_dir(&link, &account);
        assert!(matches!(refused, Err(PostgresError::NotADirectory { .. })), "{refused:?}");
    }

    #[test]
    fn a_private_directory_of_someone_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let ours = rustix::process::geteuid().as_raw();
        let account = Account { switch: false, uid: ours + 1, gid: 0, name: String::new() };
        let refused = private_dir(dir.path(), &account);
        assert!(
            matches!(refused, Err(PostgresError::ForeignDirectory { owner, .. }) if owner == ours),
            "{refused:?}"
        );
    }
}
