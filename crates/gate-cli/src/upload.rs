//! An archive on its way to the gate: an open file with its digest, sent from where it is, never held in memory.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use futures_util::stream;
use gate_core::Sha256Digest;
use gate_core::limits::ARCHIVE_BYTES_MAX;
use sha2::{Digest, Sha256};

use crate::pack::{self, Contents, PackError};

/// Sent in pieces of this size.
const PIECE_BYTES: usize = 256 * 1024;

/// An archive, ready to be sent as often as needed.
#[derive(Debug)]
pub(crate) struct Upload {
    file: Arc<File>,
    /// Of its bytes.
    pub(crate) sha256: Sha256Digest,
    /// Its length.
    pub(crate) size_bytes: u64,
}

impl Upload {
    /// Reads an archive once, for its digest. What is in it is left to the gate.
    pub(crate) fn of_archive(path: &Path) -> Result<Self, PackError> {
        let fault = |source| PackError::Read { path: path.to_owned(), source };
        // Opening a pipe would wait for somebody to write to it.
        if !path.metadata().map_err(fault)?.is_file() {
            return Err(PackError::NotAFile(path.to_owned()));
        }
        let file = File::open(path).map_err(fault)?;
        let mut hashing = Hashing::new(io::sink());
        let bounded = (&file).take(ARCHIVE_BYTES_MAX + 1);
        io::copy(&mut BufReader::with_capacity(PIECE_BYTES, bounded), &mut hashing)
            .map_err(fault)?;
        hashing.into_upload(file, path)
    }

    /// Packs a directory into a temporary file without a name, so that nothing is left behind.
    pub(crate) fn of_directory(path: &Path) -> Result<(Self, Contents), PackError> {
        let file = tempfile::tempfile().map_err(|source| PackError::Write { source })?;
        let mut hashing = Hashing::new(&file);
        let packed = pack::pack(path, &mut hashing);
        if hashing.size_bytes > ARCHIVE_BYTES_MAX {
            return Err(PackError::ArchiveTooLarge(path.to_owned()));
        }
        let contents = packed?;
        let (sha256, size_bytes) = hashing.finish();
        Ok((Self { file: Arc::new(file), sha256, size_bytes }, contents))
    }

    /// The bytes from the start. Each body reads at offsets of its own: an attempt that was given up disturbs no other.
    pub(crate) fn body(&self) -> reqwest::Body {
        let pieces = stream::try_unfold((Arc::clone(&self.file), 0_u64), async |(file, offset)| {
            let reading = Arc::clone(&file);
            let read = tokio::task::spawn_blocking(move || read_piece(&reading, offset));
            let piece = read.await.map_err(io::Error::other)??;
            let next = offset + piece.len() as u64;
            io::Result::Ok((!piece.is_empty()).then_some((piece, (file, next))))
        });
        reqwest::Body::wrap_stream(pieces)
    }
}

fn read_piece(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE_BYTES];
    let length = loop {
        match file.read_at(&mut piece, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    piece.truncate(length);
    Ok(piece)
}

/// Passes bytes on and keeps their digest and their number.
struct Hashing<W> {
    inner: W,
    sha256: Sha256,
    size_bytes: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self { inner, sha256: Sha256::new(), size_bytes: 0 }
    }

    fn finish(self) -> (Sha256Digest, u64) {
        (Sha256Digest::from_bytes(self.sha256.finalize().into()), self.size_bytes)
    }

    fn into_upload(self, file: File, path: &Path) -> Result<Upload, PackError> {
        let (sha256, size_bytes) = self.finish();
        if size_bytes > ARCHIVE_BYTES_MAX {
            return Err(PackError::ArchiveTooLarge(path.to_owned()));
        }
        Ok(Upload { file: Arc::new(file), sha256, size_bytes })
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(buffer)?;
        self.sha256.update(&buffer[..length]);
        self.size_bytes += length as u64;
        if self.size_bytes > ARCHIVE_BYTES_MAX {
            // `of_directory` sees the size and says so; this only ends the packing.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_digest_of_an_archive_is_that_of_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        fs::write(&path, "abc").unwrap();
        let upload = Upload::of_archive(&path).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((upload.sha256.to_hex().as_str(), upload.size_bytes), (abc, 3));
        assert!(matches!(Upload::of_archive(dir.path()), Err(PackError::NotAFile(_))));
    }

    #[test]
    fn a_packed_directory_reads_back_under_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), vec![7; 3 * PIECE_BYTES]).unwrap();
        let (upload, contents) = Upload::of_directory(dir.path()).unwrap();
        assert_eq!((contents.files, contents.bytes), (1, 3 * PIECE_BYTES as u64));
        let mut hashing = Hashing::new(io::sink());
        let mut offset = 0;
        loop {
            let piece = read_piece(&upload.file, offset).unwrap();
            if piece.is_empty() {
                break;
            }
            offset += piece.len() as u64;
            hashing.write_all(&piece).unwrap();
        }
        assert_eq!(hashing.finish(), (upload.sha256, upload.size_bytes));
    }
}
