//! zip, by its central directory.

use std::io::{self, Read, Seek, SeekFrom};

use gate_core::limits::{PATH_BYTES_MAX, WORKSPACE_ENTRIES_MAX};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::super::error::{EntryFault, SourceError};
use super::super::place::Place;
use super::super::writer::damaged;
use super::Target;
use super::guard::Limits;
use crate::limits::EXPANSION_RATIO_MAX;

/// The kinds of a Unix mode.
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// The end record without its comment, and the longest comment.
const END_BYTES: u64 = 22;
const COMMENT_BYTES_MAX: u64 = 65_535;
const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";

/// Writes what the zip holds.
pub(super) fn write<R: Read + Seek>(
    mut reader: R,
    packed_bytes: u64,
    target: &mut Target<'_, '_>,
) -> Result<(), SourceError> {
    refuse_many_entries(&mut reader, packed_bytes)?;
    let mut archive = ZipArchive::new(reader).map_err(of_zip)?;
    if archive.has_duplicate_names() {
        return Err(SourceError::entry("(one of them)", EntryFault::Duplicate));
    }
    if archive.len() as u64 > WORKSPACE_ENTRIES_MAX {
        return Err(too_many());
    }
    let mut left = Limits::by_ratio(packed_bytes);
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| match error {
            ZipError::UnsupportedArchive(_) => {
                SourceError::entry(format!("number {index}"), EntryFault::Packing)
            }
            other => of_zip(other),
        })?;
        let name = file.name_raw().to_vec();
        let fault = |it| SourceError::entry(&name, it);
        // Windows reads it as `/`, and so do some unpackers.
        if name.contains(&b'\\') {
            return Err(fault(EntryFault::Name));
        }
        let known =
            matches!(file.compression(), CompressionMethod::Stored | CompressionMethod::Deflated);
        if file.encrypted() || !known {
            return Err(fault(EntryFault::Packing));
        }
        let size_bytes = file.size();
        left =
            left.checked_sub(size_bytes).ok_or(SourceError::Bomb { ratio: EXPANSION_RATIO_MAX })?;
        let mode = file.unix_mode().unwrap_or(0);
        match (target.place(&name)?, mode & KIND) {
            (Place::Elsewhere, 0 | REGULAR) => target.pass_over(&name, size_bytes, &mut file)?,
            (Place::Elsewhere, DIRECTORY | LINK) => {}
            (Place::Root, 0 | DIRECTORY) if name.ends_with(b"/") => {}
            (Place::Inside(path), 0 | DIRECTORY) if name.ends_with(b"/") => {
                target.writer.directory(&path)?;
            }
            (Place::Inside(path), 0 | REGULAR) if !name.ends_with(b"/") => {
                target.writer.file(&path, mode & 0o111 != 0, size_bytes, &mut file)?;
                // The checksum is compared where the file ends, and a size that was a lie shows there too.
                if file.read(&mut [0]).map_err(damaged)? != 0 {
                    return Err(SourceError::Damaged {
                        detail: format!("entry {index} is longer than it says"),
                    });
                }
            }
            (Place::Inside(path), LINK) => {
                let mut link = Vec::new();
                let bounded = (&mut file).take(PATH_BYTES_MAX as u64 + 1).read_to_end(&mut link);
                bounded.map_err(damaged)?;
                target.writer.link(&path, &link)?;
            }
            (Place::Root | Place::Inside(_), DIRECTORY | REGULAR | LINK | 0) => {
                return Err(fault(EntryFault::Name));
            }
            (Place::Root | Place::Inside(_) | Place::Elsewhere, _) => {
                return Err(fault(EntryFault::Kind("device, pipe, or socket")));
            }
        }
    }
    Ok(())
}

/// Before the directory is read into memory: how many entries does the end record tell of?
fn refuse_many_entries<R: Read + Seek>(
    reader: &mut R,
    packed_bytes: u64,
) -> Result<(), SourceError> {
    let failed = || SourceError::system("reading the archive");
    let start = packed_bytes.saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
    reader.seek(SeekFrom::Start(start)).map_err(failed())?;
    let mut end = Vec::new();
    reader.take(END_BYTES + COMMENT_BYTES_MAX).read_to_end(&mut end).map_err(failed())?;
    reader.rewind().map_err(failed())?;
    let at = end.windows(4).rposition(|it| it == END_SIGNATURE);
    let record = at.and_then(|it| end.get(it..it + 22));
    let Some(record) = record else {
        return Err(SourceError::Damaged {
            detail: "it has no end record, so that its end is missing".into(),
        });
    };
    let entries = u64::from(u16::from_le_bytes([record[10], record[11]]));
    let directory_bytes = u32::from_le_bytes([record[12], record[13], record[14], record[15]]);
    // Where these are all ones, a larger record says it; an entry has no fewer than 46 bytes there.
    let by_size = u64::from(directory_bytes) / 46;
    if directory_bytes != u32::MAX
        && entries != u64::from(u16::MAX)
        && by_size <= 4 * WORKSPACE_ENTRIES_MAX
    {
        return Ok(());
    }
    let larger = end.windows(4).rposition(|it| it == *b"PK\x06\x06");
    let counted = larger.and_then(|it| end.get(it + 32..it + 40));
    let counted = counted.and_then(|it| it.try_into().ok()).map(u64::from_le_bytes);
    match counted.or((entries != u64::from(u16::MAX)).then_some(entries)) {
        Some(count) if count <= WORKSPACE_ENTRIES_MAX => Ok(()),
        Some(_) | None => Err(too_many()),
    }
}

fn too_many() -> SourceError {
    SourceError::TooLarge { limit: WORKSPACE_ENTRIES_MAX, unit: "entries" }
}

fn of_zip(error: ZipError) -> SourceError {
    match error {
        ZipError::Io(error) => damaged(error),
        other => damaged(io::Error::other(other)),
    }
}
