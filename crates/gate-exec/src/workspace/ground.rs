//! The directories that this process works in, and what dead processes left there.
//!
//! Each process has a directory of its own under the shared one, and holds a lock beside it for as
//! long as it lives. A directory whose lock is free belongs to nobody any more.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::warn;

use super::remove::remove_tree;

const LOCK_SUFFIX: &str = "lock";

/// This process's own directory. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Ground {
    directory: PathBuf,
    lock_path: PathBuf,
    /// Held, never read.
    _lock: File,
    made: AtomicU64,
}

/// A directory on the ground. Dropping it removes it in the background, whatever is in it.
#[derive(Debug)]
pub(crate) struct Plot {
    /// `None` once it is gone.
    path: Option<PathBuf>,
    /// The ground outlives what lies on it.
    ground: Arc<Ground>,
}

/// A private directory, for as long as somebody needs it.
///
/// Dropping it removes it in the background; [`Scratch::dispose`] waits for that. What a killed
/// process left is swept at the next start.
#[derive(Debug)]
pub struct Scratch(Plot);

impl Ground {
    /// Takes a new directory under `shared`, and removes what belongs to nobody.
    pub(crate) fn take(shared: &Path) -> io::Result<Self> {
        make_private(shared)?;
        sweep(shared)?;
        let mut attempt = 0_u64;
        loop {
            attempt += 1;
            let name = format!("{}-{attempt}", std::process::id());
            let directory = shared.join(&name);
            let lock_path = shared.join(format!("{name}.{LOCK_SUFFIX}"));
            let Some(lock) = lock_now(&lock_path)? else { continue };
            if directory.symlink_metadata().is_ok() {
                remove_tree(&directory)?;
            }
            make_private(&directory)?;
            return Ok(Self { directory, lock_path, _lock: lock, made: AtomicU64::new(0) });
        }
    }

    /// A new, empty directory.
    pub(crate) fn plot(self: &Arc<Self>) -> io::Result<Plot> {
        let count = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(count.to_string());
        make_private(&path)?;
        Ok(Plot { path: Some(path), ground: Arc::clone(self) })
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Workspaces that are still alive keep theirs; a later sweep finds what is left.
        if fs::remove_dir(&self.directory).is_ok() {
            fs::remove_file(&self.lock_path).ok();
        }
    }
}

impl Plot {
    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(&self.ground.directory)
    }

    /// Removes it now.
    pub(super) fn remove(mut self) -> io::Result<()> {
        self.path.take().map_or(Ok(()), |it| remove_tree(&it))
    }
}

impl Drop for Plot {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        let ground = Arc::clone(&self.ground);
        // Not here: an async task may be what drops it, and a large tree takes a second.
        let remove = move || {
            if let Err(error) = remove_tree(&path) {
                warn!(error = %error, "a directory could not be removed; the next start sweeps it");
            }
            drop(ground);
        };
        if let Err(error) = std::thread::Builder::new().name("remove".into()).spawn(remove) {
            warn!(error = %error, "no thread to remove a directory; the next start sweeps it");
        }
    }
}

impl Scratch {
    pub(super) fn on(ground: &Arc<Ground>) -> io::Result<Self> {
        ground.plot().map(Self)
    }

    /// On a ground of its own under `shared`, for who has no other.
    pub(crate) fn alone(shared: &Path) -> io::Result<Self> {
        Self::on(&Arc::new(Ground::take(shared)?))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes it, whatever is in it.
    ///
    /// # Errors
    /// When something in it cannot be removed; the next start of the gate tries again.
    pub async fn dispose(self) -> io::Result<()> {
        let removed = tokio::task::spawn_blocking(move || self.0.remove()).await;
        removed.map_err(io::Error::other)?
    }
}

/// Makes a directory that everybody may read, whatever the gate's umask is.
pub(super) fn make_readable(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Makes a directory that only this user may enter.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Waits for a lock that other processes may hold. It is free when the file is dropped.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = open_lock(path)?;
        file.lock()?;
        if is_still_there(&file, path)? {
            return Ok(file);
        }
    }
}

/// Takes a lock if nobody holds it.
fn lock_now(path: &Path) -> io::Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        // Somebody may have removed it between opening and locking.
        Ok(()) => Ok(is_still_there(&file, path)?.then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    match path.metadata() {
        Ok(there) => Ok(there.ino() == file.metadata()?.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn sweep(shared: &Path) -> io::Result<()> {
    for entry in fs::read_dir(shared)? {
        let lock_path = entry?.path();
        if lock_path.extension().is_none_or(|it| it != LOCK_SUFFIX) {
            continue;
        }
        if let Some(lock) = lock_now(&lock_path)? {
            remove_tree(&lock_path.with_extension(""))?;
            fs::remove_file(&lock_path)?;
            drop(lock);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_a_live_one_has_is_kept() {
        let shared = tempfile::tempdir().unwrap();
        let alive = Arc::new(Ground::take(shared.path()).unwrap());
        let kept = alive.plot().unwrap();
        fs::create_dir_all(shared.path().join("1-1/0/tree")).unwrap();
        fs::write(shared.path().join("1-1.lock"), "").unwrap();
        let second = Arc::new(Ground::take(shared.path()).unwrap());
        assert!(kept.path().exists());
        assert!(!shared.path().join("1-1").exists());
        assert!(!shared.path().join("1-1.lock").exists());
        assert_ne!(second.plot().unwrap().path(), kept.path());
    }

    #[tokio::test]
    async fn who_needs_one_directory_only_leaves_nothing_and_sweeps_what_others_left() {
        let home = tempfile::tempdir().unwrap();
        let shared = home.path().join("self-test");
        fs::create_dir_all(shared.join("1-1/0/base/workspace")).unwrap();
        fs::write(shared.join("1-1.lock"), "").unwrap();
        let scratch = Scratch::alone(&shared).unwrap();
        fs::write(scratch.path().join("probe"), "a program").unwrap();
        assert!(!shared.join("1-1").exists());
        let other = Scratch::alone(&shared).unwrap();
        assert!(scratch.path().join("probe").exists(), "it is still needed");
        scratch.dispose().await.unwrap();
        other.dispose().await.unwrap();
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_left_when_all_is_done() {
        let shared = tempfile::tempdir().unwrap();
        drop(Ground::take(shared.path()).unwrap());
        assert_eq!(fs::read_dir(shared.path()).unwrap().count(), 0);
    }
}
