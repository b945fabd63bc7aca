//! What can go wrong with stored bytes.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use gate_core::Sha256Digest;

/// An error of somebody else.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why bytes were not stored, or not found.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// No such bytes in this namespace.
    #[error("nothing is stored as {key}")]
    NotFound {
        /// Where they would be.
        key: String,
    },
    /// The bytes are not those that the digest names.
    #[error("the bytes have the digest {got}, not {expected}")]
    DigestMismatch {
        /// What was announced.
        expected: Sha256Digest,
        /// What came.
        got: Sha256Digest,
    },
    /// The stream was longer than allowed.
    #[error("more than {bytes_max} bytes")]
    TooLarge {
        /// The bound.
        bytes_max: u64,
    },
    /// The stream that was to be stored broke off.
    #[error("could not read the bytes to be stored")]
    Input(#[source] BoxError),
    /// A namespace is one to four words of `a-z`, `0-9`, `-`, and `_`, with slashes between them.
    #[error(
        "`{namespace}` is no namespace: one to four words of a-z, 0-9, - and _, with slashes between them"
    )]
    BadNamespace {
        /// What was given.
        namespace: String,
    },
    /// Neither a path nor a URL that names a folder or a bucket. The URL is not repeated: it may hold a password.
    #[error(
        "this is no place for bytes (use a path, file:///path, or s3://bucket/prefix): {reason}"
    )]
    BadUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The file system said no.
    #[error("could not {action} {}", path.display())]
    File {
        /// A verb.
        action: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder or bucket said no.
    #[error("the store of bytes failed")]
    Store(#[source] BoxError),
}

impl BlobError {
    /// Whether there is no room left: a fault of the gate's operator, which time alone does not mend.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>()
                && matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            {
                return true;
            }
            cause = error.source();
        }
        false
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    pub(crate) fn from_store(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { path, .. } => Self::NotFound { key: path },
            other => Self::Store(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_seen_wherever_it_was_met() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(BlobError::file("write", Path::new("/x"))(full()).is_full());
        let below =
            object_store::Error::Generic { store: "LocalFileSystem", source: full().into() };
        assert!(BlobError::from_store(below).is_full());
    }

    #[test]
    fn another_fault_is_not_a_full_disk() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(!BlobError::file("write", Path::new("/x"))(denied).is_full());
        assert!(!BlobError::TooLarge { bytes_max: 1 }.is_full());
    }
}
