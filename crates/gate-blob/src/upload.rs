//! Bytes on their way in: a staged file, or an object in parts.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use gate_core::Sha256Digest;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt};

use crate::BlobError;
use crate::bucket::Bucket;
use crate::folder::StagedFile;
use crate::key::Namespace;

/// S3 wants 5 MiB at least, and 10,000 parts at most.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that have no key yet.
#[derive(Debug)]
pub(crate) enum Upload {
    Staged(StagedFile),
    Object(ObjectUpload),
}

impl Upload {
    pub(crate) async fn write(&mut self, chunk: Bytes) -> Result<(), BlobError> {
        match self {
            Self::Staged(file) => file.write(&chunk).await,
            Self::Object(object) => object.write(&chunk).await,
        }
    }

    /// Gives the bytes their key, and says whether they were there before.
    pub(crate) async fn finish(self, sha256: Sha256Digest) -> Result<bool, BlobError> {
        match self {
            Self::Staged(file) => file.finish(sha256).await,
            Self::Object(object) => object.finish(sha256).await,
        }
    }

    /// Leaves nothing behind.
    pub(crate) async fn abort(self) {
        match self {
            // Dropping it removes it.
            Self::Staged(_) => {}
            Self::Object(object) => object.abort().await,
        }
    }
}

/// An object that is sent in parts, or at once when it is small.
#[derive(Debug)]
pub(crate) struct ObjectUpload {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) bucket: Bucket,
    pub(crate) namespace: Namespace,
    pub(crate) target: Target,
    pub(crate) buffer: BytesMut,
    pub(crate) parts: Option<Box<dyn MultipartUpload>>,
}

/// Where the bytes go while their digest is not sure.
#[derive(Debug)]
pub(crate) enum Target {
    /// The key is known, and free. An object appears when its last part was confirmed.
    Key(Path),
    /// The key is known, and taken: the bytes are only hashed.
    Taken,
    /// The key is not known.
    Incoming(Path),
}

impl ObjectUpload {
    async fn write(&mut self, chunk: &[u8]) -> Result<(), BlobError> {
        let (Target::Key(path) | Target::Incoming(path)) = &self.target else { return Ok(()) };
        self.buffer.extend_from_slice(chunk);
        while self.buffer.len() >= PART_BYTES {
            let part = self.buffer.split_to(PART_BYTES).freeze();
            let parts = match &mut self.parts {
                Some(parts) => parts,
                none => none
                    .insert(self.objects.put_multipart(path).await.map_err(BlobError::from_store)?),
            };
            parts.put_part(part.into()).await.map_err(BlobError::from_store)?;
        }
        Ok(())
    }

    async fn finish(mut self, sha256: Sha256Digest) -> Result<bool, BlobError> {
        let sent = self.send_rest().await;
        match (sent, &self.target) {
            (Err(error), _) => {
                self.abort().await;
                Err(error)
            }
            (Ok(()), Target::Taken) => Ok(true),
            (Ok(()), Target::Key(_)) => Ok(false),
            (Ok(()), Target::Incoming(path)) => {
                let key = self.bucket.path(&self.namespace.key(sha256));
                move_to_key(self.objects.as_ref(), path, &key).await
            }
        }
    }

    async fn send_rest(&mut self) -> Result<(), BlobError> {
        let (Target::Key(path) | Target::Incoming(path)) = &self.target else { return Ok(()) };
        let rest = std::mem::take(&mut self.buffer).freeze();
        let Some(parts) = &mut self.parts else {
            self.objects.put(path, rest.into()).await.map_err(BlobError::from_store)?;
            return Ok(());
        };
        if !rest.is_empty() {
            parts.put_part(rest.into()).await.map_err(BlobError::from_store)?;
        }
        parts.complete().await.map_err(BlobError::from_store)?;
        self.parts = None;
        Ok(())
    }

    async fn abort(mut self) {
        if let Some(parts) = &mut self.parts
            && let Err(error) = parts.abort().await
        {
            tracing::warn!(%error, "could not abort an upload; its parts stay until the bucket's lifecycle rule removes them");
        }
    }
}

// Not methods: an upload cannot be shared between threads, and a future that holds a reference to one could not move.
async fn move_to_key(
    objects: &dyn ObjectStore,
    incoming: &Path,
    key: &Path,
) -> Result<bool, BlobError> {
    let existed = exists(objects, key).await;
    let moved = match &existed {
        Ok(false) => objects.copy(incoming, key).await.map_err(BlobError::from_store),
        Ok(true) | Err(_) => Ok(()),
    };
    if let Err(error) = objects.delete(incoming).await {
        tracing::warn!(path = %incoming, %error, "could not delete {incoming}, which is not needed any more");
    }
    moved.and(existed)
}

pub(crate) async fn exists(objects: &dyn ObjectStore, key: &Path) -> Result<bool, BlobError> {
    match objects.head(key).await {
        Ok(_) => Ok(true),
        Err(object_store::Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(BlobError::from_store(error)),
    }
}
