//! A bucket.

use std::fs;

use futures_util::future::join_all;
use gate_blob::{BlobError, BlobStore};
use tempfile::TempDir;

use crate::help::{NAMESPACE, broken_off, noise, pieces, sha256};
use crate::moto::{BUCKET, Moto};

/// Two parts and a bit.
const LARGE_BYTES: usize = 17 * 1024 * 1024;

fn open(endpoint: &str) -> BlobStore {
    let settings = [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", endpoint),
    ];
    BlobStore::open_with(&format!("s3://{BUCKET}/some/prefix"), &settings).unwrap()
}

fn key(bytes: &[u8]) -> String {
    let hex = sha256(bytes).to_hex();
    format!("some/prefix/{NAMESPACE}/{}/{hex}", &hex[..2])
}

#[tokio::test]
async fn small_and_large_bytes_come_back_as_they_went_in() {
    let Some(moto) = Moto::start() else { return };
    let store = open(&moto.endpoint());
    let dir = TempDir::new().unwrap();
    for bytes in [noise(LARGE_BYTES), b"small".to_vec(), Vec::new()] {
        let digest = sha256(&bytes);
        for expected in [None, Some(digest)] {
            let stored =
                store.put_stream(NAMESPACE, pieces(&bytes), expected, u64::MAX).await.unwrap();
            assert_eq!(stored.sha256, digest);
            assert_eq!(stored.existed, expected.is_some(), "the second one finds the first");
        }
        let to = dir.path().join("out");
        store.fetch_to(NAMESPACE, digest, &to).await.unwrap();
        assert_eq!(fs::read(&to).unwrap(), bytes);
        assert!(moto.keys().contains(&key(&bytes)));
    }
    assert_eq!(moto.keys().len(), 3, "nothing but the objects themselves");
    assert_eq!(moto.uploads(), Vec::<String>::new());
}

#[tokio::test]
async fn a_large_file_with_a_known_digest_goes_to_its_key_in_parts() {
    let Some(moto) = Moto::start() else { return };
    let store = open(&moto.endpoint());
    let dir = TempDir::new().unwrap();
    let (path, bytes) = (dir.path().join("log"), noise(LARGE_BYTES));
    fs::write(&path, &bytes).unwrap();
    assert!(!store.put_file(NAMESPACE, sha256(&bytes), &path).await.unwrap().existed);
    // The mark of an object in three parts.
    assert!(moto.head(&key(&bytes)).contains("-3\""));
    assert!(store.put_file(NAMESPACE, sha256(&bytes), &path).await.unwrap().existed);
    let range = store.get_range(NAMESPACE, sha256(&bytes), 9_000_000..9_000_010).await.unwrap();
    assert_eq!(range, bytes[9_000_000..9_000_010]);
}

#[tokio::test]
async fn what_is_refused_leaves_neither_object_nor_upload() {
    let Some(moto) = Moto::start() else { return };
    let store = open(&moto.endpoint());
    let bytes = noise(LARGE_BYTES);
    for expected in [None, Some(sha256(&bytes))] {
        let error = store.put_stream(NAMESPACE, pieces(&bytes), expected, 17_000_000).await;
        assert!(matches!(error, Err(BlobError::TooLarge { bytes_max: 17_000_000 })));
        let error = store.put_stream(NAMESPACE, broken_off(&bytes), expected, u64::MAX).await;
        assert!(matches!(error, Err(BlobError::Input(_))));
    }
    let other = Some(sha256(b"other"));
    let error = store.put_stream(NAMESPACE, pieces(&bytes), other, u64::MAX).await;
    assert!(matches!(error, Err(BlobError::DigestMismatch { .. })));
    assert_eq!((moto.keys(), moto.uploads()), (vec![], vec![]));
    assert!(!store.exists(NAMESPACE, sha256(b"other")).await.unwrap());
    let error = store.get_range(NAMESPACE, sha256(b"other"), 0..1).await.unwrap_err();
    assert!(matches!(error, BlobError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn the_same_bytes_at_once_are_one_object() {
    let Some(moto) = Moto::start() else { return };
    let store = open(&moto.endpoint());
    let bytes = noise(300_000);
    let puts = [None, Some(sha256(&bytes)), None, Some(sha256(&bytes))];
    let puts = puts.map(|it| store.put_stream(NAMESPACE, pieces(&bytes), it, u64::MAX));
    for put in join_all(puts).await {
        assert_eq!(put.unwrap().sha256, sha256(&bytes));
    }
    assert_eq!(moto.keys(), [key(&bytes)]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_fault_of_the_store() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let error = open(&endpoint).exists(NAMESPACE, sha256(b"x")).await.unwrap_err();
    assert!(matches!(error, BlobError::Store(_)), "{error:?}");
    assert!(!gate_core::Chain(&error).to_string().contains("secret"));
}

#[test]
fn a_store_prints_no_credentials() {
    let printed = format!("{:?}", open("http://127.0.0.1:1"));
    assert!(printed.contains("some/prefix") && !printed.contains("secret"), "{printed}");
}
