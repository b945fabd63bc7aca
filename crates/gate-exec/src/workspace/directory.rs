//! A directory on a volume that the gate shares with the reporters: copied, never run in place.
//!
//! Its owner may go on writing while it is read, and may mean harm. So every step goes from an open
//! directory to one name in it, never over a link and never out of the allowed root; and when all is
//! copied, everything is looked at once more: a copy of what was never there at one time is no copy.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use gate_core::SharedPath;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::beneath;
use super::error::{EntryFault, SourceError};
use super::place::{has_git_part, plain_path};
use super::writer::TreeWriter;

/// The directory as it was opened once: whatever is renamed meanwhile, it stays this one.
#[derive(Debug)]
pub(super) struct SharedDirectory {
    top: OwnedFd,
    path: String,
}

impl SharedDirectory {
    /// Opens it below one of the roots that the operator allows.
    pub(super) fn open(roots: &[PathBuf], path: &SharedPath) -> Result<Self, SourceError> {
        if roots.is_empty() {
            return Err(SourceError::DirectoriesOff);
        }
        let name = path.as_str().to_owned();
        let below = roots.iter().filter_map(|root| {
            Path::new(path.as_str()).strip_prefix(root).ok().map(|below| (root, below))
        });
        let Some((root, below)) = below.min_by_key(|(_, below)| below.as_os_str().len()) else {
            return Err(SourceError::DirectoryElsewhere { path: name });
        };
        // Where the operator's own path leads is the operator's business.
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty())
            .map_err(|it| SourceError::system("opening a root of shared directories")(it.into()))?;
        let below = below.to_str().unwrap_or_default();
        match beneath::open_directory(&root, below) {
            Ok(top) => Ok(Self { top, path: name }),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                Err(SourceError::NoDirectory { path: name })
            }
            Err(Errno::ACCESS) => Err(SourceError::entry(name, EntryFault::Unreadable)),
            Err(error) => Err(reading(error)),
        }
    }

    /// Copies all of it, without `.git`.
    pub(super) fn write(
        &self,
        writer: &mut TreeWriter<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), SourceError> {
        let copied = self.walk(cancel, |entry| copy(entry, writer))?;
        self.is_still(&copied, cancel)
    }

    /// Looks at everything once more.
    fn is_still(&self, copied: &Stamps, cancel: &CancellationToken) -> Result<(), SourceError> {
        let found = self.walk(cancel, |entry| Ok(entry.stamp))?;
        let differs = |path: &&String| copied.get(*path) != found.get(*path);
        match copied.keys().chain(found.keys()).find(differs) {
            None => Ok(()),
            Some(path) => Err(SourceError::Changed { path: self.told(path).to_owned() }),
        }
    }

    /// Visits every entry, and keeps what is told of it.
    fn walk(
        &self,
        cancel: &CancellationToken,
        mut visit: impl FnMut(&Entry<'_>) -> Result<Stamp, SourceError>,
    ) -> Result<Stamps, SourceError> {
        let mut stamps = Stamps::new();
        let mut waiting = vec![String::new()];
        while let Some(path) = waiting.pop() {
            let refused_here = |it| refused(self.told(&path), it);
            let directory = beneath::open_directory(&self.top, &path).map_err(refused_here)?;
            // Before its names are read, so that a name that comes meanwhile shows.
            let stamp = Stamp::of(&fstat(&directory).map_err(refused_here)?);
            stamps.insert(path.clone(), stamp);
            for entry in Dir::read_from(&directory).map_err(refused_here)? {
                let entry = entry.map_err(refused_here)?;
                let name = entry.file_name();
                let Some(below) = self.path_of(&path, name)? else { continue };
                if cancel.is_cancelled() {
                    return Err(SourceError::Cancelled);
                }
                let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
                let stat = stat.map_err(|it| refused(&below, it))?;
                let (kind, stamp) = (FileType::from_raw_mode(stat.st_mode), Stamp::of(&stat));
                let entry = Entry { directory: &directory, name, path: &below, kind, stamp };
                let stamp = visit(&entry)?;
                if kind == FileType::Directory {
                    waiting.push(below);
                } else {
                    stamps.insert(below, stamp);
                }
            }
        }
        Ok(stamps)
    }

    /// `None` for what is not taken.
    fn path_of(&self, directory: &str, name: &CStr) -> Result<Option<String>, SourceError> {
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(None);
        }
        let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
        let whole = [directory.as_bytes(), separator, name.to_bytes()].concat();
        let path = plain_path(&whole).map_err(|it| SourceError::entry(&whole, it))?;
        Ok(if has_git_part(&path) { None } else { Some(path) })
    }

    /// How an entry is called in an error.
    fn told<'a>(&'a self, path: &'a str) -> &'a str {
        if path.is_empty() { &self.path } else { path }
    }
}

type Stamps = BTreeMap<String, Stamp>;

struct Entry<'a> {
    directory: &'a OwnedFd,
    name: &'a CStr,
    path: &'a str,
    kind: FileType,
    stamp: Stamp,
}

/// What tells that an entry is the one that it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }
}

/// Copies one entry, and tells its stamp: what it was before, and still was afterwards.
fn copy(entry: &Entry<'_>, writer: &mut TreeWriter<'_>) -> Result<Stamp, SourceError> {
    let path = entry.path;
    let kind = |it| Err(SourceError::entry(path, EntryFault::Kind(it)));
    match entry.kind {
        FileType::Directory => writer.directory(path)?,
        FileType::RegularFile => return copy_file(entry, writer),
        FileType::Symlink => {
            let target = readlinkat(entry.directory, entry.name, Vec::new());
            writer.link(path, target.map_err(|it| refused(path, it))?.as_bytes())?;
        }
        FileType::Fifo => return kind("named pipe"),
        FileType::Socket => return kind("socket"),
        FileType::CharacterDevice => return kind("character device"),
        FileType::BlockDevice => return kind("block device"),
        FileType::Unknown => return kind("kind of entry that is not known"),
    }
    Ok(entry.stamp)
}

fn copy_file(entry: &Entry<'_>, writer: &mut TreeWriter<'_>) -> Result<Stamp, SourceError> {
    let changed = || SourceError::Changed { path: entry.path.to_owned() };
    // A pipe or a device that took its place meanwhile does not hold us up.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(entry.directory, entry.name, flags, Mode::empty());
    let file = File::from(file.map_err(|it| refused(entry.path, it))?);
    let stamp = |file: &File| fstat(file).map(|it| Stamp::of(&it)).map_err(reading);
    if stamp(&file)? != entry.stamp {
        return Err(changed());
    }
    let size_bytes = u64::try_from(entry.stamp.size).unwrap_or(0);
    let executable = entry.stamp.mode & 0o111 != 0;
    let mut content = Whole { file: &file, path: entry.path };
    writer.file(entry.path, executable, size_bytes, &mut content)?;
    if stamp(&file)? == entry.stamp { Ok(entry.stamp) } else { Err(changed()) }
}

/// A file whose early end means that somebody made it shorter.
struct Whole<'a> {
    file: &'a File,
    path: &'a str,
}

impl Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.file.read(buffer) {
            Ok(0) if !buffer.is_empty() => {
                Err(io::Error::other(SourceError::Changed { path: self.path.to_owned() }))
            }
            other => other,
        }
    }
}

/// What was there when its name was read, and is not now, or is something else.
fn refused(path: &str, error: Errno) -> SourceError {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::INVAL | Errno::STALE => {
            SourceError::Changed { path: path.to_owned() }
        }
        Errno::ACCESS => SourceError::entry(path, EntryFault::Unreadable),
        error => reading(error),
    }
}

fn reading(error: Errno) -> SourceError {
    SourceError::system("reading the shared directory")(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn whatever_changes_between_the_two_looks_is_seen() {
        type Change = fn(&Path) -> io::Result<()>;
        let changes: [(&str, Change); 8] = [
            ("a", |it| fs::write(it.join("a"), "longer")),
            ("a", |it| fs::remove_file(it.join("a"))),
            ("a", |it| fs::set_permissions(it.join("a"), fs::Permissions::from_mode(0o755))),
            ("d", |it| fs::write(it.join("d/new"), "")),
            ("d", |it| fs::remove_dir_all(it.join("d"))),
            ("link", |it| {
                fs::remove_file(it.join("link"))?;
                symlink("elsewhere", it.join("link"))
            }),
            ("a", |it| {
                fs::write(it.join("b"), "1")?;
                fs::rename(it.join("b"), it.join("a"))
            }),
            (".git", |it| fs::write(it.join(".git/HEAD"), "other")),
        ];
        for (index, (path, change)) in changes.into_iter().enumerate() {
            let home = tempfile::tempdir().unwrap();
            let root = home.path().join("run");
            fs::create_dir_all(root.join("d/e")).unwrap();
            fs::create_dir_all(root.join(".git")).unwrap();
            fs::write(root.join("a"), "1").unwrap();
            symlink("a", root.join("link")).unwrap();
            let shared = SharedPath::parse(root.to_str().unwrap()).unwrap();
            let shared = SharedDirectory::open(&[home.path().to_owned()], &shared).unwrap();
            let cancel = CancellationToken::new();
            let copied = shared.walk(&cancel, |entry| Ok(entry.stamp)).unwrap();
            shared.is_still(&copied, &cancel).unwrap();
            change(&root).unwrap();
            let seen = shared.is_still(&copied, &cancel);
            if path == ".git" {
                seen.unwrap();
            } else {
                assert!(matches!(seen, Err(SourceError::Changed { .. })), "{index} {path}");
            }
        }
    }
}
