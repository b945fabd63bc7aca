//! Packs a directory into a tar.gz, and says what is in it. Nothing is left out but what is named `.git`.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use gate_core::limits::{ARCHIVE_BYTES_MAX, WORKSPACE_BYTES_MAX, WORKSPACE_ENTRIES_MAX};
use tar::{Builder, EntryType, Header};
use walkdir::{DirEntry, WalkDir};

/// What was packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Contents {
    /// Regular files.
    pub(crate) files: u64,
    /// Files, directories, and links.
    pub(crate) entries: u64,
    /// Of the files, unpacked.
    pub(crate) bytes: u64,
}

/// Why a directory, or an archive, cannot be handed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("cannot walk through {}", .path.display())]
    Walk { path: PathBuf, source: walkdir::Error },
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the archive to the directory for temporary files")]
    Write { source: io::Error },
    #[error("{} changed while it was packed: let nothing write to the directory and repeat", .0.display())]
    Changed(PathBuf),
    #[error("{} is no file, directory, or link, and the gate takes nothing else: remove it", .0.display())]
    Special(PathBuf),
    #[error("the name of {} is not UTF-8, and the gate takes no other: rename it", .0.display())]
    Name(PathBuf),
    #[error("{} has more than {WORKSPACE_ENTRIES_MAX} files and directories", .0.display())]
    TooMany(PathBuf),
    #[error("the files of {} have more than {WORKSPACE_BYTES_MAX} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("the archive of {} is larger than {ARCHIVE_BYTES_MAX} bytes", .0.display())]
    ArchiveTooLarge(PathBuf),
}

/// Writes the directory as a tar.gz.
///
/// Owners are left out and names are sorted, so that the same tree has the same digest, whoever packs it.
pub(crate) fn pack(dir: &Path, to: impl Write) -> Result<Contents, PackError> {
    if !dir.is_dir() {
        return Err(PackError::NotADirectory(dir.to_owned()));
    }
    let mut archive = Builder::new(GzEncoder::new(to, Compression::fast()));
    let mut contents = Contents::default();
    let entries = WalkDir::new(dir).min_depth(1).sort_by_file_name().into_iter();
    for entry in entries.filter_entry(|it| it.depth() == 0 || it.file_name() != ".git") {
        let entry = entry.map_err(|source| PackError::Walk { path: dir.to_owned(), source })?;
        contents.entries += 1;
        if contents.entries > WORKSPACE_ENTRIES_MAX {
            return Err(PackError::TooMany(dir.to_owned()));
        }
        contents.bytes += append(&entry, dir, &mut archive)?;
        contents.files += u64::from(entry.file_type().is_file());
        if contents.bytes > WORKSPACE_BYTES_MAX {
            return Err(PackError::TooLarge(dir.to_owned()));
        }
    }
    let write = |source| PackError::Write { source };
    archive
        .into_inner()
        .and_then(GzEncoder::finish)
        .and_then(|mut it| it.flush())
        .map_err(write)?;
    Ok(contents)
}

/// Appends one entry; answers its bytes.
fn append(
    entry: &DirEntry,
    root: &Path,
    archive: &mut Builder<impl Write>,
) -> Result<u64, PackError> {
    let path = entry.path();
    let name = path.strip_prefix(root).unwrap_or(path);
    if name.to_str().is_none() {
        return Err(PackError::Name(path.to_owned()));
    }
    let read = |source| PackError::Read { path: path.to_owned(), source };
    let write = |source| PackError::Write { source };
    let kind = entry.file_type();
    if kind.is_file() {
        let file = File::open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        let mut header = header(&metadata, EntryType::Regular);
        let mut bytes = Exactly { file, left: metadata.len(), fault: None };
        let appended = archive.append_data(&mut header, name, &mut bytes);
        return match (bytes.fault, appended) {
            (Some(ReadFault::Changed), _) => Err(PackError::Changed(path.to_owned())),
            (Some(ReadFault::Io(source)), _) => Err(read(source)),
            (None, Err(source)) => Err(write(source)),
            (None, Ok(())) => Ok(metadata.len()),
        };
    }
    let metadata = path.symlink_metadata().map_err(read)?;
    if kind.is_symlink() {
        let target = path.read_link().map_err(read)?;
        let mut header = header(&metadata, EntryType::Symlink);
        archive.append_link(&mut header, name, target).map_err(write)?;
    } else if kind.is_dir() {
        let mut header = header(&metadata, EntryType::Directory);
        archive.append_data(&mut header, name, io::empty()).map_err(write)?;
    } else {
        return Err(PackError::Special(path.to_owned()));
    }
    Ok(0)
}

fn header(metadata: &Metadata, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(metadata.mode() & 0o777);
    // Build tools compare times: they are kept.
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    header.set_size(if kind.is_file() { metadata.len() } else { 0 });
    header
}

/// Reads as many bytes as the header says, no more and no less: an archive with other lengths is broken.
struct Exactly {
    file: File,
    left: u64,
    fault: Option<ReadFault>,
}

enum ReadFault {
    Changed,
    Io(io::Error),
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        match self.file.read(&mut buffer[..most]) {
            Ok(0) => {
                self.fault = Some(ReadFault::Changed);
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(length) => {
                self.left -= length as u64;
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.fault = Some(ReadFault::Io(error));
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use flate2::read::GzDecoder;

    use super::*;

    fn packed(dir: &Path) -> (Contents, Vec<u8>) {
        let mut bytes = Vec::new();
        let contents = pack(dir, &mut bytes).unwrap();
        (contents, bytes)
    }

    #[test]
    fn everything_but_git_is_packed_with_its_mode_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let long = "d".repeat(120);
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        fs::create_dir_all(root.join(&long)).unwrap();
        fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
        fs::write(root.join("sub/.git/HEAD"), "x").unwrap();
        fs::write(root.join(".gitignore"), "target").unwrap();
        fs::write(root.join("sub/run.sh"), "echo").unwrap();
        fs::set_permissions(root.join("sub/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join(&long).join("b".repeat(120)), "deep").unwrap();
        symlink("sub/run.sh", root.join("link")).unwrap();

        let (contents, bytes) = packed(root);
        assert_eq!(contents, Contents { files: 3, entries: 6, bytes: 14 });
        let out = tempfile::tempdir().unwrap();
        tar::Archive::new(GzDecoder::new(&bytes[..])).unpack(out.path()).unwrap();
        assert_eq!(fs::read_to_string(out.path().join("link")).unwrap(), "echo");
        let mode = fs::metadata(out.path().join("sub/run.sh")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert!(out.path().join(&long).join("b".repeat(120)).exists());
        assert!(!out.path().join("sub/.git").exists() && !out.path().join(".git").exists());
    }

    #[test]
    fn the_same_tree_has_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b", "a", "c"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        assert_eq!(packed(dir.path()).1, packed(dir.path()).1);
    }

    #[test]
    fn what_the_gate_does_not_take_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("socket");
        let _listener = UnixListener::bind(&file).unwrap();
        let error = pack(dir.path(), io::sink()).unwrap_err();
        assert!(matches!(&error, PackError::Special(path) if *path == file), "{error}");
        let error = pack(&file, io::sink()).unwrap_err();
        assert!(matches!(error, PackError::NotADirectory(_)), "{error}");
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_a_fault_and_not_a_broken_archive() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "abc").unwrap();
        let file = File::open(dir.path().join("a")).unwrap();
        let mut bytes = Exactly { file, left: 4, fault: None };
        assert!(io::copy(&mut bytes, &mut io::sink()).is_err());
        assert!(matches!(bytes.fault, Some(ReadFault::Changed)));
    }
}
