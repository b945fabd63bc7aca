//! A commit of a git repository, out of one cached mirror for each repository.
//!
//! The tree is read object by object and written by the gate itself: no index, no filter, no
//! attribute, no hook, and no configuration of a repository has a say in what the files are.

mod environment;
mod fetch;
mod message;
mod mirror;
mod objects;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gate_core::GitSource;
use tokio_util::sync::CancellationToken;

use super::error::SourceError;
use super::sources::write_in_background;
use super::tree::Tree;
use super::writer::TreeWriter;
use super::{PrepareSettings, ground, in_background, remove};
use mirror::Mirror;
use objects::Missing;
pub(super) use objects::write_tree;

/// All mirrors of this host.
#[derive(Debug)]
pub(super) struct Mirrors {
    directory: PathBuf,
    /// Git's whole environment.
    variables: Vec<(OsString, OsString)>,
    timeout: Duration,
    pack_bytes_max: u64,
    allow_file_urls: bool,
}

impl Mirrors {
    pub(super) fn open(settings: &PrepareSettings) -> io::Result<Self> {
        let directory = settings.cache_dir.join("git");
        ground::make_private(&directory)?;
        let variables = environment::variables(settings)?;
        Ok(Self {
            directory,
            variables,
            timeout: settings.git_timeout,
            pack_bytes_max: settings.git_pack_bytes_max,
            allow_file_urls: settings.allow_file_urls,
        })
    }

    /// Git's whole environment.
    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Writes the commit's tree to `root`, which is made. Fetches only what is not there yet.
    pub(super) async fn write(
        &self,
        source: GitSource,
        root: &Path,
        cancel: &CancellationToken,
    ) -> Result<Tree, SourceError> {
        if source.url().starts_with("file://") && !self.allow_file_urls {
            return Err(SourceError::FileUrlsOff);
        }
        let mirror = Mirror::of(&self.directory, &source);
        let wanted = Wanted { mirror, variables: &self.variables, source, root, cancel };
        if let Found::Tree(tree) = wanted.attempt().await? {
            return Ok(tree);
        }
        let Wanted { mirror, source, .. } = &wanted;
        let lock = mirror.lock(cancel).await?;
        // Somebody else may have fetched it while this one waited.
        match wanted.attempt().await? {
            Found::Tree(tree) => return Ok(tree),
            // A commit whose own parts are missing is what a crash leaves: begin anew.
            Found::Lacks(Missing::Part) => mirror.remove().await?,
            Found::Lacks(Missing::Commit | Missing::Mirror) => {}
        }
        if let Err(error) = fetch::fetch(self, mirror, source, cancel).await {
            if Missing::of(&error).is_none() {
                return Err(error);
            }
            mirror.remove().await?;
            fetch::fetch(self, mirror, source, cancel).await?;
        }
        drop(lock);
        let url = || message::without_credentials(source.url());
        match wanted.attempt().await? {
            Found::Tree(tree) => Ok(tree),
            Found::Lacks(Missing::Commit | Missing::Mirror) => {
                Err(SourceError::UnknownCommit { url: url(), commit: source.commit().to_owned() })
            }
            Found::Lacks(Missing::Part) => {
                let detail = "it lacks objects of this commit".to_owned();
                Err(SourceError::Unavailable { url: url(), detail })
            }
        }
    }
}

/// One tree that is to be written.
struct Wanted<'a> {
    mirror: Mirror,
    variables: &'a [(OsString, OsString)],
    source: GitSource,
    root: &'a Path,
    cancel: &'a CancellationToken,
}

enum Found {
    Tree(Tree),
    Lacks(Missing),
}

impl Wanted<'_> {
    /// Writes it from what the mirror has; where that is not enough, nothing is left.
    async fn attempt(&self) -> Result<Found, SourceError> {
        if !self.mirror.exists() {
            return Ok(Found::Lacks(Missing::Mirror));
        }
        let directory = self.mirror.directory().to_owned();
        let (variables, source) = (self.variables.to_owned(), self.source.clone());
        let write = move |writer: &mut TreeWriter<'_>| {
            objects::write(&directory, &variables, &source, writer)
        };
        let written = write_in_background(self.root, self.cancel, write).await;
        let lacks = written.as_ref().err().and_then(Missing::of);
        let Some(lacks) = lacks else { return written.map(Found::Tree) };
        let root = self.root.to_owned();
        in_background(move || {
            let removed = remove::remove_tree(&root);
            removed.map_err(SourceError::system("removing half a workspace"))
        })
        .await?;
        Ok(Found::Lacks(lacks))
    }
}
