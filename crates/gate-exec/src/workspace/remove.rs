//! Removes a directory tree that hostile commands may have left: deep, unreadable, with any names.
//!
//! A directory that is not empty is moved up to the top and emptied from there. So two descriptors
//! are enough for any depth, no path grows long, and there is no recursion.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// A process that is just dying may still make entries; after this many rounds it is an error.
const ROUNDS_MAX: usize = 5;

/// Removes `path` and all below it. That it is not there is no error.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("a root cannot be removed"));
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    remove_at(&parent, &CString::new(name.as_encoded_bytes())?)
}

/// Removes one entry of an open directory and all below it.
pub(crate) fn remove_at(parent: &OwnedFd, name: &CString) -> io::Result<()> {
    let mut round = 0;
    loop {
        match unlinkat(parent, name.as_c_str(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR) => {
                return Ok(unlinkat(parent, name.as_c_str(), AtFlags::empty())?);
            }
            Err(_) if round < ROUNDS_MAX => {}
            Err(error) => return Err(error.into()),
        }
        round += 1;
        if let Some(top) = open_for_removal(parent, name)? {
            empty(&top)?;
        }
    }
}

/// Empties one directory.
fn empty(top: &OwnedFd) -> io::Result<()> {
    let mut moved = 0_u64;
    let mut waiting = Vec::new();
    clear(top, top, &mut waiting, &mut moved)?;
    while let Some(name) = waiting.pop() {
        if let Some(directory) = open_for_removal(top, &name)? {
            clear(&directory, top, &mut waiting, &mut moved)?;
        }
        match unlinkat(top, name.as_c_str(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Somebody still writes there: another round finds it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Unlinks what is in `directory`, and moves its directories up to `top`.
fn clear(
    directory: &OwnedFd,
    top: &OwnedFd,
    waiting: &mut Vec<CString>,
    moved: &mut u64,
) -> io::Result<()> {
    let is_top = std::ptr::eq(directory, top);
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if !is_directory(directory, name, entry.file_type())? {
            absent_is_fine(unlinkat(directory, name, AtFlags::empty()))?;
            continue;
        }
        if unlinkat(directory, name, AtFlags::REMOVEDIR).is_ok() {
            continue;
        }
        if is_top {
            waiting.push(name.to_owned());
            continue;
        }
        // A directory whose own mode forbids writing cannot be moved: its `..` changes.
        absent_is_fine(chmodat(directory, name, Mode::RWXU, AtFlags::empty()))?;
        waiting.push(move_up(directory, name, top, moved)?);
    }
    Ok(())
}

fn move_up(
    directory: &OwnedFd,
    name: &std::ffi::CStr,
    top: &OwnedFd,
    moved: &mut u64,
) -> io::Result<CString> {
    loop {
        *moved += 1;
        let new_name = CString::new(format!(".donegate-removed-{moved}"))?;
        match statat(top, new_name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            _ => continue,
        }
        renameat(directory, name, top, new_name.as_c_str())?;
        return Ok(new_name);
    }
}

/// Opens a directory, and gives itself the right to where its mode does not.
fn open_for_removal(parent: impl AsFd, name: &CString) -> io::Result<Option<OwnedFd>> {
    let name = name.as_c_str();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match chmodat(&parent, name, Mode::RWXU, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    match openat(parent, name, flags, Mode::empty()) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_directory(directory: &OwnedFd, name: &std::ffi::CStr, kind: FileType) -> io::Result<bool> {
    if kind != FileType::Unknown {
        return Ok(kind == FileType::Directory);
    }
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn absent_is_fine(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_deep_tree_is_removed_with_few_descriptors() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut at = fs::File::open(&top).map(OwnedFd::from).unwrap();
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&at, "a-long-name-for-a-directory", Mode::RWXU).unwrap();
            at = openat(&at, "a-long-name-for-a-directory", flags, Mode::empty()).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn unreadable_directories_and_odd_names_are_removed_and_links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let kept = home.path().join("kept");
        fs::write(&kept, "x").unwrap();
        let top = home.path().join("top");
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::create_dir_all(top.join(".donegate-removed-1/x/y")).unwrap();
        fs::write(top.join("a/b/new\nline\u{7}"), "x").unwrap();
        symlink(&kept, top.join("a/link")).unwrap();
        symlink(home.path(), top.join("a/b/up")).unwrap();
        for path in ["a/b/c", "a/b", "a"] {
            let none = std::os::unix::fs::PermissionsExt::from_mode(0o000);
            fs::set_permissions(top.join(path), none).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(fs::read(&kept).unwrap(), b"x");
        remove_tree(&top).unwrap();
    }
}
