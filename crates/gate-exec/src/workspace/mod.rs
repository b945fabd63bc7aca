//! Prepares the tree that a run's commands see: fetched, checked, protected files laid over.
//!
//! A workspace has no `.git`: git's files are data of the reporter that programs would execute. All
//! its files are as old as their preparation, so that no time of the reporter's can fool a build. A
//! tree that was prepared before costs nothing: it is kept, and never written to.

mod archive;
mod beneath;
mod cache;
mod changes;
mod copy;
mod directory;
mod error;
mod git;
mod ground;
mod handle;
mod inline;
mod key;
mod layers;
mod overlay;
mod patch;
mod place;
mod prepared;
mod protect;
mod remove;
mod sources;
mod submodules;
mod tree;
mod writer;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gate_core::{PathPattern, TreePath, WorkspaceSource};
use tokio_util::sync::CancellationToken;

pub(crate) use beneath::open_directory;
pub use copy::copy_tree;
pub(crate) use ground::{Ground, Plot};
pub(crate) use prepared::{Content, Prepared};
pub(crate) use remove::{remove_at, remove_tree};

pub use error::{EntryFault, PrepareError, SourceError, SourceRole};
pub use ground::Scratch;
pub use handle::Workspace;
pub use layers::Layers;
pub(crate) use layers::{Layer, LayerSite};
pub use prepared::ProtectedFiles;

use cache::{Bounds, Lease, TreeCache};
use git::Mirrors;
use key::Key;
use overlay::{Overlay, Protected, Trees, lay_over, lay_over_all};
use protect::Globs;
use sources::Makers;

use crate::limits::{
    GIT_FETCH_SECONDS, GIT_PACK_BYTES_MAX, TREE_CACHE_BYTES_MAX, TREE_CACHE_ENTRIES_MAX,
};

/// Where and how workspaces are prepared.
#[derive(Debug, Clone)]
pub struct PrepareSettings {
    /// Mirrors of repositories; processes may share it.
    pub cache_dir: PathBuf,
    /// Workspaces and kept trees; processes may share it, and each has a part of its own.
    pub work_dir: PathBuf,
    /// What all kept trees may take, beside those in use: the bytes of their files, and 4 KiB for each entry.
    pub tree_cache_bytes_max: u64,
    /// How many trees are kept, beside those in use.
    pub tree_cache_entries_max: usize,
    /// Below which directories reports may name one of their own; none where it is empty. They are absolute and plain.
    pub directory_roots: Vec<PathBuf>,
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
            tree_cache_bytes_max: TREE_CACHE_BYTES_MAX,
            tree_cache_entries_max: TREE_CACHE_ENTRIES_MAX,
            directory_roots: Vec::new(),
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
    /// What the contract brings along, and is laid over all others.
    pub acceptance: Option<SourceRef<'a>>,
    /// What is laid over from the baseline.
    pub protected: &'a [PathPattern],
    /// Where the contract wants to know what stands.
    pub watched: &'a [TreePath],
}

/// Prepares workspaces. One for a process; it is cheap to clone.
#[derive(Debug, Clone)]
pub struct Preparer {
    sources: Arc<Makers>,
    trees: Trees,
    layers: Layers,
}

impl Preparer {
    /// Makes the directories, and sweeps what dead processes left in them.
    ///
    /// # Errors
    /// When the directories cannot be made or written.
    pub fn new(settings: &PrepareSettings) -> Result<Self, PrepareError> {
        let ground =
            Ground::take(&settings.work_dir).map_err(system("making the work directory"))?;
        let mirrors = Mirrors::open(settings).map_err(system("making the directory of mirrors"))?;
        let bounds = Bounds {
            bytes_max: settings.tree_cache_bytes_max,
            entries_max: settings.tree_cache_entries_max,
        };
        let cache = Arc::new(TreeCache::new(bounds));
        let trees = Trees { ground: Arc::new(ground), cache };
        let (ground, directory_roots) =
            (Arc::clone(&trees.ground), settings.directory_roots.clone());
        let layers = Layers::new(Arc::clone(&trees.ground), settings.tree_cache_bytes_max);
        let sources = Makers { mirrors, ground, directory_roots };
        Ok(Self { sources: Arc::new(sources), trees, layers })
    }

    /// What setup commands have left in earlier runs.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// A directory for the files of one run, beside its workspace.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn scratch(&self) -> io::Result<Scratch> {
        Scratch::on(&self.trees.ground)
    }

    /// Fetches the reported tree, and lays the baseline's protected files and the contract's acceptance files over it.
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
        let wrong = |role| move |source| wrong(role, source);
        // First, because a patch is applied to it.
        let baseline = match sources.baseline {
            Some(it) => {
                Some(self.fetch(it, None, cancel).await.map_err(wrong(SourceRole::Baseline))?)
            }
            None => None,
        };
        let report = self.fetch(sources.report, baseline.as_ref(), cancel).await;
        let report = report.map_err(wrong(SourceRole::Report))?;
        let judged = match baseline {
            None => (Overlay::none(&report), report),
            Some(baseline) => {
                let protected = Protected { patterns: sources.protected, globs: &globs };
                let laid = lay_over(&self.trees, &report, &baseline, protected, cancel).await;
                laid.map_err(wrong(SourceRole::Report))?
            }
        };
        let judged = match sources.acceptance {
            None => judged,
            Some(it) => {
                let acceptance = self.fetch(it, None, cancel).await;
                let acceptance = acceptance.map_err(wrong(SourceRole::Acceptance))?;
                let laid = lay_over_all(&self.trees, judged, &acceptance, &globs, cancel).await;
                laid.map_err(wrong(SourceRole::Acceptance))?
            }
        };
        let (ground, watched) = (Arc::clone(&self.trees.ground), sources.watched.to_vec());
        let made = tokio::task::spawn_blocking(move || Workspace::new(&ground, judged, &watched));
        made.await.map_err(io::Error::other).flatten().map_err(system("making the run's place"))
    }

    /// The tree of one source, out of the cache or into it.
    async fn fetch(
        &self,
        source: SourceRef<'_>,
        baseline: Option<&Lease>,
        cancel: &CancellationToken,
    ) -> Result<Lease, SourceError> {
        if let SourceRef { source: WorkspaceSource::Archive { .. }, archive: None } = source {
            return Err(SourceError::WrongArchive);
        }
        let make = || self.sources.make(source, baseline, cancel);
        match Key::of_source(source.source, baseline.map(|it| it.digest())) {
            Some(key) => self.trees.cache.tree(key, cancel, make).await,
            None => Ok(self.trees.cache.store(make().await?)),
        }
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|it| SourceError::system("a thread of the gate")(io::Error::other(it)))?
}

fn system(stage: &'static str) -> impl FnOnce(io::Error) -> PrepareError {
    move |source| PrepareError::System { stage, source }
}

fn wrong(role: SourceRole, source: SourceError) -> PrepareError {
    match source {
        SourceError::Cancelled => PrepareError::Cancelled,
        source => PrepareError::Source { role, source },
    }
}
