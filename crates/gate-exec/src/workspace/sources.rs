//! Makes the tree of each kind of source: the one `match` over them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gate_core::{SharedPath, WorkspaceSource};
use tokio_util::sync::CancellationToken;

use super::cache::{Lease, Site, Stored};
use super::directory::SharedDirectory;
use super::error::SourceError;
use super::git::Mirrors;
use super::ground::{Ground, make_readable};
use super::tree::Tree;
use super::writer::TreeWriter;
use super::{SourceRef, archive, in_background, inline, patch};
use crate::limits::DIRECTORY_ATTEMPTS_MAX;

/// Where sources are fetched from, and to.
#[derive(Debug)]
pub(super) struct Makers {
    pub(super) mirrors: Mirrors,
    pub(super) ground: Arc<Ground>,
    pub(super) directory_roots: Vec<PathBuf>,
}

impl Makers {
    /// Writes one source to a new place. A patch needs the baseline.
    pub(super) async fn make(
        &self,
        SourceRef { source, archive }: SourceRef<'_>,
        baseline: Option<&Lease>,
        cancel: &CancellationToken,
    ) -> Result<Stored, SourceError> {
        let site = self.site()?;
        let root = &site.workspace();
        let tree = match source {
            WorkspaceSource::Git(source) => self.mirrors.write(source.clone(), root, cancel).await,
            WorkspaceSource::Archive { sha256, subdirectory } => {
                let archive = archive.ok_or(SourceError::WrongArchive)?.to_owned();
                let (sha256, subdirectory) = (*sha256, subdirectory.clone());
                write_in_background(root, cancel, move |writer| {
                    archive::write(&archive, sha256, subdirectory.as_ref(), writer)
                })
                .await
            }
            WorkspaceSource::Files(files) => {
                let files = files.clone();
                let write = move |writer: &mut TreeWriter<'_>| inline::write(&files, writer);
                write_in_background(root, cancel, write).await
            }
            WorkspaceSource::Patch { diff } => {
                let baseline = baseline.ok_or(SourceError::PatchAlone)?;
                return patch::apply(self, baseline, diff, cancel).await;
            }
            WorkspaceSource::Directory(path) => return self.copy_directory(path, cancel).await,
        }?;
        in_background(move || Ok(Stored::new(site, tree))).await
    }

    /// Copies it until nothing of it changed meanwhile.
    async fn copy_directory(
        &self,
        path: &SharedPath,
        cancel: &CancellationToken,
    ) -> Result<Stored, SourceError> {
        let mut attempt = 1;
        loop {
            let site = self.site()?;
            let (roots, path, stop) = (self.directory_roots.clone(), path.clone(), cancel.clone());
            let copied = write_in_background(&site.workspace(), cancel, move |writer| {
                SharedDirectory::open(&roots, &path)?.write(writer, &stop)
            })
            .await;
            match copied {
                Err(SourceError::Changed { .. }) if attempt < DIRECTORY_ATTEMPTS_MAX => {
                    attempt += 1;
                }
                copied => {
                    let tree = copied?;
                    return in_background(move || Ok(Stored::new(site, tree))).await;
                }
            }
        }
    }

    pub(super) fn site(&self) -> Result<Site, SourceError> {
        Site::new(&self.ground).map_err(SourceError::system("making the workspace"))
    }
}

/// Runs `write` on a thread where it may block.
pub(super) async fn write_in_background(
    root: &Path,
    cancel: &CancellationToken,
    write: impl FnOnce(&mut TreeWriter<'_>) -> Result<(), SourceError> + Send + 'static,
) -> Result<Tree, SourceError> {
    let (root, cancel) = (root.to_owned(), cancel.clone());
    in_background(move || {
        make_readable(&root).map_err(SourceError::system("making the workspace"))?;
        let mut writer = TreeWriter::new(&root, &cancel)?;
        write(&mut writer)?;
        writer.finish()
    })
    .await
}
