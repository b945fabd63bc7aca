//! The local folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use gate_blob::{BlobError, BlobStore, Stored};
use tempfile::TempDir;

use crate::help::{NAMESPACE, broken_off, noise, pieces, sha256};

fn open() -> (TempDir, BlobStore) {
    let dir = TempDir::new().unwrap();
    let store = BlobStore::open(dir.path().join("bytes").to_str().unwrap()).unwrap();
    (dir, store)
}

/// Every file below, without the directories.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test]
async fn bytes_come_back_as_they_went_in() {
    let (dir, store) = open();
    for bytes in [noise(3_000_000), Vec::new()] {
        let digest = sha256(&bytes);
        let stored = store.put_stream(NAMESPACE, pieces(&bytes), None, u64::MAX).await.unwrap();
        let size_bytes = u64::try_from(bytes.len()).unwrap();
        assert_eq!(stored, Stored { sha256: digest, size_bytes, existed: false });
        let to = dir.path().join("out");
        assert_eq!(store.fetch_to(NAMESPACE, digest, &to).await.unwrap(), size_bytes);
        assert_eq!(fs::read(&to).unwrap(), bytes);
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn work_on_bytes_can_move_between_threads() {
    fn can_move(_: &(impl Send + Sync + 'static)) {}
    fn future_can_move<T>(future: impl Future<Output = T> + Send) {
        drop(future);
    }
    let (dir, store) = open();
    can_move(&store);
    let digest = sha256(b"");
    future_can_move(store.put_stream(NAMESPACE, pieces(b""), None, 1));
    future_can_move(store.put_file(NAMESPACE, digest, dir.path()));
    future_can_move(store.fetch_to(NAMESPACE, digest, dir.path()));
    future_can_move(store.get_range(NAMESPACE, digest, 0..1));
}

#[tokio::test]
async fn files_and_directories_are_for_their_owner_alone() {
    let (dir, store) = open();
    store.put_stream(NAMESPACE, pieces(b"secret"), None, 100).await.unwrap();
    let root = dir.path().join("bytes");
    let file = files(&root).pop().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for it in file.ancestors().skip(1).take_while(|it| it.starts_with(&root)) {
        let mode = fs::metadata(it).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", it.display());
    }
}

#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let (dir, store) = open();
    let other = sha256(b"other");
    let error = store.put_stream(NAMESPACE, pieces(b"bytes"), Some(other), 100).await.unwrap_err();
    assert!(matches!(error, BlobError::DigestMismatch { expected, got }
        if expected == other && got == sha256(b"bytes")));
    let error = store.put_stream(NAMESPACE, pieces(&noise(200_000)), None, 199_999).await;
    assert!(matches!(error, Err(BlobError::TooLarge { bytes_max: 199_999 })));
    let error = store.put_stream(NAMESPACE, broken_off(b"by"), None, 100).await.unwrap_err();
    assert!(matches!(error, BlobError::Input(_)));
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_upload_that_is_dropped_leaves_nothing_behind() {
    let (dir, store) = open();
    let endless = futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
    let mut upload = Box::pin(store.put_stream(NAMESPACE, endless, None, 100));
    // Once it has its staged file, it waits for bytes that never come.
    while files(dir.path()).is_empty() {
        tokio::select! {
            _ = &mut upload => unreachable!("the stream never ends"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(upload);
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_limit_that_is_met_exactly_is_kept() {
    let (_dir, store) = open();
    let stored = store.put_stream(NAMESPACE, pieces(b"12345"), None, 5).await.unwrap();
    assert_eq!(stored.size_bytes, 5);
}

#[tokio::test]
async fn the_same_bytes_many_times_at_once_are_stored_once() {
    let (dir, store) = open();
    let bytes = noise(500_000);
    let digest = Some(sha256(&bytes));
    let puts = (0..16).map(|_| store.put_stream(NAMESPACE, pieces(&bytes), digest, u64::MAX));
    for put in join_all(puts).await {
        assert_eq!(put.unwrap().sha256, sha256(&bytes));
    }
    assert_eq!(files(dir.path()).len(), 1);
    let again = store.put_stream(NAMESPACE, pieces(&bytes), digest, u64::MAX).await.unwrap();
    assert!(again.existed);
}

#[tokio::test]
async fn a_file_is_put_by_its_digest() {
    let (dir, store) = open();
    let path = dir.path().join("log");
    fs::write(&path, b"31 passed").unwrap();
    let digest = sha256(b"31 passed");
    assert!(!store.exists(NAMESPACE, digest).await.unwrap());
    assert!(!store.put_file(NAMESPACE, digest, &path).await.unwrap().existed);
    assert!(store.exists(NAMESPACE, digest).await.unwrap());
    assert!(!store.exists("archives/13", digest).await.unwrap());
    let wrong = store.put_file(NAMESPACE, sha256(b"30 passed"), &path).await.unwrap_err();
    assert!(matches!(wrong, BlobError::DigestMismatch { .. }));
    let missing = store.put_file(NAMESPACE, digest, &dir.path().join("none")).await.unwrap_err();
    assert!(matches!(missing, BlobError::File { action: "open", .. }), "{missing}");
    let no_file = store.put_file(NAMESPACE, digest, dir.path()).await.unwrap_err();
    assert!(matches!(no_file, BlobError::File { action: "read", .. }), "{no_file}");
}

#[tokio::test]
async fn a_range_beyond_the_end_is_cut() {
    let (_dir, store) = open();
    let digest = sha256(b"0123456789");
    store.put_stream(NAMESPACE, pieces(b"0123456789"), None, 100).await.unwrap();
    for (range, expected) in [(2..5, "234"), (8..100, "89"), (10..20, ""), (50..60, ""), (3..3, "")]
    {
        let got = store.get_range(NAMESPACE, digest, range.clone()).await.unwrap();
        assert_eq!(got, expected, "{range:?}");
    }
    let missing = store.get_range(NAMESPACE, sha256(b"no"), 0..1).await.unwrap_err();
    assert!(matches!(missing, BlobError::NotFound { .. }));
}

#[tokio::test]
async fn bytes_that_rotted_are_not_handed_out_and_a_put_mends_them() {
    let (dir, store) = open();
    let digest = sha256(b"whole");
    store.put_stream(NAMESPACE, pieces(b"whole"), None, 100).await.unwrap();
    fs::write(files(dir.path()).pop().unwrap(), b"rot").unwrap();
    let to = dir.path().join("out");
    let error = store.fetch_to(NAMESPACE, digest, &to).await.unwrap_err();
    assert!(matches!(error, BlobError::DigestMismatch { .. }));
    assert_eq!(files(dir.path()).len(), 1, "neither the file nor a part of it");
    store.put_stream(NAMESPACE, pieces(b"whole"), None, 100).await.unwrap();
    assert_eq!(store.fetch_to(NAMESPACE, digest, &to).await.unwrap(), 5);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let (dir, store) = open();
    let error =
        store.fetch_to(NAMESPACE, sha256(b"no"), &dir.path().join("out")).await.unwrap_err();
    assert!(matches!(error, BlobError::NotFound { .. }));
    let error = store.exists("../x", sha256(b"no")).await.unwrap_err();
    assert!(matches!(error, BlobError::BadNamespace { .. }));
}

#[test]
fn a_path_and_a_file_url_name_the_same_folder() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a folder");
    BlobStore::open(path.to_str().unwrap()).unwrap();
    let url = url::Url::from_file_path(&path).unwrap();
    assert!(url.as_str().contains("%20"));
    BlobStore::open(url.as_str()).unwrap();
}

#[test]
fn a_place_that_is_none_is_refused_with_what_to_do() {
    for url in ["", "file://host/x", "gs://bucket/x", "https://bucket"] {
        let error = BlobStore::open(url).unwrap_err();
        assert!(error.to_string().contains("s3://bucket/prefix"), "{error}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = BlobStore::open(file.path().to_str().unwrap()).unwrap_err();
    assert!(matches!(error, BlobError::File { .. }));
}

#[test]
fn what_killed_processes_left_is_removed_after_a_day() {
    let (dir, _store) = open();
    let staging = dir.path().join("bytes/.staging");
    let (old, new) = (staging.join("old"), staging.join("new"));
    for path in [&old, &new] {
        fs::write(path, b"half").unwrap();
    }
    let written = fs::metadata(&old).unwrap().modified().unwrap();
    let day_before = written - Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(&old).unwrap().set_modified(day_before).unwrap();
    BlobStore::open(dir.path().join("bytes").to_str().unwrap()).unwrap();
    assert_eq!(files(dir.path()), [new]);
}
