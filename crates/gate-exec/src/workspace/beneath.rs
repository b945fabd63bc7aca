//! Opens what lies below an open directory, and nothing else, whoever swaps its parts meanwhile.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, Result};

/// Opens the directory at `path` below `root`. No part of the path may be a link, `..`, or empty; an
/// empty path is `root` itself.
pub(crate) fn open_directory(root: impl AsFd, path: &str) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = root.as_fd();
    if path.is_empty() {
        return openat(root, ".", flags, Mode::empty());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, flags, Mode::empty(), resolve) {
        // An old kernel, a container that does not know the call, a rename meanwhile, a long path.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => {
            part_by_part(root, path, flags)
        }
        opened => opened,
    }
}

/// The same, in as many calls as the path has parts.
fn part_by_part(root: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd> {
    let mut at: Option<OwnedFd> = None;
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(Errno::XDEV);
        }
        let from = at.as_ref().map_or_else(|| root.as_fd(), AsFd::as_fd);
        at = Some(openat(from, part, flags, Mode::empty())?);
    }
    at.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn both_ways_open_a_plain_path_and_refuse_links_and_detours() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("root/a/b")).unwrap();
        symlink("a", home.path().join("root/link")).unwrap();
        let root = File::open(home.path().join("root")).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for path in ["a", "a/b"] {
            open_directory(&root, path).unwrap();
            part_by_part(&root, path, flags).unwrap();
        }
        for path in ["link", "link/b", "..", "a/../../root", "/", "none", "a/b/../../.."] {
            assert!(open_directory(&root, path).is_err(), "{path}");
            assert!(part_by_part(&root, path, flags).is_err(), "{path}");
        }
    }
}
