//! One bare repository for each URL, named by the URL's SHA-256, and the lock beside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gate_core::{GitSource, Sha256Digest};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::super::error::SourceError;
use super::super::{ground, in_background, remove};

#[derive(Debug, Clone)]
pub(super) struct Mirror {
    directory: PathBuf,
    lock: PathBuf,
}

impl Mirror {
    pub(super) fn of(mirrors: &Path, source: &GitSource) -> Self {
        let name = Sha256Digest::from_bytes(Sha256::digest(source.url()).into()).to_hex();
        // SHA-1 and SHA-256 repositories cannot share one.
        let name = format!("{}-{}", &name[..32], source.commit().len() * 4);
        Self {
            directory: mirrors.join(format!("{name}.git")),
            lock: mirrors.join(format!("{name}.lock")),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A mirror that was made at all was made whole: it gets its name last.
    pub(super) fn exists(&self) -> bool {
        self.directory.is_dir()
    }

    pub(super) fn is_shallow(&self) -> bool {
        self.directory.join("shallow").exists()
    }

    pub(super) fn packs(&self) -> usize {
        let packs = fs::read_dir(self.directory.join("objects/pack"));
        let is_pack = |it: &fs::DirEntry| it.path().extension().is_some_and(|it| it == "pack");
        packs.map_or(0, |it| it.flatten().filter(is_pack).count())
    }

    /// Where it is made before it gets its name.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.directory.with_extension("new")
    }

    /// Keeps other tasks and other processes from fetching into it.
    pub(super) async fn lock(&self, cancel: &CancellationToken) -> Result<File, SourceError> {
        let path = self.lock.clone();
        let locked = in_background(move || {
            ground::lock(&path).map_err(SourceError::system("locking the mirror"))
        });
        tokio::select! {
            locked = locked => locked,
            () = cancel.cancelled() => Err(SourceError::Cancelled),
        }
    }

    pub(super) async fn remove(&self) -> Result<(), SourceError> {
        let directory = self.directory.clone();
        in_background(move || {
            let removed = remove::remove_tree(&directory);
            removed.map_err(SourceError::system("removing a damaged mirror"))
        })
        .await
    }

    /// Removes what a fetch that was killed has left. Only with the lock.
    pub(super) fn clear_leftovers(&self) -> io::Result<()> {
        let mut waiting = vec![self.directory.clone(), self.directory.join("refs")];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory)? {
                let entry = entry?;
                let path = entry.path();
                if path.extension().is_some_and(|it| it == "lock") {
                    fs::remove_file(&path)?;
                } else if directory != self.directory && entry.file_type()?.is_dir() {
                    waiting.push(path);
                }
            }
        }
        for entry in fs::read_dir(self.directory.join("objects/pack"))? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}
