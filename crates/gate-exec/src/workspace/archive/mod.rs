//! An uploaded archive. Its format is told from its bytes, its names are believed in nothing, and a
//! single directory at its top is part of the tree: only `subdirectory` takes it away.
//!
//! What lies below a `.git` is passed over, hard links become files, set-user-id bits and owners and
//! times are not taken.

mod guard;
mod tar;
mod zip;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use gate_core::{ArchiveFormat, Sha256Digest, TreePath};
use sha2::{Digest, Sha256};

use super::error::SourceError;
use super::place::{Place, place, plain_path};
use super::submodules::{self, GITMODULES, GITMODULES_BYTES_MAX};
use super::writer::{TreeWriter, damaged};
use guard::{Guarded, Limits};

const CHUNK_BYTES: usize = 64 * 1024;
/// Where a tar has the word `ustar`.
const TAR_MAGIC_AT: usize = 257;

/// Writes what the archive holds.
pub(super) fn write(
    path: &Path,
    sha256: Sha256Digest,
    subdirectory: Option<&TreePath>,
    writer: &mut TreeWriter<'_>,
) -> Result<(), SourceError> {
    let failed = || SourceError::system("reading the archive");
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SourceError::WrongArchive);
        }
        opened => opened.map_err(failed())?,
    };
    let (packed_bytes, format) = inspect(&mut file, sha256)?;
    file.rewind().map_err(failed())?;
    let mut target = Target { subdirectory, writer, found: subdirectory.is_none() };
    let limits = Limits::of_tar(packed_bytes);
    let file = BufReader::with_capacity(CHUNK_BYTES, file);
    match format {
        ArchiveFormat::Tar => tar::write(Guarded::new(file, limits), &mut target),
        ArchiveFormat::TarGz => tar::write(
            Guarded::new(flate2::bufread::MultiGzDecoder::new(file), limits),
            &mut target,
        ),
        ArchiveFormat::TarZst => {
            let decoder = ::zstd::Decoder::with_buffer(file).map_err(failed())?;
            tar::write(Guarded::new(decoder, limits), &mut target)
        }
        ArchiveFormat::Zip => zip::write(file, packed_bytes, &mut target),
    }?;
    match subdirectory {
        Some(directory) if !target.found => {
            Err(SourceError::NoSubdirectory { path: directory.as_str().to_owned() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Where the entries go.
struct Target<'t, 'w> {
    subdirectory: Option<&'t TreePath>,
    writer: &'t mut TreeWriter<'w>,
    /// Whether the subdirectory was seen.
    found: bool,
}

impl Target<'_, '_> {
    /// Checks a name, wherever it belongs, and places it.
    fn place(&mut self, name: &[u8]) -> Result<Place, SourceError> {
        let path = plain_path(name).map_err(|it| SourceError::entry(name, it))?;
        let place = match path.as_str() {
            "" => Place::Root,
            path => place(path, self.subdirectory),
        };
        self.found |= matches!(place, Place::Inside(_) | Place::Root) && !path.is_empty();
        Ok(place)
    }

    /// Passes over a file outside of the subdirectory, unless it tells what should be in there.
    fn pass_over(
        &mut self,
        name: &[u8],
        size_bytes: u64,
        content: &mut dyn Read,
    ) -> Result<(), SourceError> {
        let is_list = plain_path(name).is_ok_and(|it| it == GITMODULES);
        let Some(directory) = self.subdirectory.filter(|_| is_list) else { return Ok(()) };
        if size_bytes > GITMODULES_BYTES_MAX {
            return Ok(());
        }
        let mut list = Vec::new();
        content.take(GITMODULES_BYTES_MAX).read_to_end(&mut list).map_err(damaged)?;
        let inside = submodules::paths(&list).into_iter().filter_map(|path| {
            // The subdirectory may be below a submodule, or one itself.
            let directory = format!("{directory}/");
            if directory.starts_with(&format!("{path}/")) {
                return Some(String::new());
            }
            path.strip_prefix(&directory).map(str::to_owned)
        });
        self.writer.expect_submodules(inside);
        Ok(())
    }
}

/// Reads it once, whole: how large it is, what it is, and whether it is what was named.
fn inspect(file: &mut File, sha256: Sha256Digest) -> Result<(u64, ArchiveFormat), SourceError> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut start = Vec::new();
    let mut size_bytes = 0;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(SourceError::system("reading the archive")(error)),
        };
        let wanted = 512_usize.saturating_sub(start.len()).min(count);
        start.extend_from_slice(&chunk[..wanted]);
        digest.update(&chunk[..count]);
        size_bytes += count as u64;
    }
    if digest.finalize().as_slice() != sha256.as_bytes() {
        return Err(SourceError::WrongArchive);
    }
    Ok((size_bytes, format_of(&start).ok_or(SourceError::UnknownFormat)?))
}

/// Old tars without `ustar` are known by the checksum of their first header.
fn format_of(start: &[u8]) -> Option<ArchiveFormat> {
    if start.starts_with(&[0x1f, 0x8b]) {
        return Some(ArchiveFormat::TarGz);
    }
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Some(ArchiveFormat::TarZst);
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return Some(ArchiveFormat::Zip);
    }
    let ustar = start.get(TAR_MAGIC_AT..).is_some_and(|it| it.starts_with(b"ustar"));
    let is_tar = start.len() == 512 && (ustar || tar::has_checksum(start));
    is_tar.then_some(ArchiveFormat::Tar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_told_from_the_bytes() {
        assert_eq!(format_of(b"PK\x03\x04rest"), Some(ArchiveFormat::Zip));
        assert_eq!(format_of(&[0x1f, 0x8b, 8]), Some(ArchiveFormat::TarGz));
        assert_eq!(format_of(b"#!/bin/sh\n"), None);
        assert_eq!(format_of(b""), None);
        assert_eq!(format_of(&[b'x'; 512]), None);
        let mut header = ::tar::Header::new_old();
        header.set_path("a").unwrap();
        header.set_size(0);
        header.set_cksum();
        assert_eq!(format_of(header.as_bytes()), Some(ArchiveFormat::Tar));
    }
}
