//! What is kept, what goes, and who makes what.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::ground::Ground;
use super::super::tree::{Node, Tree};
use super::*;
use crate::limits::TREE_CACHE_ENTRY_OVERHEAD_BYTES;

struct Scene {
    _home: tempfile::TempDir,
    ground: Arc<Ground>,
    cache: Arc<TreeCache>,
    cancel: CancellationToken,
}

/// What it comes to, whether it has begun, and what it will make.
type Maker = (
    JoinHandle<Result<Lease, SourceError>>,
    oneshot::Receiver<()>,
    oneshot::Sender<Result<Stored, SourceError>>,
);

const OVERHEAD: u64 = 2 * TREE_CACHE_ENTRY_OVERHEAD_BYTES;

impl Scene {
    fn new(bytes_max: u64, entries_max: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let ground = Arc::new(Ground::take(home.path()).unwrap());
        let cache = Arc::new(TreeCache::new(Bounds { bytes_max, entries_max }));
        Self { _home: home, ground, cache, cancel: CancellationToken::new() }
    }

    /// A tree with one file, as large as it says and nowhere on the disk.
    fn stored(&self, name: u8, size_bytes: u64) -> Stored {
        let sha256 = Sha256Digest::from_bytes([name; 32]);
        let file = Node::File { sha256, size_bytes, executable: false };
        let site = Site::new(&self.ground).unwrap();
        Stored::new(site, Tree([("a".to_owned(), file)].into()))
    }

    async fn tree(&self, name: u8, size_bytes: u64) -> Lease {
        let make = async || Ok(self.stored(name, size_bytes));
        self.cache.tree(key(name), &self.cancel, make).await.unwrap()
    }

    fn has(&self, name: u8) -> bool {
        self.cache.of_source(key(name)).is_some()
    }

    /// Runs a task that wants `name`: it says when it makes it, and then makes what is sent.
    fn maker(&self, name: u8) -> Maker {
        let (started, has_started) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let (cache, cancel) = (Arc::clone(&self.cache), self.cancel.clone());
        let make = move || async move {
            started.send(()).unwrap();
            answered.await.unwrap_or(Err(SourceError::UnknownFormat))
        };
        #[expect(clippy::disallowed_methods, reason = "the test is who waits for it")]
        let task = tokio::spawn(async move { cache.tree(key(name), &cancel, make).await });
        (task, has_started, answer)
    }
}

fn key(name: u8) -> Key {
    Key::of_overlay(Sha256Digest::from_bytes([name; 32]), Sha256Digest::from_bytes([0; 32]), &[])
}

/// Until an idle runtime has nothing else to do, a task that waits for a turn waits.
async fn let_others_go_on() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_used_least_recently_makes_room() {
    let scene = Scene::new(2 * (100 + OVERHEAD), 10);
    for name in 1..=2 {
        drop(scene.tree(name, 100).await);
    }
    assert!(scene.has(1));
    drop(scene.tree(3, 100).await);
    assert!(scene.has(1) && !scene.has(2) && scene.has(3));
    assert_eq!(scene.cache.lock().bytes, 2 * (100 + OVERHEAD));
}

#[tokio::test]
async fn the_number_of_trees_is_bounded_too() {
    let scene = Scene::new(u64::MAX, 1);
    for name in 1..=3 {
        drop(scene.tree(name, 1).await);
    }
    assert!(!scene.has(1) && !scene.has(2) && scene.has(3));
}

#[tokio::test]
async fn what_is_in_use_stays_and_goes_when_it_is_given_back() {
    let scene = Scene::new(100 + OVERHEAD, 10);
    let first = scene.tree(1, 100).await;
    let second = scene.tree(2, 100).await;
    let path = first.site().directory().to_owned();
    assert!(scene.has(1) && scene.has(2) && path.exists());
    let again = first.clone();
    drop(first);
    assert!(scene.has(1));
    drop(again);
    assert!(!scene.has(1) && scene.has(2));
    drop(second);
    assert!(scene.has(2));
}

#[tokio::test]
async fn a_tree_larger_than_the_cache_is_used_and_dropped_and_pushes_nothing_out() {
    let scene = Scene::new(100 + OVERHEAD, 10);
    drop(scene.tree(1, 100).await);
    let large = scene.tree(2, 1_000_000).await;
    assert!(scene.has(1) && scene.has(2));
    drop(large);
    assert!(scene.has(1) && !scene.has(2));
    assert_eq!(scene.cache.lock().bytes, 100 + OVERHEAD);
}

#[tokio::test]
async fn the_same_tree_from_two_sources_is_stored_once() {
    let scene = Scene::new(u64::MAX, 10);
    let first = scene.tree(1, 1).await;
    let make = async || Ok(scene.stored(1, 1));
    let second = scene.cache.tree(key(2), &scene.cancel, make).await.unwrap();
    assert_eq!(first.site().directory(), second.site().directory());
    assert_eq!(scene.cache.lock().trees.len(), 1);
}

#[tokio::test]
async fn who_wants_what_another_makes_waits_for_it() {
    let scene = Scene::new(u64::MAX, 10);
    let (first, started, answer) = scene.maker(1);
    started.await.unwrap();
    let (second, second_started, _unused) = scene.maker(1);
    let_others_go_on().await;
    assert!(!second.is_finished());
    answer.send(Ok(scene.stored(1, 1))).unwrap();
    let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    assert_eq!(first.site().directory(), second.site().directory());
    assert!(second_started.await.is_err(), "the second made it again");
}

#[tokio::test]
async fn when_the_first_fails_or_is_given_up_the_next_makes_it_itself() {
    let scene = Scene::new(u64::MAX, 10);
    let (first, started, answer) = scene.maker(1);
    started.await.unwrap();
    let (second, second_started, _unused) = scene.maker(1);
    answer.send(Err(SourceError::WrongArchive)).unwrap();
    assert!(matches!(first.await.unwrap(), Err(SourceError::WrongArchive)));
    second_started.await.unwrap();
    let (third, third_started, answer) = scene.maker(1);
    second.abort();
    third_started.await.unwrap();
    answer.send(Ok(scene.stored(1, 1))).unwrap();
    third.await.unwrap().unwrap();
    assert!(scene.has(1));
}

#[tokio::test]
async fn who_waits_can_be_cancelled() {
    let scene = Scene::new(u64::MAX, 10);
    let (first, started, _answer) = scene.maker(1);
    started.await.unwrap();
    let cancel = CancellationToken::new();
    let make = async || Ok(scene.stored(1, 1));
    let waiting = scene.cache.tree(key(1), &cancel, make);
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap();
    assert!(matches!(ended, Err(SourceError::Cancelled)));
    first.abort();
}

#[tokio::test]
async fn names_are_forgotten_with_their_tree_and_turns_when_they_are_over() {
    let scene = Scene::new(0, 0);
    for name in 1..=50 {
        drop(scene.tree(name, 1).await);
    }
    let state = scene.cache.lock();
    assert_eq!((state.trees.len(), state.sources.len()), (0, 0));
    assert!(state.turns.len() <= 1, "{}", state.turns.len());
}
