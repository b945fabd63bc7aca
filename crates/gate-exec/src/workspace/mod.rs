//! Prepares the directory that a run's commands see: fetched, checked, protected files laid over.
//!
//! A workspace has no `.git`: git's files are data of the reporter that programs would execute. All
//! its files are as old as the preparation, so that no time of the reporter's can fool a build.

mod archive;
mod error;
mod git;
mod ground;
mod inline;
mod place;
mod protect;
mod remove;
mod tree;
mod writer;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gate_core::{FileFact, PathPattern, ProtectedChange, Sha256Digest, TreePath, WorkspaceSource};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use error::{EntryFault, PrepareError, SourceError, SourceRole};

use git::Mirrors;
use ground::Ground;
use protect::Globs;
use tree::Tree;
use writer::TreeWriter;

use crate::limits::{GIT_FETCH_SECONDS, GIT_PACK_BYTES_MAX};

/// Where and how workspaces are prepared.
#[derive(Debug, Clone)]
pub struct PrepareSettings {
    /// Mirrors of repositories; processes may share it.
    pub cache_dir: PathBuf,
    /// Workspaces; processes may share it.
    pub work_dir: PathBuf,
    /// Whether `file://` repositories are fetched.
    pub allow_file_urls: bool,
    /// One fetch.
    pub git_timeout: Duration,
    /// What one fetch may write.
    pub git_pack_bytes_max: u64,
    /// Git's whole environment beside what the gate sets: `PATH`, and what the operator passes on for
    /// credentials and proxies (`HOME` for `~/.netrc`, `SSH_AUTH_SOCK`, `GIT_SSH_COMMAND`, `https_proxy`, …).
    pub git_variables: BTreeMap<OsString, OsString>,
    /// A git configuration of the operator's, for credential helpers; the host's own is not read.
    pub git_config: Option<PathBuf>,
}

impl PrepareSettings {
    /// The defaults, with programs looked up on `path`.
    #[must_use]
    pub fn new(cache_dir: PathBuf, work_dir: PathBuf, path: OsString) -> Self {
        Self {
            cache_dir,
            work_dir,
            allow_file_urls: true,
            git_timeout: Duration::from_secs(GIT_FETCH_SECONDS),
            git_pack_bytes_max: GIT_PACK_BYTES_MAX,
            git_variables: BTreeMap::from([("PATH".into(), path)]),
            git_config: None,
        }
    }
}

/// A source, and for an archive the file that holds it.
#[derive(Debug, Clone, Copy)]
pub struct SourceRef<'a> {
    /// What is to be fetched.
    pub source: &'a WorkspaceSource,
    /// The archive's bytes on this host; only read, and only for an archive.
    pub archive: Option<&'a Path>,
}

/// All that a workspace is made from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// What the report hands in.
    pub report: SourceRef<'a>,
    /// What the contract starts from.
    pub baseline: Option<SourceRef<'a>>,
    /// What is laid over from the baseline.
    pub protected: &'a [PathPattern],
    /// Where the contract wants to know what stands.
    pub watched: &'a [TreePath],
}

/// Prepares workspaces. One for a process; it is cheap to clone.
#[derive(Debug, Clone)]
pub struct Preparer {
    mirrors: Arc<Mirrors>,
    ground: Arc<Ground>,
}

/// The directory of one run. Dropping it removes it in the background; [`Workspace::dispose`] waits for that.
#[derive(Debug)]
pub struct Workspace {
    home: PathBuf,
    root: PathBuf,
    temporary: PathBuf,
    tree: Sha256Digest,
    files: Vec<(TreePath, FileFact)>,
    protected_changes: Vec<ProtectedChange>,
    rubbish: Rubbish,
}

impl Preparer {
    /// Makes the directories, and sweeps what dead processes left in them.
    ///
    /// # Errors
    /// When the directories cannot be made or written.
    pub fn new(settings: &PrepareSettings) -> Result<Self, PrepareError> {
        let failed = |stage| move |source| PrepareError::System { stage, source };
        let ground =
            Ground::take(&settings.work_dir).map_err(failed("making the work directory"))?;
        let mirrors = Mirrors::open(settings).map_err(failed("making the directory of mirrors"))?;
        Ok(Self { mirrors: Arc::new(mirrors), ground: Arc::new(ground) })
    }

    /// Fetches the reported tree and lays the baseline's protected files over it.
    ///
    /// # Errors
    /// When a source cannot be had; [`PrepareError::blame`] says whose fault that is.
    pub async fn prepare(
        &self,
        sources: &Sources<'_>,
        cancel: &CancellationToken,
    ) -> Result<Workspace, PrepareError> {
        // A thread that still writes when this future is dropped stops at its next entry.
        let cancel = &cancel.child_token();
        let _stop = cancel.clone().drop_guard();
        let globs = Globs::parse(sources.protected)?;
        let whole = self
            .ground
            .make()
            .map_err(|source| PrepareError::System { stage: "making the workspace", source })?;
        let rubbish = Rubbish { whole: Some(whole.clone()), _ground: Arc::clone(&self.ground) };
        let root = whole.join("workspace");
        let wrong = |role| move |source| wrong(role, source);
        let tree = self.fill(&root, sources.report, None, cancel).await;
        let mut tree = tree.map_err(wrong(SourceRole::Report))?;
        let mut protected_changes = Vec::new();
        if let Some(baseline) = sources.baseline.filter(|_| !sources.protected.is_empty()) {
            let below = whole.join("baseline");
            let laid = self.fill(&below, baseline, Some(globs.clone()), cancel).await;
            let laid = laid.map_err(wrong(SourceRole::Baseline))?;
            let (at, cancel) = (root.clone(), cancel.clone());
            (tree, protected_changes) = in_background(move || {
                let result = protect::lay_over((&at, tree), (&below, &laid), &globs, &cancel)?;
                remove::remove_tree(&below)
                    .map_err(SourceError::system("removing the baseline"))?;
                Ok(result)
            })
            .await
            .map_err(wrong(SourceRole::Report))?;
        }
        let (home, temporary) = (whole.join("home"), whole.join("tmp"));
        for directory in [&home, &temporary] {
            ground::make_private(directory).map_err(|source| PrepareError::System {
                stage: "making the run's home",
                source,
            })?;
        }
        let files = sources.watched.iter().map(|it| (it.clone(), tree.fact(it))).collect();
        let tree = tree.digest();
        Ok(Workspace { home, root, temporary, tree, files, protected_changes, rubbish })
    }

    /// Writes one source to a new directory.
    async fn fill(
        &self,
        root: &Path,
        SourceRef { source, archive }: SourceRef<'_>,
        only: Option<Globs>,
        cancel: &CancellationToken,
    ) -> Result<Tree, SourceError> {
        match source {
            WorkspaceSource::Git(source) => {
                self.mirrors.write(source.clone(), root, only, cancel).await
            }
            WorkspaceSource::Archive { sha256, subdirectory } => {
                let archive = archive.ok_or(SourceError::WrongArchive)?.to_owned();
                let (sha256, subdirectory) = (*sha256, subdirectory.clone());
                write_in_background(root, only, cancel, move |writer| {
                    archive::write(&archive, sha256, subdirectory.as_ref(), writer)
                })
                .await
            }
            WorkspaceSource::Files(files) => {
                let files = files.clone();
                let write = move |writer: &mut TreeWriter<'_>| inline::write(&files, writer);
                write_in_background(root, only, cancel, write).await
            }
        }
    }
}

impl Workspace {
    /// The directory of this run alone: `workspace`, `home`, and `tmp` are in it.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    /// Where the tree is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An empty home for the run.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// An empty directory for temporary files.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The digest of the judged tree, protected files laid over, as it was before any command.
    ///
    /// The SHA-256 over the line `donegate-tree-1` and then, for each entry in the order of the
    /// paths' bytes: one letter (`d` directory, `f` file, `x` executable file, `l` link), the path,
    /// a NUL, and, but for directories, the 32 bytes of the SHA-256 of the file's bytes or the
    /// link's target.
    #[must_use]
    pub fn tree(&self) -> Sha256Digest {
        self.tree
    }

    /// What stood at the watched paths before any command.
    #[must_use]
    pub fn files(&self) -> &[(TreePath, FileFact)] {
        &self.files
    }

    /// What the reporter had done to protected files.
    #[must_use]
    pub fn protected_changes(&self) -> &[ProtectedChange] {
        &self.protected_changes
    }

    /// Removes it, whatever the commands left in it.
    ///
    /// # Errors
    /// When something in it cannot be removed; the next start of the gate tries again.
    pub async fn dispose(mut self) -> io::Result<()> {
        let Some(whole) = self.rubbish.whole.take() else { return Ok(()) };
        let removed = tokio::task::spawn_blocking(move || remove::remove_tree(&whole)).await;
        removed.map_err(io::Error::other)?
    }
}

/// What is removed in any case.
#[derive(Debug)]
struct Rubbish {
    whole: Option<PathBuf>,
    /// The ground outlives what lies on it.
    _ground: Arc<Ground>,
}

impl Drop for Rubbish {
    fn drop(&mut self) {
        let Some(whole) = self.whole.take() else { return };
        let ground = Arc::clone(&self._ground);
        // Not here: an async task may be what drops it, and a large tree takes a second.
        let remove = move || {
            if let Err(error) = remove::remove_tree(&whole) {
                warn!(error = %error, "a workspace could not be removed; the next start sweeps it");
            }
            drop(ground);
        };
        if let Err(error) = std::thread::Builder::new().name("remove".into()).spawn(remove) {
            warn!(error = %error, "no thread to remove a workspace; the next start sweeps it");
        }
    }
}

/// Runs `write` on a thread where it may block.
async fn write_in_background(
    root: &Path,
    only: Option<Globs>,
    cancel: &CancellationToken,
    write: impl FnOnce(&mut TreeWriter<'_>) -> Result<(), SourceError> + Send + 'static,
) -> Result<Tree, SourceError> {
    let (root, cancel) = (root.to_owned(), cancel.clone());
    in_background(move || {
        ground::make_private(&root).map_err(SourceError::system("making the workspace"))?;
        let mut writer = TreeWriter::new(&root, only.as_ref(), &cancel)?;
        write(&mut writer)?;
        writer.finish()
    })
    .await
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|it| SourceError::system("a thread of the gate")(io::Error::other(it)))?
}

fn wrong(role: SourceRole, source: SourceError) -> PrepareError {
    match source {
        SourceError::Cancelled => PrepareError::Cancelled,
        source => PrepareError::Source { role, source },
    }
}
