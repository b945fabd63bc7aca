//! Uploaded workspace archives in the object store: one namespace for each project.

use std::path::{Path, PathBuf};

use axum::body::Body;
use futures_util::TryStreamExt;
use gate_blob::{BlobError, BlobStore, Stored};
use gate_core::{Sha256Digest, WorkspaceSource};

/// Takes an upload; nothing is kept when its digest is another one, or it is too large.
pub(crate) async fn receive(
    blobs: &BlobStore,
    project_id: i64,
    sha256: Sha256Digest,
    body: Body,
    bytes_max: u64,
) -> Result<Stored, BlobError> {
    let stream = body.into_data_stream().map_err(std::io::Error::other);
    blobs.put_stream(&namespace(project_id), stream, Some(sha256), bytes_max).await
}

/// Brings the archive of a source, if it is one, to this host.
pub(crate) async fn fetch(
    blobs: &BlobStore,
    project_id: i64,
    source: &WorkspaceSource,
    directory: &Path,
) -> Result<Option<PathBuf>, BlobError> {
    let WorkspaceSource::Archive { sha256, .. } = source else { return Ok(None) };
    let path = directory.join(sha256.to_hex());
    blobs.fetch_to(&namespace(project_id), *sha256, &path).await?;
    Ok(Some(path))
}

fn namespace(project_id: i64) -> String {
    format!("archives/{project_id}")
}
