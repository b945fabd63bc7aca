//! The protected files of a judged tree, for whoever puts them back between the commands of a run.

use std::fs::File;
use std::io;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::tree::{Node, Tree};
use super::writer::mode_of;
use crate::limits::{PROTECTED_AT_ONCE_BYTES, PROTECTED_AT_ONCE_MAX};

/// What each command of a run finds at protected paths, and where that can be read.
#[derive(Debug, Clone)]
pub struct ProtectedFiles {
    /// Nobody ever writes below it.
    pub(super) root: PathBuf,
    pub(super) files: Arc<[Prepared]>,
}

/// A protected file or link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prepared {
    /// Below the workspace.
    pub(crate) path: String,
    pub(crate) content: Content,
}

/// What stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    File { sha256: [u8; 32], size_bytes: u64, mode: u32 },
    Link { target: String },
}

impl ProtectedFiles {
    /// Whether nothing is protected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All of them, in parts that can be looked at in one go.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[Prepared]> {
        let mut left = &self.files[..];
        iter::from_fn(move || {
            let mut bytes = 0_u64;
            let fits = left.iter().take(PROTECTED_AT_ONCE_MAX).take_while(|it| {
                bytes = bytes.saturating_add(it.size_bytes());
                bytes <= PROTECTED_AT_ONCE_BYTES
            });
            let (part, rest) = left.split_at(fits.count().max(1).min(left.len()));
            left = rest;
            (!part.is_empty()).then_some(part)
        })
    }

    /// The bytes of a file; a link has none.
    pub(crate) fn open(&self, prepared: &Prepared) -> io::Result<Option<File>> {
        let Content::File { .. } = prepared.content else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, self.root.join(&prepared.path), flags, Mode::empty())?;
        Ok(Some(File::from(file)))
    }
}

impl Prepared {
    fn size_bytes(&self) -> u64 {
        match &self.content {
            Content::File { size_bytes, .. } => *size_bytes,
            Content::Link { .. } => 0,
        }
    }
}

/// The protected files and links of a tree, in the order of their paths.
pub(super) fn protected(tree: &Tree, is_protected: impl Fn(&str) -> bool) -> Arc<[Prepared]> {
    let entries = tree.0.iter().filter_map(|(path, node)| {
        let content = match node {
            Node::Directory => return None,
            Node::File { sha256, size_bytes, executable } => Content::File {
                sha256: *sha256.as_bytes(),
                size_bytes: *size_bytes,
                mode: mode_of(*executable).as_raw_mode(),
            },
            Node::Link { target } => Content::Link { target: target.clone() },
        };
        is_protected(path).then(|| Prepared { path: path.clone(), content })
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sizes: impl IntoIterator<Item = u64>) -> Vec<usize> {
        let file = |size_bytes| Prepared {
            path: "a".to_owned(),
            content: Content::File { sha256: [0; 32], size_bytes, mode: 0o644 },
        };
        let files = sizes.into_iter().map(file).collect();
        ProtectedFiles { root: PathBuf::new(), files }.parts().map(<[_]>::len).collect()
    }

    #[test]
    fn a_part_is_bounded_by_its_files_and_their_bytes_and_holds_one_at_least() {
        assert_eq!(parts([]), [0; 0]);
        assert_eq!(parts([1, 2, 3]), [3]);
        assert_eq!(parts([0; PROTECTED_AT_ONCE_MAX + 1]), [PROTECTED_AT_ONCE_MAX, 1]);
        let huge = PROTECTED_AT_ONCE_BYTES + 1;
        assert_eq!(parts([huge, huge, 1, PROTECTED_AT_ONCE_BYTES, u64::MAX]), [1, 1, 1, 1, 1]);
        assert_eq!(parts([1, PROTECTED_AT_ONCE_BYTES - 1, 1]), [2, 1]);
    }
}
