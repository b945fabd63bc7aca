//! The whole logs of executions in the object store: kept as Zstandard, read by range of the raw bytes.

use std::io::{self, Cursor};

use gate_blob::{BlobError, BlobStore};
use gate_core::LogRef;
use gate_exec::{RawExecution, log_slice};
use tokio::fs::File;
use tokio::task::spawn_blocking;
use tokio_util::io::ReaderStream;

const NAMESPACE: &str = "logs";

/// Why a log cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("the object store failed")]
    Blob(#[from] BlobError),
    #[error("the log cannot be read")]
    File(#[from] io::Error),
}

/// Keeps the three logs of one execution, and says by which digests they are found.
pub(crate) async fn keep(
    blobs: &BlobStore,
    execution: &RawExecution,
) -> Result<[LogRef; 3], LogError> {
    let mut kept = execution.logs.each_ref().map(gate_exec::RawLog::reference);
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
