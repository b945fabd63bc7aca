//! One run's hold on its prepared workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gate_core::{FileFact, ProtectedChange, Sha256Digest, TreeChange, TreePath};

use super::cache::Lease;
use super::ground::{Ground, Plot};
use super::overlay::Overlay;
use super::prepared::ProtectedFiles;

/// The judged tree, and a place for what its run writes.
///
/// Dropping it removes the place in the background; [`Workspace::dispose`] waits for that.
#[derive(Debug)]
pub struct Workspace {
    judged: Lease,
    overlay: Overlay,
    files: Vec<(TreePath, FileFact)>,
    place: Plot,
}

impl Workspace {
    /// Makes the run's place. It belongs on a thread that may block.
    pub(super) fn new(
        ground: &Arc<Ground>,
        (overlay, judged): (Overlay, Lease),
        watched: &[TreePath],
    ) -> io::Result<Self> {
        let place = ground.plot()?;
        let files = watched.iter().map(|it| (it.clone(), judged.fact(it))).collect();
        Ok(Self { judged, overlay, files, place })
    }

    /// The directory that holds the judged tree as `workspace` and an empty `home`.
    ///
    /// Other runs share it: nobody ever writes to it.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.judged.site().directory()
    }

    /// The judged tree itself. Nobody ever writes to it.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.base().join("workspace")
    }

    /// A private directory of this run.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// The digest of the judged tree, protected files laid over, as it was before any command.
    ///
    /// The SHA-256 over the line `donegate-tree-1` and then, for each entry in the order of the
    /// paths' bytes: one letter (`d` directory, `f` file, `x` executable file, `l` link), the path,
    /// a NUL, and, but for directories, the 32 bytes of the SHA-256 of the file's bytes or the
    /// link's target.
    #[must_use]
    pub fn tree(&self) -> Sha256Digest {
        self.judged.digest()
    }

    /// What stood at the watched paths before any command.
    #[must_use]
    pub fn files(&self) -> &[(TreePath, FileFact)] {
        &self.files
    }

    /// What the reporter had done to protected files.
    #[must_use]
    pub fn protected_changes(&self) -> &[ProtectedChange] {
        &self.overlay.protected_changes
    }

    /// What the commands find at protected paths, each when it starts.
    #[must_use]
    pub fn protected_files(&self) -> ProtectedFiles {
        ProtectedFiles { root: self.root(), files: Arc::clone(&self.overlay.protected) }
    }

    /// How the reported tree, before anything was laid over, differs from the baseline, by path.
    #[must_use]
    pub fn changes(&self) -> &[TreeChange] {
        &self.overlay.changes.listed
    }

    /// Changes that are counted and not listed.
    #[must_use]
    pub fn changes_left_out(&self) -> u64 {
        self.overlay.changes.left_out
    }

    /// Removes the run's place, whatever the commands left in it. The judged tree stays for the next run.
    ///
    /// # Errors
    /// When something in it cannot be removed; the next start of the gate tries again.
    pub async fn dispose(self) -> io::Result<()> {
        let place = self.place;
        let removed = tokio::task::spawn_blocking(move || place.remove()).await;
        removed.map_err(io::Error::other)?
    }
}
