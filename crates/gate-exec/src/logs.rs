//! Whole logs on disk: Zstandard, with the size and the SHA-256 of the raw bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use gate_core::{LogRef, LogStream, Sha256Digest};
use sha2::{Digest, Sha256};

use crate::limits::LOG_SLICE_BYTES_MAX;

/// The fastest level: logs shrink by a factor of five or more even so.
const LEVEL: i32 = 1;

/// A finished log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLog {
    /// The compressed file.
    pub path: PathBuf,
    /// Of the raw bytes.
    pub sha256: Sha256Digest,
    /// Raw bytes.
    pub size_bytes: u64,
}

impl RawLog {
    /// The log by its digest, as evidence names it.
    #[must_use]
    pub fn reference(&self) -> LogRef {
        LogRef { sha256: self.sha256, size_bytes: self.size_bytes }
    }
}

/// Where the three logs of one execution go.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// An existing directory.
    pub directory: PathBuf,
    /// What the names begin with.
    pub stem: String,
}

impl LogPlace {
    pub(crate) fn path(&self, stream: LogStream) -> PathBuf {
        self.directory.join(format!("{}-{}.zst", self.stem, stream.as_str()))
    }
}

/// Reads `len_bytes` raw bytes from `offset` on of a log that `compressed` holds; fewer at its end.
///
/// Needs the memory of the slice and of one Zstandard window, however long the log is.
///
/// # Errors
/// When the reader fails or does not hold Zstandard.
pub fn log_slice(compressed: impl Read, offset: u64, len_bytes: u64) -> io::Result<Vec<u8>> {
    let mut raw = zstd::Decoder::new(compressed)?;
    let skipped = io::copy(&mut (&mut raw).take(offset), &mut io::sink())?;
    let mut slice = Vec::new();
    if skipped == offset {
        raw.take(len_bytes.min(LOG_SLICE_BYTES_MAX)).read_to_end(&mut slice)?;
    }
    Ok(slice)
}

/// Writes one log. The compressor is made with the first byte: most executions print to one stream only.
pub(crate) struct LogWriter {
    path: PathBuf,
    file: Option<zstd::Encoder<'static, File>>,
    digest: Sha256,
    size_bytes: u64,
}

impl LogWriter {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None, digest: Sha256::new(), size_bytes: 0 }
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(create(&self.path)?),
        };
        file.write_all(bytes)?;
        self.digest.update(bytes);
        self.size_bytes += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn finish(self) -> io::Result<RawLog> {
        let file = match self.file {
            Some(file) => file,
            None => create(&self.path)?,
        };
        file.finish()?;
        let sha256 = Sha256Digest::from_bytes(self.digest.finalize().into());
        Ok(RawLog { path: self.path, sha256, size_bytes: self.size_bytes })
    }
}

fn create(path: &Path) -> io::Result<zstd::Encoder<'static, File>> {
    zstd::Encoder::new(File::create(path)?, LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_log_is_the_same_bytes_as_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::new(directory.path().join("x.zst"));
        let raw: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        raw.chunks(7_001).for_each(|it| writer.append(it).unwrap());
        let log = writer.finish().unwrap();
        assert_eq!(log.size_bytes, 800_000);
        assert_eq!(log.sha256.as_bytes(), Sha256::digest(&raw).as_slice());
        let slice = |offset, len| log_slice(File::open(&log.path).unwrap(), offset, len).unwrap();
        assert_eq!(slice(0, 10), raw[..10]);
        assert_eq!(slice(654_321, 1_000), raw[654_321..655_321]);
        assert_eq!(slice(799_990, 1_000), raw[799_990..]);
        assert_eq!(slice(800_001, 1), b"");
    }

    #[test]
    fn a_log_of_nothing_is_a_log() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogWriter::new(directory.path().join("x.zst")).finish().unwrap();
        assert_eq!(log_slice(File::open(&log.path).unwrap(), 0, 9).unwrap(), b"");
    }
}
