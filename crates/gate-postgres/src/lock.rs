//! One gate for each data directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::PostgresError;

/// Held until it is dropped, or until this process ends in whatever way.
#[derive(Debug)]
pub(crate) struct DataDirLock {
    _file: File,
}

impl DataDirLock {
    pub(crate) fn take(path: &Path, data_dir: &Path) -> Result<Self, PostgresError> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(path).unwrap_or_default();
                let holder = if holder.trim().is_empty() { "(unknown)" } else { holder.trim() };
                return Err(PostgresError::DataDirBusy {
                    path: data_dir.to_path_buf(),
                    holder: holder.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(PostgresError::io("lock", path)(error)),
        }
        // For the error message of a second gate; the lock itself does not depend on it.
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(PostgresError::io("write", path))?;
        Ok(Self { _file: file })
    }
}

pub(crate) fn open(path: &Path) -> Result<File, PostgresError> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false).mode(0o600);
    options.open(path).map_err(PostgresError::io("open", path))
}
