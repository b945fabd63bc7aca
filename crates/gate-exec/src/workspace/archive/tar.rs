//! tar, entry by entry as it streams by. Extension headers are read here, because the `tar` crate
//! would read one of any size into memory.

use std::io::{self, Read};

use gate_core::limits::PATH_BYTES_MAX;
use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::super::error::{EntryFault, SourceError};
use super::super::place::Place;
use super::super::writer::damaged;
use super::Target;
use super::guard::Guarded;
use crate::limits::TAR_EXTENSION_BYTES_MAX;

/// What extension headers say of the next entry.
#[derive(Debug, Default)]
struct Extension {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size_bytes: Option<Vec<u8>>,
    sparse: bool,
}

/// Writes what the tar holds.
pub(super) fn write<R: Read>(
    reader: Guarded<R>,
    target: &mut Target<'_, '_>,
) -> Result<(), SourceError> {
    let mut archive = Archive::new(reader);
    let mut extension = Extension::default();
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => extension.path = Some(text(&mut entry)?),
            EntryType::GNULongLink => extension.target = Some(text(&mut entry)?),
            EntryType::XHeader => extension.read_pax(&body(&mut entry)?)?,
            // For all entries to come; git writes one with the commit in it. None of it is used here.
            EntryType::XGlobalHeader => {}
            kind => one(kind, &mut entry, std::mem::take(&mut extension), target)?,
        }
    }
    let mut reader = archive.into_inner();
    if reader.ended_with_zeros() {
        // The decompressor has its checksum behind the end.
        return io::copy(&mut reader, &mut io::sink()).map(drop).map_err(damaged);
    }
    Err(SourceError::Damaged {
        detail: "it has no end mark, so that its end may be missing".into(),
    })
}

/// Whether 512 bytes are a header by their own checksum.
pub(super) fn has_checksum(block: &[u8]) -> bool {
    let stated = block.get(148..156).and_then(|it| {
        let text = std::str::from_utf8(it).ok()?;
        u32::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
    });
    let counted = |(at, byte): (usize, &u8)| match at {
        148..156 => u32::from(b' '),
        _ => u32::from(*byte),
    };
    stated == Some(block.iter().enumerate().map(counted).sum()) && block[0] != 0
}

impl Extension {
    fn read_pax(&mut self, bytes: &[u8]) -> Result<(), SourceError> {
        for record in PaxExtensions::new(bytes) {
            let record = record.map_err(damaged)?;
            let value = || Some(record.value_bytes().to_vec());
            match record.key_bytes() {
                b"path" => self.path = value(),
                b"linkpath" => self.target = value(),
                b"size" => self.size_bytes = value(),
                key if key.starts_with(b"GNU.sparse.") => self.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

fn one<R: Read>(
    kind: EntryType,
    entry: &mut Entry<'_, R>,
    extension: Extension,
    target: &mut Target<'_, '_>,
) -> Result<(), SourceError> {
    let name = extension.path.unwrap_or_else(|| entry.header().path_bytes().into_owned());
    let fault = |it| SourceError::entry(&name, it);
    let size_bytes = entry.size();
    let stated = extension.size_bytes.map(|it| String::from_utf8_lossy(&it).parse());
    if extension.sparse || kind == EntryType::GNUSparse {
        return Err(fault(EntryFault::Kind("sparse file")));
    }
    if stated.is_some_and(|it| it != Ok(size_bytes)) {
        let detail =
            format!("two headers disagree on the size of `{}`", String::from_utf8_lossy(&name));
        return Err(SourceError::Damaged { detail });
    }
    let place = target.place(&name)?;
    let header_target = || entry.header().link_name_bytes().map(|it| it.into_owned());
    let link = extension.target.or_else(header_target).unwrap_or_default();
    match kind {
        EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => {
            directory(place, target)
        }
        EntryType::Regular | EntryType::Continuous => {
            let executable = entry.header().mode().is_ok_and(|it| it & 0o111 != 0);
            match place {
                Place::Inside(path) => target.writer.file(&path, executable, size_bytes, entry),
                Place::Root => Err(fault(EntryFault::Name)),
                Place::Elsewhere => target.pass_over(&name, size_bytes, entry),
            }
        }
        EntryType::Directory => directory(place, target),
        EntryType::Symlink => match place {
            Place::Inside(path) => target.writer.link(&path, &link),
            Place::Root => Err(fault(EntryFault::Name)),
            Place::Elsewhere => Ok(()),
        },
        EntryType::Link => {
            let outside =
                || fault(EntryFault::HardLink { target: String::from_utf8_lossy(&link).into() });
            match (place, target.place(&link).or(Err(outside()))?) {
                (Place::Inside(path), Place::Inside(from)) => target.writer.copy(&path, &from),
                (Place::Elsewhere, _) => Ok(()),
                (Place::Inside(_) | Place::Root, _) => Err(outside()),
            }
        }
        EntryType::Char => Err(fault(EntryFault::Kind("character device"))),
        EntryType::Block => Err(fault(EntryFault::Kind("block device"))),
        EntryType::Fifo => Err(fault(EntryFault::Kind("named pipe"))),
        _ => Err(fault(EntryFault::Kind("kind of entry that is not known"))),
    }
}

fn directory(place: Place, target: &mut Target<'_, '_>) -> Result<(), SourceError> {
    match place {
        Place::Inside(path) => target.writer.directory(&path),
        Place::Root | Place::Elsewhere => Ok(()),
    }
}

/// The body of a long name, which may end with a NUL.
fn text<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, SourceError> {
    let mut text = body(entry)?;
    if text.last() == Some(&0) {
        text.pop();
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(SourceError::entry(&text, EntryFault::TooLong));
    }
    Ok(text)
}

fn body<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, SourceError> {
    let (size_bytes, limit) = (entry.size(), TAR_EXTENSION_BYTES_MAX);
    if size_bytes > limit {
        return Err(SourceError::TooLarge { limit, unit: "bytes in one extension header" });
    }
    let mut body = Vec::new();
    entry.read_to_end(&mut body).map_err(damaged)?;
    if body.len() as u64 == size_bytes {
        Ok(body)
    } else {
        Err(SourceError::Damaged { detail: "it ends within a header".into() })
    }
}
