//! Makes a second tree of one that is kept: by sharing blocks where the file system can, else by copying.
//!
//! Every step goes from an open directory to one name in it and never over a link. Directories wait
//! in a list, so that no depth can exhaust the stack or the descriptors.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, fstat,
    ioctl_ficlone, linkat, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::beneath;
use super::error::SourceError;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Read and written at once.
const CHUNK_BYTES: usize = 128 * 1024;

/// Copies the tree at `from` to `to`, which is made and must not exist.
///
/// Modes and links are kept, times are those of the copying, hard links become files. With an owner
/// (user id, group id) everything is given to it. Links are never followed.
///
/// # Errors
/// When something cannot be read or written, or is no file, directory, or link. What was copied until
/// then stays.
pub fn copy_tree(from: &Path, to: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let owner = owner.map(|(user, group)| (Uid::from_raw(user), Gid::from_raw(group)));
    Copier::new(How::Copy { owner }, None).all(from, to)
}

/// The same with hard links in the place of files. Only for trees of which nobody ever writes into a file.
pub(super) fn link_tree(
    from: &Path,
    to: &Path,
    cancel: &CancellationToken,
) -> Result<(), SourceError> {
    Copier::new(How::Link, Some(cancel)).all(from, to).map_err(|error| {
        if cancel.is_cancelled() {
            SourceError::Cancelled
        } else {
            SourceError::system("copying the workspace")(error)
        }
    })
}

/// What a file becomes.
#[derive(Debug, Clone, Copy)]
enum How {
    Copy { owner: Option<(Uid, Gid)> },
    Link,
}

struct Copier<'a> {
    how: How,
    /// Until the file system says that it cannot share blocks.
    may_share_blocks: bool,
    chunk: Vec<u8>,
    cancel: Option<&'a CancellationToken>,
    /// Directories that were made and are empty, by their path below the root.
    waiting: Vec<String>,
}

impl<'a> Copier<'a> {
    fn new(how: How, cancel: Option<&'a CancellationToken>) -> Self {
        let waiting = vec![String::new()];
        Self { how, may_share_blocks: true, chunk: Vec::new(), cancel, waiting }
    }

    fn all(mut self, from: &Path, to: &Path) -> io::Result<()> {
        let from = openat(CWD, from, DIRECTORY, Mode::empty())?;
        mkdirat(CWD, to, Mode::RWXU)?;
        let to = openat(CWD, to, DIRECTORY, Mode::empty())?;
        while let Some(path) = self.waiting.pop() {
            if self.cancel.is_some_and(CancellationToken::is_cancelled) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let source = beneath::open_directory(&from, &path)?;
            let target = beneath::open_directory(&to, &path)?;
            self.one_directory(&path, &source, &target)?;
        }
        Ok(())
    }

    fn one_directory(&mut self, path: &str, from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            match kind {
                FileType::Directory => {
                    mkdirat(to, name, Mode::RWXU)?;
                    let name = name.to_str().map_err(io::Error::other)?;
                    let below = if path.is_empty() { "" } else { "/" };
                    self.waiting.push(format!("{path}{below}{name}"));
                }
                FileType::RegularFile => self.file(from, to, name)?,
                FileType::Symlink => self.link(from, to, name)?,
                _ => return Err(io::Error::other("it has a device, a pipe, or a socket")),
            }
        }
        self.take_over(from, to)
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr) -> io::Result<()> {
        if matches!(self.how, How::Link) {
            match linkat(from, name, to, name, AtFlags::empty()) {
                Ok(()) => return Ok(()),
                // Too many links already, or a file system without them.
                Err(Errno::MLINK | Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A pipe in the place of the file does not hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = openat(from, name, flags, Mode::empty())?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        if !self.share_blocks(&source, &target) {
            self.bytes(&source, &target)?;
        }
        self.take_over(&source, &target)
    }

    /// Whether the target has the source's bytes now.
    fn share_blocks(&mut self, from: &OwnedFd, to: &OwnedFd) -> bool {
        self.may_share_blocks = self.may_share_blocks && ioctl_ficlone(to, from).is_ok();
        self.may_share_blocks
    }

    fn bytes(&mut self, from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
        self.chunk.resize(CHUNK_BYTES, 0);
        let (mut from, mut to) = (File::from(from.try_clone()?), File::from(to.try_clone()?));
        loop {
            match from.read(&mut self.chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => to.write_all(&self.chunk[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn link(&self, from: &OwnedFd, to: &OwnedFd, name: &CStr) -> io::Result<()> {
        let target = readlinkat(from, name, Vec::new())?;
        symlinkat(target.as_c_str(), to, name)?;
        if let How::Copy { owner: Some((user, group)) } = self.how {
            chownat(to, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// The owner first: to give a file away clears bits of its mode.
    fn take_over(&self, from: impl AsFd, to: impl AsFd) -> io::Result<()> {
        if let How::Copy { owner: Some((user, group)) } = self.how {
            fchown(&to, Some(user), Some(group))?;
        }
        let mode = Mode::from_raw_mode(fstat(from)?.st_mode & 0o777);
        Ok(fchmod(to, mode)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};

    use super::*;

    fn sample(root: &Path) {
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(root.join("d/e/script"), "#!/bin/sh\n").unwrap();
        fs::write(root.join("plain"), vec![7; 3 * CHUNK_BYTES + 5]).unwrap();
        fs::write(root.join("none"), "").unwrap();
        symlink("../../outside", root.join("d/link")).unwrap();
        for (path, mode) in [("d/e/script", 0o755), ("plain", 0o644), ("d/e", 0o750)] {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::options().write(true).open(root.join("plain")).unwrap().set_modified(old).unwrap();
    }

    #[test]
    fn a_copy_has_bytes_modes_and_links_and_a_time_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        sample(&from);
        copy_tree(&from, &to, None).unwrap();
        let mode = |path: &str| fs::metadata(to.join(path)).unwrap().mode() & 0o777;
        assert_eq!((mode("d/e/script"), mode("plain"), mode("d/e")), (0o755, 0o644, 0o750));
        assert_eq!(fs::read(to.join("plain")).unwrap(), fs::read(from.join("plain")).unwrap());
        assert_eq!(fs::read_link(to.join("d/link")).unwrap(), Path::new("../../outside"));
        let (old, new) = (from.join("plain"), to.join("plain"));
        let (old, new) = (fs::metadata(old).unwrap(), fs::metadata(new).unwrap());
        assert!(new.modified().unwrap() > old.modified().unwrap() + Duration::from_hours(1));
        assert_eq!(new.nlink(), 1);
        fs::write(to.join("plain"), "other").unwrap();
        assert_eq!(fs::metadata(from.join("plain")).unwrap().len(), old.len());
    }

    #[test]
    fn a_copy_is_given_to_its_owner_where_that_is_allowed() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        sample(&from);
        let own = (rustix::process::getuid(), rustix::process::getgid());
        // Root gives it to somebody else, anybody else to itself.
        let owner = if own.0.is_root() { (4321, 4322) } else { (own.0.as_raw(), own.1.as_raw()) };
        copy_tree(&from, &to, Some(owner)).unwrap();
        for path in ["", "d", "d/e", "d/e/script", "d/link", "plain"] {
            let found = fs::symlink_metadata(to.join(path)).unwrap();
            assert_eq!((found.uid(), found.gid()), owner, "{path}");
        }
        let script = fs::metadata(to.join("d/e/script")).unwrap();
        assert_eq!(script.mode() & 0o7777, 0o755);
    }

    #[test]
    fn a_directory_that_is_there_is_not_copied_into_and_a_link_is_no_directory() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        sample(&from);
        fs::create_dir(&to).unwrap();
        let error = copy_tree(&from, &to, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let link = home.path().join("link");
        symlink(&from, &link).unwrap();
        assert!(copy_tree(&link, &home.path().join("third"), None).is_err());
    }

    #[test]
    fn a_deep_tree_is_copied_and_linked_with_few_descriptors() {
        let home = tempfile::tempdir().unwrap();
        let from = home.path().join("from");
        let deep = "d/".repeat(1_900);
        fs::create_dir(&from).unwrap();
        let mut at = openat(CWD, &from, DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..1_900 {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        let cancel = CancellationToken::new();
        copy_tree(&from, &home.path().join("copy"), None).unwrap();
        link_tree(&from, &home.path().join("link"), &cancel).unwrap();
        for name in ["copy", "link"] {
            let root = openat(CWD, home.path().join(name), DIRECTORY, Mode::empty()).unwrap();
            beneath::open_directory(&root, deep.trim_end_matches('/')).unwrap();
            super::super::remove::remove_tree(&home.path().join(name)).unwrap();
        }
        super::super::remove::remove_tree(&from).unwrap();
    }

    #[test]
    fn a_linked_tree_shares_its_files_and_stops_when_it_is_cancelled() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        sample(&from);
        let cancel = CancellationToken::new();
        link_tree(&from, &to, &cancel).unwrap();
        let inode = |root: &Path| fs::metadata(root.join("plain")).unwrap().ino();
        assert_eq!(inode(&from), inode(&to));
        cancel.cancel();
        let error = link_tree(&from, &home.path().join("third"), &cancel).unwrap_err();
        assert!(matches!(error, SourceError::Cancelled), "{error:?}");
    }

    #[test]
    fn a_pipe_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let from = home.path().join("from");
        fs::create_dir(&from).unwrap();
        rustix::fs::mknodat(CWD, from.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(copy_tree(&from, &home.path().join("to"), None).is_err());
    }
}
