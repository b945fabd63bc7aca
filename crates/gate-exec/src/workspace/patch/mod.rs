//! A unified diff, applied to the baseline.
//!
//! Git applies it, so that what a reporter tries at home is what happens here: renames, modes, new and
//! deleted files, binary patches. But git writes no file: it works on an index that holds only the
//! baseline's files that the diff names, in a repository of its own without configuration, filters,
//! hooks, or a working tree that a link could lead out of. What comes of it is read object by object
//! and written by the gate's own writer, with its rules and bounds.

mod place;
mod scratch;
mod touched;

use tokio_util::sync::CancellationToken;

use super::cache::{Lease, Stored};
use super::copy::link_tree;
use super::error::SourceError;
use super::git::write_tree;
use super::in_background;
use super::protect;
use super::sources::Makers;
use super::tree::Node;
use super::writer::TreeWriter;
use crate::limits::PATCHED_FILES_BYTES_MAX;
use scratch::Scratch;

/// Makes the tree that a diff makes of the baseline.
pub(super) async fn apply(
    makers: &Makers,
    baseline: &Lease,
    diff: &str,
    cancel: &CancellationToken,
) -> Result<Stored, SourceError> {
    let scratch = Scratch::new(makers, diff).await?;
    scratch.init(cancel).await?;
    let listed = scratch.numstat(diff, cancel).await?;
    let mut touched = touched::paths(&listed, diff);
    touched.retain(|path| baseline.tree().0.get(path).is_some_and(|it| *it != Node::Directory));
    let of = |path: &String| match baseline.tree().0.get(path) {
        Some(Node::File { size_bytes, .. }) => *size_bytes,
        Some(Node::Directory | Node::Link { .. }) | None => 0,
    };
    if touched.iter().map(of).sum::<u64>() > PATCHED_FILES_BYTES_MAX {
        let limit = PATCHED_FILES_BYTES_MAX;
        return Err(SourceError::TooLarge { limit, unit: "bytes in the files that it patches" });
    }
    let (root, from, cancelled) = (scratch.tree(), baseline.clone(), cancel.clone());
    let touched = in_background(move || {
        let mut writer = TreeWriter::new(&root, &cancelled)?;
        protect::lay(&mut writer, &touched, (&from.site().workspace(), from.tree()))?;
        Ok(touched)
    })
    .await?;
    scratch.add(cancel).await?;
    scratch.apply(diff, cancel).await?;
    let tree = scratch.write_tree(cancel).await?;
    let (site, baseline, cancel) = (makers.site()?, baseline.clone(), cancel.clone());
    in_background(move || {
        let root = site.workspace();
        link_tree(&baseline.site().workspace(), &root, &cancel)?;
        let mut writer = TreeWriter::resume(&root, baseline.tree().clone(), &cancel)?;
        for path in &touched {
            writer.remove(path)?;
        }
        // As in a repository, a directory goes with its last file.
        for path in &touched {
            writer.remove_empty_above(path)?;
        }
        write_tree(&scratch.repository(), scratch.variables(), &tree, &mut writer)?;
        Ok(Stored::new(site, writer.finish()?))
    })
    .await
}
