//! Bytes by digest: archives, logs, and artifacts in a local folder or an S3 bucket.
//!
//! A key is `<namespace>/<aa>/<hex>`, so the same bytes are stored once, and two who put them at
//! the same time do not disturb each other. Every byte that goes in or out is hashed. Nothing
//! here knows what the bytes mean, or deletes what was stored.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod folder;
mod key;
mod upload;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use gate_core::Sha256Digest;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};
use tokio_util::io::ReaderStream;
use url::Url;

use bucket::Bucket;
pub use error::{BlobError, BoxError};
use folder::{Folder, StagedFile};
use key::Namespace;
use upload::Upload;

/// How much of a file is read at once.
const READ_BYTES: usize = 256 * 1024;

/// Where the bytes are. Cheap to clone.
#[derive(Clone)]
pub struct BlobStore {
    place: Place,
    objects: Arc<dyn ObjectStore>,
}

#[derive(Debug, Clone)]
enum Place {
    Folder(Folder),
    Bucket(Bucket),
}

/// What was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Names the bytes.
    pub sha256: Sha256Digest,
    /// How many they are.
    pub size_bytes: u64,
    /// Whether they were there before.
    pub existed: bool,
}

impl BlobStore {
    /// Opens a folder (a path or `file://…`; it is made if missing) or a bucket (`s3://bucket/prefix`).
    ///
    /// What a bucket needs comes from the usual variables: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, and `AWS_ENDPOINT_URL` for servers that speak like S3.
    /// A bucket is not contacted here.
    ///
    /// # Errors
    /// [`BlobError::BadUrl`], or [`BlobError::File`] when the folder cannot be made or written.
    pub fn open(url_or_path: &str) -> Result<Self, BlobError> {
        Self::open_any(url_or_path, Bucket::from_environment)
    }

    /// As [`BlobStore::open`], with the settings of a bucket by their `AWS_…` names instead of the environment's.
    ///
    /// # Errors
    /// As [`BlobStore::open`]; also for a setting that S3 does not have.
    pub fn open_with(url_or_path: &str, settings: &[(&str, &str)]) -> Result<Self, BlobError> {
        Self::open_any(url_or_path, |url| Bucket::with_settings(url, settings))
    }

    fn open_any(
        url_or_path: &str,
        open_bucket: impl FnOnce(&Url) -> Result<(Bucket, Arc<dyn ObjectStore>), BlobError>,
    ) -> Result<Self, BlobError> {
        if !url_or_path.contains("://") {
            return Self::open_folder(Path::new(url_or_path));
        }
        let bad = |reason: String| BlobError::BadUrl { reason };
        let url = Url::parse(url_or_path).map_err(|it| bad(it.to_string()))?;
        match url.scheme() {
            "file" => match url.to_file_path() {
                Ok(path) => Self::open_folder(&path),
                Err(()) => Err(bad("a file URL has no host: file:///path".to_owned())),
            },
            "s3" => {
                let (bucket, objects) = open_bucket(&url)?;
                Ok(Self { place: Place::Bucket(bucket), objects })
            }
            other => Err(bad(format!("the scheme `{other}` is not supported; use file or s3"))),
        }
    }

    fn open_folder(path: &Path) -> Result<Self, BlobError> {
        let (folder, objects) = Folder::open(path)?;
        Ok(Self { place: Place::Folder(folder), objects })
    }

    /// Stores the bytes of a stream under their digest.
    ///
    /// The digest is taken while they pass. When they are other than `expected`, or more than
    /// `bytes_max`, or the stream ends with an error, nothing is left behind.
    ///
    /// # Errors
    /// [`BlobError::DigestMismatch`], [`BlobError::TooLarge`], [`BlobError::Input`],
    /// [`BlobError::BadNamespace`], or what the folder or bucket says.
    pub async fn put_stream<S, E>(
        &self,
        namespace: &str,
        stream: S,
        expected: Option<Sha256Digest>,
        bytes_max: u64,
    ) -> Result<Stored, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Into<BoxError>,
    {
        let namespace = Namespace::parse(namespace)?;
        let mut upload = self.begin(namespace, expected).await?;
        match receive(&mut upload, stream, expected, bytes_max).await {
            Ok((sha256, size_bytes)) => {
                let existed = upload.finish(sha256).await?;
                Ok(Stored { sha256, size_bytes, existed })
            }
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        namespace: Namespace,
        expected: Option<Sha256Digest>,
    ) -> Result<Upload, BlobError> {
        match &self.place {
            Place::Folder(folder) => {
                Ok(Upload::Staged(StagedFile::create(folder, namespace).await?))
            }
            Place::Bucket(bucket) => {
                Ok(Upload::Object(bucket.begin(&self.objects, namespace, expected).await?))
            }
        }
    }

    /// Stores a file that has this digest.
    ///
    /// # Errors
    /// As [`BlobStore::put_stream`]; [`BlobError::File`] when the file cannot be read.
    pub async fn put_file(
        &self,
        namespace: &str,
        sha256: Sha256Digest,
        path: &Path,
    ) -> Result<Stored, BlobError> {
        let file = tokio::fs::File::open(path).await.map_err(BlobError::file("open", path))?;
        let stream = ReaderStream::with_capacity(file, READ_BYTES);
        match self.put_stream(namespace, stream, Some(sha256), u64::MAX).await {
            Err(BlobError::Input(source)) => match source.downcast() {
                Ok(source) => Err(BlobError::file("read", path)(*source)),
                Err(source) => Err(BlobError::Input(source)),
            },
            done => done,
        }
    }

    /// Writes the bytes of this digest to a file (mode 0600), and says how many they are.
    ///
    /// The file appears under its name when it is whole and its digest was found right; one that is there is replaced.
    ///
    /// # Errors
    /// [`BlobError::NotFound`]; [`BlobError::DigestMismatch`] when what was stored has rotted.
    pub async fn fetch_to(
        &self,
        namespace: &str,
        sha256: Sha256Digest,
        path: &Path,
    ) -> Result<u64, BlobError> {
        let key = self.key(namespace, sha256)?;
        let found = self.objects.get(&key).await.map_err(BlobError::from_store)?;
        let mut file = StagedFile::beside(path).await?;
        let mut stream = found.into_stream();
        let mut hash = Sha256::new();
        let mut size_bytes = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(BlobError::from_store)?;
            hash.update(&chunk);
            size_bytes += count(&chunk);
            file.write(&chunk).await?;
        }
        let got = Sha256Digest::from_bytes(hash.finalize().into());
        if got != sha256 {
            return Err(BlobError::DigestMismatch { expected: sha256, got });
        }
        file.move_to(path).await?;
        Ok(size_bytes)
    }

    /// Whether the bytes of this digest are stored.
    ///
    /// # Errors
    /// When the folder or bucket does not answer.
    pub async fn exists(&self, namespace: &str, sha256: Sha256Digest) -> Result<bool, BlobError> {
        let key = self.key(namespace, sha256)?;
        upload::exists(self.objects.as_ref(), &key).await
    }

    /// Some of the bytes of this digest; a range that goes beyond the end is cut there.
    ///
    /// # Errors
    /// [`BlobError::NotFound`].
    pub async fn get_range(
        &self,
        namespace: &str,
        sha256: Sha256Digest,
        range: Range<u64>,
    ) -> Result<Bytes, BlobError> {
        let key = self.key(namespace, sha256)?;
        let found = self.objects.head(&key).await.map_err(BlobError::from_store)?;
        let range = range.start..range.end.min(found.size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        self.objects.get_range(&key, range).await.map_err(BlobError::from_store)
    }

    fn key(
        &self,
        namespace: &str,
        sha256: Sha256Digest,
    ) -> Result<object_store::path::Path, BlobError> {
        let key = Namespace::parse(namespace)?.key(sha256);
        Ok(match &self.place {
            Place::Folder(_) => key.into(),
            Place::Bucket(bucket) => bucket.path(&key),
        })
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the store below: it holds credentials.
        f.debug_tuple("BlobStore").field(&self.place).finish()
    }
}

async fn receive<S, E>(
    upload: &mut Upload,
    stream: S,
    expected: Option<Sha256Digest>,
    bytes_max: u64,
) -> Result<(Sha256Digest, u64), BlobError>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: Into<BoxError>,
{
    let mut stream = pin!(stream);
    let mut hash = Sha256::new();
    let mut size_bytes: u64 = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|it| BlobError::Input(it.into()))?;
        size_bytes += count(&chunk);
        if size_bytes > bytes_max {
            return Err(BlobError::TooLarge { bytes_max });
        }
        hash.update(&chunk);
        upload.write(chunk).await?;
    }
    let got = Sha256Digest::from_bytes(hash.finalize().into());
    match expected {
        Some(expected) if expected != got => Err(BlobError::DigestMismatch { expected, got }),
        Some(_) | None => Ok((got, size_bytes)),
    }
}

fn count(chunk: &Bytes) -> u64 {
    u64::try_from(chunk.len()).unwrap_or(u64::MAX)
}
