//! A local folder: bytes are staged in a file without a final name, made durable, and renamed.
//!
//! Files are 0600 in directories of 0700, which `object_store` cannot be told; so the writing is
//! ours, and reading is left to `object_store`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gate_core::Sha256Digest;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;

use crate::BlobError;
use crate::key::Namespace;

/// Beside the namespaces, none of which begins with a dot.
const STAGING: &str = ".staging";
const MODE: u32 = 0o700;
/// A staged file as old as this belongs to a process that was killed.
const STALE_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the bytes of this machine, or of a shared volume, are.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Makes the folder if it is missing, and shows that it can be written.
    pub(crate) fn open(path: &Path) -> Result<(Self, Arc<dyn ObjectStore>), BlobError> {
        if path.as_os_str().is_empty() {
            return Err(BlobError::BadUrl { reason: "it is empty".to_owned() });
        }
        let staging = path.join(STAGING);
        make_dirs(&staging).map_err(BlobError::file("make", &staging))?;
        let root = path.canonicalize().map_err(BlobError::file("open", path))?;
        sweep(&root.join(STAGING))?;
        let objects = LocalFileSystem::new_with_prefix(&root).map_err(BlobError::from_store)?;
        Ok((Self { root }, Arc::new(objects)))
    }
}

/// A file that is not there yet. Dropped before it is moved, it leaves nothing.
#[derive(Debug)]
pub(crate) struct StagedFile {
    staged: NamedTempFile,
    file: tokio::fs::File,
    /// Where it will stand; none for one that is moved to a path.
    place: Option<(Folder, Namespace)>,
}

impl StagedFile {
    pub(crate) async fn create(folder: &Folder, namespace: Namespace) -> Result<Self, BlobError> {
        let dir = folder.root.join(STAGING);
        Self::create_in(dir, Some((folder.clone(), namespace))).await
    }

    /// On the file system of `path`, so that it can be renamed.
    pub(crate) async fn beside(path: &Path) -> Result<Self, BlobError> {
        let dir = path.parent().filter(|it| !it.as_os_str().is_empty());
        Self::create_in(dir.unwrap_or(Path::new(".")).to_owned(), None).await
    }

    async fn create_in(
        dir: PathBuf,
        place: Option<(Folder, Namespace)>,
    ) -> Result<Self, BlobError> {
        let at = dir.clone();
        let created = blocking(move || {
            let staged = NamedTempFile::new_in(dir)?;
            let file = staged.as_file().try_clone()?;
            Ok((staged, file))
        });
        let (staged, file) = created.await.map_err(BlobError::file("create a file in", &at))?;
        Ok(Self { staged, file: tokio::fs::File::from_std(file), place })
    }

    pub(crate) async fn write(&mut self, chunk: &Bytes) -> Result<(), BlobError> {
        self.file.write_all(chunk).await.map_err(BlobError::file("write", self.staged.path()))
    }

    /// Gives the bytes their key, durably, and says whether they were there before.
    ///
    /// What was there is replaced: it is the same, or it was damaged.
    pub(crate) async fn finish(mut self, sha256: Sha256Digest) -> Result<bool, BlobError> {
        let Some((folder, namespace)) = self.place.take() else { return Ok(false) };
        let path = folder.root.join(namespace.key(sha256));
        self.file.flush().await.map_err(BlobError::file("write", &path))?;
        self.file.sync_all().await.map_err(BlobError::file("sync", &path))?;
        let target = path.clone();
        let staged = self.staged;
        let moved = blocking(move || {
            let existed = target.try_exists()?;
            let dir = target.parent().unwrap_or(&folder.root);
            make_dirs(dir)?;
            staged.persist(&target)?;
            // The new name, and those of the directories that may be new, too.
            for dir in dir.ancestors().take_while(|it| it.starts_with(&folder.root)) {
                File::open(dir)?.sync_all()?;
            }
            Ok(existed)
        });
        moved.await.map_err(BlobError::file("store", &path))
    }

    /// Gives the file its name. It is not made durable.
    pub(crate) async fn move_to(mut self, path: &Path) -> Result<(), BlobError> {
        self.file.flush().await.map_err(BlobError::file("write", path))?;
        let (staged, target) = (self.staged, path.to_owned());
        let moved = blocking(move || {
            staged.persist(&target)?;
            Ok(())
        });
        moved.await.map_err(BlobError::file("write", path))
    }
}

fn make_dirs(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(path)
}

/// Removes what killed processes left. The age is measured with a file of now, in the file system's own time.
fn sweep(staging: &Path) -> Result<(), BlobError> {
    let error = || BlobError::file("write to", staging);
    let probe = NamedTempFile::new_in(staging).map_err(error())?;
    let now = probe.as_file().metadata().and_then(|it| it.modified()).map_err(error())?;
    for entry in fs::read_dir(staging).map_err(error())?.flatten() {
        let modified = entry.metadata().and_then(|it| it.modified());
        let age = modified.ok().and_then(|it| now.duration_since(it).ok());
        if age.is_some_and(|it| it >= STALE_AFTER)
            && let Err(error) = fs::remove_file(entry.path())
            && error.kind() != io::ErrorKind::NotFound
        {
            let path = entry.path();
            tracing::warn!(path = %path.display(), %error, "could not remove {}, which a killed process left", path.display());
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
