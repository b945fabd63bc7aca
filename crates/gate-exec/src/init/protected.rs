//! Puts protected files back between commands: each command starts with what was prepared, whatever another one did.
//!
//! No process of a command lives any more, so that nothing changes meanwhile. Contents are compared,
//! and not times: a directory that takes the place of another brings files that are old, and so does
//! the layer of a setup command. No link is followed on the way, not even in the place of the
//! workspace itself. The caller acts as the user of the commands, who owns all of it.
//!
//! What is not done: a file that a command *adds* stays, also where a protected pattern matches it.
//! Tools write such files of their own (`tests/__pycache__`), and what is new cannot be told from them.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, mkdirat, openat, readlinkat,
    statat, symlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::workspace::{Content, Prepared, open_directory, remove_at};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How deep directories that cannot be moved are removed.
const DEPTH_MAX: usize = 64;
/// Read at once.
const CHUNK_BYTES: usize = 128 * 1024;

/// Which of these do not stand below `root` as they were prepared.
pub(super) fn altered(root: &Path, files: &[Prepared]) -> io::Result<Vec<usize>> {
    let (home, name) = home(root)?;
    let mut altered = Vec::new();
    // Neighbours in the list mostly are in the same directory.
    let mut last: Option<(&str, rustix::io::Result<OwnedFd>)> = None;
    for (index, file) in files.iter().enumerate() {
        let (directory, own) = split(&file.path);
        if last.as_ref().is_none_or(|it| it.0 != directory) {
            last = Some((directory, open_directory(&home, &below(name, directory))));
        }
        let stands = match &last {
            Some((_, Ok(parent))) => is_as_prepared(parent, own, &file.content),
            Some((_, Err(_))) | None => Ok(false),
        };
        // What cannot be read is no more what it was.
        if !stands.unwrap_or(false) {
            altered.push(index);
        }
    }
    Ok(altered)
}

/// Puts one there, in the place of whatever stands there or on the way to it.
pub(super) fn restore(root: &Path, file: &Prepared, bytes: Option<OwnedFd>) -> io::Result<()> {
    let (home, name) = home(root)?;
    let (directory, own) = split(&file.path);
    let mut parent = home;
    for part in below(name, directory).split('/') {
        parent = enter(&parent, part)?;
    }
    remove(&parent, &CString::new(own)?, DEPTH_MAX)?;
    match &file.content {
        Content::Link { target } => Ok(symlinkat(target, &parent, own)?),
        Content::File { mode, .. } => {
            let missing = || io::Error::other("a file without its bytes");
            let mut bytes = File::from(bytes.ok_or_else(missing)?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut made = File::from(openat(&parent, own, flags, Mode::RUSR | Mode::WUSR)?);
            io::copy(&mut bytes, &mut made)?;
            Ok(fchmod(&made, Mode::from_raw_mode(*mode))?)
        }
    }
}

/// The directory that holds the workspace, which commands may close and not replace, and the workspace's name in it.
fn home(root: &Path) -> io::Result<(OwnedFd, &str)> {
    let parts = root.parent().zip(root.file_name().and_then(|it| it.to_str()));
    let (home, name) = parts.ok_or_else(|| io::Error::other("the workspace has no name"))?;
    let opened = match openat(CWD, home, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(CWD, home, Mode::from_raw_mode(0o755), AtFlags::empty())?;
            openat(CWD, home, DIRECTORY, Mode::empty())
        }
        opened => opened,
    };
    Ok((opened?, name))
}

/// The directory of a path, and its last part.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn below(name: &str, directory: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{name}/{directory}") }
}

fn is_as_prepared(parent: &OwnedFd, name: &str, content: &Content) -> io::Result<bool> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match (content, FileType::from_raw_mode(stat.st_mode)) {
        (Content::Link { target }, FileType::Symlink) => {
            Ok(readlinkat(parent, name, Vec::new())?.as_bytes() == target.as_bytes())
        }
        (Content::File { sha256, size_bytes, mode }, FileType::RegularFile) => {
            let is_alike = stat.st_mode & 0o7777 == *mode
                && u64::try_from(stat.st_size).is_ok_and(|it| it == *size_bytes);
            Ok(is_alike && digest(parent, name)? == *sha256)
        }
        _ => Ok(false),
    }
}

fn digest(parent: &OwnedFd, name: &str) -> io::Result<[u8; 32]> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(parent, name, flags, Mode::empty())?);
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(count) => digest.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes an entry and all below it. Directories of a lower layer cannot always be moved: they are emptied in their place.
fn remove(parent: &OwnedFd, name: &CString, depth_left: usize) -> io::Result<()> {
    match remove_at(parent, name) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices && depth_left > 0 => {}
        done => return done,
    }
    let directory = openat(parent, name.as_c_str(), DIRECTORY, Mode::empty())?;
    let names: rustix::io::Result<Vec<CString>> =
        Dir::read_from(&directory)?.map(|it| it.map(|it| it.file_name().to_owned())).collect();
    for name in names?.iter().filter(|it| !matches!(it.to_bytes(), b"." | b"..")) {
        remove(&directory, name, depth_left - 1)?;
    }
    remove_at(parent, name)
}

/// Opens a directory in which entries can be made; what stands in its place goes.
fn enter(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let mode = stat.ok().map(|it| it.st_mode);
    match mode.filter(|it| FileType::from_raw_mode(*it) == FileType::Directory) {
        Some(mode) => {
            let mode = Mode::from_raw_mode(mode & 0o7777);
            if !mode.contains(Mode::RWXU) {
                chmodat(parent, name, mode | Mode::RWXU, AtFlags::empty())?;
            }
        }
        None => {
            remove(parent, &CString::new(name)?, DEPTH_MAX)?;
            mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
        }
    }
    Ok(openat(parent, name, DIRECTORY, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use super::*;

    struct Place {
        _home: tempfile::TempDir,
        root: PathBuf,
        files: Vec<Prepared>,
    }

    impl Place {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let root = home.path().join("workspace");
            let file = |path: &str, mode| Prepared {
                path: path.to_owned(),
                content: Content::File {
                    sha256: Sha256::digest("good").into(),
                    size_bytes: 4,
                    mode,
                },
            };
            let link = Content::Link { target: "run".to_owned() };
            let link = Prepared { path: "tests/link".to_owned(), content: link };
            let files = vec![
                file("ini", 0o644),
                file("tests/deep/a", 0o644),
                link,
                file("tests/run", 0o755),
            ];
            let place = Self { _home: home, root, files };
            assert_eq!(place.altered(), [0, 1, 2, 3]);
            place.restore();
            fs::write(place.root.join("own"), "own").unwrap();
            place
        }

        fn altered(&self) -> Vec<usize> {
            altered(&self.root, &self.files).unwrap()
        }

        fn restore(&self) {
            for index in self.altered() {
                let bytes = self.root.with_file_name("good");
                fs::write(&bytes, "good").unwrap();
                let bytes = matches!(self.files[index].content, Content::File { .. })
                    .then(|| File::open(bytes).unwrap().into());
                restore(&self.root, &self.files[index], bytes).unwrap();
            }
            assert_eq!(self.altered(), [0; 0]);
        }
    }

    #[test]
    fn whatever_is_done_to_a_protected_file_is_seen_and_undone() {
        let place = Place::new();
        let at = |path: &str| place.root.join(path);
        let cases: [(&dyn Fn(), &[usize]); 8] = [
            (&|| (), &[]),
            (&|| fs::write(at("tests/run"), "evil").unwrap(), &[3]),
            (&|| fs::remove_file(at("ini")).unwrap(), &[0]),
            (
                &|| fs::set_permissions(at("tests/run"), Permissions::from_mode(0o644)).unwrap(),
                &[3],
            ),
            (
                &|| {
                    fs::remove_file(at("ini")).unwrap();
                    symlink("own", at("ini")).unwrap();
                    fs::remove_file(at("tests/link")).unwrap();
                    symlink("../own", at("tests/link")).unwrap();
                },
                &[0, 2],
            ),
            (
                &|| {
                    fs::remove_file(at("tests/run")).unwrap();
                    fs::create_dir_all(at("tests/run/a/b")).unwrap();
                    fs::set_permissions(at("tests"), Permissions::from_mode(0o555)).unwrap();
                },
                &[3],
            ),
            (
                &|| {
                    fs::rename(at("tests"), at("moved")).unwrap();
                    symlink("moved", at("tests")).unwrap();
                    fs::write(at("moved/run"), "moved").unwrap();
                },
                &[1, 2, 3],
            ),
            (&|| fs::write(at("moved/run"), "still").unwrap(), &[]),
        ];
        for (index, (change, expected)) in cases.into_iter().enumerate() {
            change();
            assert_eq!(place.altered(), expected, "case {index}");
            place.restore();
            assert_eq!(fs::read(at("own")).unwrap(), b"own", "case {index}");
        }
        assert_eq!(fs::read(at("moved/run")).unwrap(), b"still");
    }

    #[test]
    fn a_workspace_that_became_a_link_is_a_directory_again() {
        let place = Place::new();
        let elsewhere = place.root.with_file_name("elsewhere");
        fs::rename(&place.root, &elsewhere).unwrap();
        symlink(&elsewhere, &place.root).unwrap();
        place.restore();
        assert!(place.root.symlink_metadata().unwrap().is_dir());
        assert!(!place.root.join("own").exists() && elsewhere.join("own").exists());
    }
}
