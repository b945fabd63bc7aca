//! A tree on the disk, and what is known of it without looking there.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gate_core::{FileFact, Sha256Digest, TreePath};

use super::super::ground::{Ground, Plot, make_readable};
use super::super::tree::{Children, Tree};
use crate::limits::TREE_CACHE_ENTRY_OVERHEAD_BYTES;

/// Where a tree is made before it is stored: `workspace`, which the maker makes, and an empty `home`.
#[derive(Debug)]
pub(in super::super) struct Site {
    plot: Plot,
}

/// One materialised tree, which nobody writes to.
pub(in super::super) struct Stored {
    site: Site,
    tree: Tree,
    children: Children,
    digest: Sha256Digest,
    /// What it counts for.
    bytes: u64,
}

impl Site {
    pub(in super::super) fn new(ground: &Arc<Ground>) -> io::Result<Self> {
        let plot = ground.plot()?;
        // Whoever may enter the ground may read what is stored there.
        fs::set_permissions(plot.path(), Permissions::from_mode(0o755))?;
        make_readable(&plot.path().join("home"))?;
        Ok(Self { plot })
    }

    /// The directory that holds `workspace` and `home`.
    pub(in super::super) fn directory(&self) -> &Path {
        self.plot.path()
    }

    /// Where the tree goes.
    pub(in super::super) fn workspace(&self) -> PathBuf {
        self.plot.path().join("workspace")
    }
}

impl Stored {
    /// Takes a finished tree. It reads the whole list once, and so belongs on a thread that may block.
    pub(in super::super) fn new(site: Site, tree: Tree) -> Self {
        let overhead = TREE_CACHE_ENTRY_OVERHEAD_BYTES * (tree.0.len() as u64 + 1);
        let (digest, children) = (tree.digest(), tree.children());
        Self { site, children, digest, bytes: tree.file_bytes() + overhead, tree }
    }

    pub(in super::super) fn site(&self) -> &Site {
        &self.site
    }

    pub(in super::super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(in super::super) fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// What it counts for in the cache.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What stands at a path, links followed.
    pub(in super::super) fn fact(&self, path: &TreePath) -> FileFact {
        self.tree.fact(path, &self.children)
    }
}

/// Without its list, which may have 200,000 entries.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Stored");
        shown.field("directory", &self.site.directory()).field("digest", &self.digest);
        shown.field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
