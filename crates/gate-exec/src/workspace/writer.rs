//! Writes a tree that somebody else made, and lets nothing out of its root.
//!
//! Every step goes from an open directory to one name in it and never over a link, and every file is
//! a new one. So what the names say cannot matter: there is no way to write outside, nor through
//! anything that was written before. Bytes and entries are bounded here, for all sources alike.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use gate_core::Sha256Digest;
use gate_core::limits::{PATH_BYTES_MAX, WORKSPACE_BYTES_MAX, WORKSPACE_ENTRIES_MAX};
use rustix::fs::{CWD, Mode, OFlags, fchmod, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::error::{EntryFault, SourceError};
use super::remove::remove_at;
use super::submodules::{self, GITMODULES, GITMODULES_BYTES_MAX};
use super::tree::{Node, Tree};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Written and read at once.
const CHUNK_BYTES: usize = 64 * 1024;
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// Pointers are small.
const LFS_POINTER_BYTES_MAX: u64 = 1024;

/// Fills one empty directory.
pub(super) struct TreeWriter<'a> {
    root: OwnedFd,
    tree: Tree,
    /// The directory that was written to last: entries come by directory.
    last: Option<(String, OwnedFd)>,
    bytes_left: u64,
    entries_left: u64,
    chunk: Vec<u8>,
    /// Where submodules should be, as the source says in passing.
    submodules: Vec<String>,
    cancel: &'a CancellationToken,
}

impl<'a> TreeWriter<'a> {
    pub(super) fn new(root: &Path, cancel: &'a CancellationToken) -> Result<Self, SourceError> {
        Self::resume(root, Tree::default(), cancel)
    }

    /// Goes on in a directory that was written before.
    pub(super) fn resume(
        root: &Path,
        tree: Tree,
        cancel: &'a CancellationToken,
    ) -> Result<Self, SourceError> {
        let root = openat(CWD, root, DIRECTORY, Mode::empty())
            .map_err(|it| SourceError::system("opening the workspace")(it.into()))?;
        Ok(Self {
            root,
            tree,
            last: None,
            bytes_left: WORKSPACE_BYTES_MAX,
            entries_left: WORKSPACE_ENTRIES_MAX,
            chunk: vec![0; CHUNK_BYTES],
            submodules: Vec::new(),
            cancel,
        })
    }

    /// Submodules that must not be missing, by their paths; the root is the empty path.
    pub(super) fn expect_submodules(&mut self, paths: impl IntoIterator<Item = String>) {
        self.submodules.extend(paths);
    }

    /// For a source that itself tells its submodules from its files.
    pub(super) fn expect_no_submodules(&mut self) {
        self.submodules.clear();
    }

    /// The tree as it was written, its links checked, nothing missing.
    pub(super) fn finish(self) -> Result<Tree, SourceError> {
        self.tree.check_links()?;
        if let Some(path) = self.submodules.iter().find(|it| !self.tree.has_below(it)) {
            let path = if path.is_empty() { "." } else { path }.to_owned();
            return Err(SourceError::Submodule { path });
        }
        Ok(self.tree)
    }

    /// Whether something stands at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.tree.0.contains_key(path)
    }

    pub(super) fn directory(&mut self, path: &str) -> Result<(), SourceError> {
        match self.tree.0.get(path) {
            Some(Node::Directory) => return Ok(()),
            Some(Node::File { .. } | Node::Link { .. }) => {
                return Err(SourceError::entry(path, EntryFault::Duplicate));
            }
            None => {}
        }
        self.open_directory(path, path).map(drop)
    }

    /// `size_bytes` is what the source says; more than that is not read.
    pub(super) fn file(
        &mut self,
        path: &str,
        executable: bool,
        size_bytes: u64,
        content: &mut dyn Read,
    ) -> Result<(), SourceError> {
        if size_bytes > self.bytes_left {
            return Err(SourceError::TooLarge { limit: WORKSPACE_BYTES_MAX, unit: "bytes" });
        }
        self.bytes_left -= size_bytes;
        let (parent, name) = self.place_new(path)?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = mode_of(executable);
        let file = openat(parent, name, flags, mode).map_err(refused(path))?;
        // Whatever the gate's umask is.
        fchmod(&file, mode).map_err(refused(path))?;
        let mut file = File::from(file);
        let mut digest = Sha256::new();
        let mut left = size_bytes;
        let is_list = path == GITMODULES && size_bytes <= GITMODULES_BYTES_MAX;
        let mut list = Vec::new();
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let chunk = &mut self.chunk[..wanted];
            content.read_exact(chunk).map_err(damaged)?;
            if size_bytes <= LFS_POINTER_BYTES_MAX && chunk.starts_with(LFS_POINTER) {
                return Err(SourceError::LfsPointer { path: path.to_owned() });
            }
            if is_list {
                list.extend_from_slice(chunk);
            }
            file.write_all(chunk).map_err(SourceError::system("writing the workspace"))?;
            digest.update(&*chunk);
            left -= wanted as u64;
        }
        self.expect_submodules(submodules::paths(&list));
        let sha256 = Sha256Digest::from_bytes(digest.finalize().into());
        self.tree.0.insert(path.to_owned(), Node::File { sha256, size_bytes, executable });
        Ok(())
    }

    pub(super) fn link(&mut self, path: &str, target: &[u8]) -> Result<(), SourceError> {
        let fault = |it| SourceError::entry(path, it);
        let target = std::str::from_utf8(target).or(Err(fault(EntryFault::NotUtf8)))?;
        if target.is_empty() || target.contains('\0') {
            return Err(fault(EntryFault::Name));
        }
        if target.len() >= PATH_BYTES_MAX {
            return Err(fault(EntryFault::TooLong));
        }
        let (parent, name) = self.place_new(path)?;
        symlinkat(target, parent, name).map_err(refused(path))?;
        self.tree.0.insert(path.to_owned(), Node::Link { target: target.to_owned() });
        Ok(())
    }

    /// A second file with the bytes of one that was written before: what a hard link becomes.
    pub(super) fn copy(&mut self, path: &str, from: &str) -> Result<(), SourceError> {
        let Some(Node::File { size_bytes, executable, .. }) = self.tree.0.get(from) else {
            let fault = EntryFault::HardLink { target: from.to_owned() };
            return Err(SourceError::entry(path, fault));
        };
        let (size_bytes, executable) = (*size_bytes, *executable);
        let (parent, name) = from.rsplit_once('/').unwrap_or(("", from));
        let parent = self.open_directory(parent, path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source = openat(parent, name, flags, Mode::empty()).map_err(refused(path))?;
        self.file(path, executable, size_bytes, &mut File::from(source))
    }

    /// Removes an entry that was written before, and all below it.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), SourceError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let name = CString::new(name).or(Err(SourceError::entry(path, EntryFault::Name)))?;
        let removed = remove_at(self.open_directory(parent, path)?, &name);
        removed.map_err(SourceError::system("removing what is not the baseline's"))?;
        self.last = None;
        self.tree.forget(path);
        Ok(())
    }

    /// Removes the directories above an entry that have nothing in them any more.
    pub(super) fn remove_empty_above(&mut self, path: &str) -> Result<(), SourceError> {
        let mut at = path;
        while let Some((parent, _)) = at.rsplit_once('/') {
            if !self.tree.is_empty_directory(parent) {
                break;
            }
            self.remove(parent)?;
            at = parent;
        }
        Ok(())
    }

    /// The directory for a new entry, and the entry's name in it.
    fn place_new<'p>(&mut self, path: &'p str) -> Result<(&OwnedFd, &'p str), SourceError> {
        self.count()?;
        if self.tree.0.contains_key(path) {
            return Err(SourceError::entry(path, EntryFault::Duplicate));
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.open_directory(parent, path)?, name))
    }

    fn count(&mut self) -> Result<(), SourceError> {
        if self.cancel.is_cancelled() {
            return Err(SourceError::Cancelled);
        }
        let limit = WORKSPACE_ENTRIES_MAX;
        let left = self.entries_left.checked_sub(1);
        self.entries_left = left.ok_or(SourceError::TooLarge { limit, unit: "entries" })?;
        Ok(())
    }

    /// Opens a directory below the root, and makes what is missing on the way. `entry` is who wants it.
    fn open_directory(&mut self, path: &str, entry: &str) -> Result<&OwnedFd, SourceError> {
        if path.is_empty() {
            return Ok(&self.root);
        }
        if self.last.as_ref().is_none_or(|(it, _)| it != path) {
            let opened = self.walk_to(path, entry)?;
            self.last = Some((path.to_owned(), opened));
        }
        Ok(self.last.as_ref().map_or(&self.root, |(_, it)| it))
    }

    fn walk_to(&mut self, path: &str, entry: &str) -> Result<OwnedFd, SourceError> {
        let mut at: Option<OwnedFd> = None;
        let mut end = 0;
        for part in path.split('/') {
            end += part.len() + usize::from(end > 0);
            let so_far = &path[..end];
            let known = self.tree.0.contains_key(so_far);
            if !known {
                self.count()?;
            }
            let from = at.as_ref().unwrap_or(&self.root).as_fd();
            if !known {
                mkdirat(from, part, Mode::from_raw_mode(0o755)).map_err(refused(entry))?;
            }
            let opened = openat(from, part, DIRECTORY, Mode::empty()).map_err(refused(entry))?;
            if !known {
                fchmod(&opened, Mode::from_raw_mode(0o755)).map_err(refused(entry))?;
                self.tree.0.insert(so_far.to_owned(), Node::Directory);
            }
            at = Some(opened);
        }
        at.ok_or_else(|| SourceError::entry(entry, EntryFault::Name))
    }
}

/// The mode of a file of a tree.
pub(super) fn mode_of(executable: bool) -> Mode {
    Mode::from_raw_mode(if executable { 0o755 } else { 0o644 })
}

/// What the kernel refuses is the entry's fault where it is about the name, else the gate's.
pub(super) fn refused(path: &str) -> impl FnOnce(Errno) -> SourceError {
    move |error| match error {
        Errno::EXIST => SourceError::entry(path, EntryFault::Duplicate),
        Errno::NOTDIR | Errno::LOOP => SourceError::entry(path, EntryFault::Through),
        Errno::NAMETOOLONG => SourceError::entry(path, EntryFault::TooLong),
        other => SourceError::system("writing the workspace")(other.into()),
    }
}

/// What a source's own bytes refuse is the source's fault, unless the reader knew better.
pub(super) fn damaged(error: io::Error) -> SourceError {
    match error.downcast::<SourceError>() {
        Ok(known) => known,
        Err(error) if error.raw_os_error().is_some() => {
            SourceError::system("reading the source")(error)
        }
        Err(error) => SourceError::Damaged { detail: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_bytes_are_bounded() {
        let root = tempfile::tempdir().unwrap();
        let cancel = CancellationToken::new();
        let mut writer = TreeWriter::new(root.path(), &cancel).unwrap();
        (writer.entries_left, writer.bytes_left) = (3, 10);
        writer.file("d/a", false, 6, &mut b"123456".as_slice()).unwrap();
        let error = writer.file("d/b", false, 6, &mut b"123456".as_slice()).unwrap_err();
        assert!(matches!(error, SourceError::TooLarge { unit: "bytes", .. }), "{error:?}");
        writer.link("l", b"d").unwrap();
        let error = writer.directory("e").unwrap_err();
        assert!(matches!(error, SourceError::TooLarge { unit: "entries", .. }), "{error:?}");
    }

    #[test]
    fn a_cancelled_writer_stops_at_its_next_entry() {
        let root = tempfile::tempdir().unwrap();
        let cancel = CancellationToken::new();
        let mut writer = TreeWriter::new(root.path(), &cancel).unwrap();
        cancel.cancel();
        assert!(matches!(writer.link("l", b"d"), Err(SourceError::Cancelled)));
    }
}
