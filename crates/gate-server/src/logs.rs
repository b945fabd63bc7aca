//! The whole logs of executions in the object store: masked, kept as Zstandard, read by range of the raw bytes.

use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use gate_blob::{BlobError, BlobStore};
use gate_core::{LogRef, Sha256Digest};
use gate_excerpt::Masker;
use gate_exec::{RawExecution, RawLog, log_slice};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::task::spawn_blocking;
use tokio_util::io::ReaderStream;

const NAMESPACE: &str = "logs";
/// What is unpacked, masked, and packed in one go.
const PIECE_BYTES: usize = 64 * 1024;
/// The fastest level, as the logs were packed before.
const LEVEL: i32 = 1;

/// Why a log cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("the object store failed")]
    Blob(#[from] BlobError),
    #[error("the log cannot be read")]
    File(#[from] io::Error),
}

/// Masks what looks like a secret in the three logs of an execution, each as long as before: whoever reads or keeps
/// them gets these bytes, and digests are of them.
pub(crate) fn mask(mut execution: RawExecution) -> io::Result<RawExecution> {
    for log in &mut execution.logs {
        if let Some(masked) = masked(log)? {
            *log = masked;
        }
    }
    Ok(execution)
}

/// The log anew, beside the old one, which is removed; none where there is nothing to mask.
fn masked(log: &RawLog) -> io::Result<Option<RawLog>> {
    if log.size_bytes == 0 {
        return Ok(None);
    }
    let path = log.path.with_extension("masked.zst");
    let (secrets, sha256) = rewrite(&log.path, &path)?;
    if secrets == 0 {
        fs::remove_file(&path)?;
        return Ok(None);
    }
    fs::remove_file(&log.path)?;
    Ok(Some(RawLog { path, sha256, size_bytes: log.size_bytes }))
}

fn rewrite(from: &Path, to: &Path) -> io::Result<(u64, Sha256Digest)> {
    let mut raw = zstd::Decoder::new(fs::File::open(from)?)?;
    let mut packed = zstd::Encoder::new(fs::File::create(to)?, LEVEL)?;
    let (mut masker, mut digest) = (Masker::new(), Sha256::new());
    let mut piece = vec![0; PIECE_BYTES];
    let mut masked = Vec::new();
    loop {
        let read = raw.read(&mut piece)?;
        if read == 0 {
            break;
        }
        masker.push(&piece[..read], &mut masked);
        packed.write_all(&masked)?;
        digest.update(&masked);
        masked.clear();
    }
    let secrets = masker.finish(&mut masked);
    packed.write_all(&masked)?;
    digest.update(&masked);
    packed.finish()?;
    Ok((secrets, Sha256Digest::from_bytes(digest.finalize().into())))
}

/// Keeps the three logs of one execution, and says by which digests they are found.
pub(crate) async fn keep(
    blobs: &BlobStore,
    execution: &RawExecution,
) -> Result<[LogRef; 3], LogError> {
    let mut kept = execution.logs.each_ref().map(RawLog::reference);
    for (log, kept) in execution.logs.iter().zip(&mut kept) {
        if log.size_bytes > 0 {
            let stream = ReaderStream::new(File::open(&log.path).await?);
            kept.sha256 = blobs.put_stream(NAMESPACE, stream, None, u64::MAX).await?.sha256;
        }
    }
    Ok(kept)
}

/// Reads raw bytes of a log.
pub(crate) async fn read(
    blobs: &BlobStore,
    log: LogRef,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, LogError> {
    if log.size_bytes == 0 || length == 0 {
        return Ok(Vec::new());
    }
    let compressed = blobs.get_range(NAMESPACE, log.sha256, 0..u64::MAX).await?;
    let sliced = spawn_blocking(move || log_slice(Cursor::new(compressed), offset, length)).await;
    Ok(sliced.map_err(io::Error::other)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(directory: &Path, raw: &[u8]) -> RawLog {
        let path = directory.join("0-merged.zst");
        fs::write(&path, zstd::encode_all(raw, LEVEL).unwrap()).unwrap();
        let sha256 = Sha256Digest::from_bytes(Sha256::digest(raw).into());
        RawLog { path, sha256, size_bytes: raw.len() as u64 }
    }

    #[test]
    fn a_log_with_a_secret_is_written_anew_and_one_without_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let noise = "line without anything\n".repeat(20_000);
        let raw = format!("{noise}DB_PASSWORD=hunter2\n{noise}");
        let kept = masked(&log(directory.path(), raw.as_bytes())).unwrap().unwrap();
        let stored = zstd::decode_all(fs::File::open(&kept.path).unwrap()).unwrap();
        assert_eq!(stored, raw.replace("hunter2", "*******").as_bytes());
        assert_eq!(kept.sha256.as_bytes(), Sha256::digest(&stored).as_slice());
        assert_eq!(kept.size_bytes, raw.len() as u64);
        let directory = tempfile::tempdir().unwrap();
        let clean = log(directory.path(), noise.as_bytes());
        assert_eq!(masked(&clean).unwrap(), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
    }
}
