//! The mirrors of git repositories: shared by all who need them, bounded, and made anew when damaged.

use std::fs;
use std::time::Duration;

use gate_core::{Blame, Chain, GitSource, WorkspaceSource};
use gate_exec::{PrepareError, SourceError};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, Repository, mirrors, processes_with, source_error, sources};

#[tokio::test]
async fn many_at_once_fetch_once() {
    let gate = Gate::without_tree_cache();
    let repository = Repository::new();
    let commit = repository.write("a", "1").commit();
    let source = repository.at(&commit);
    let all = (0..8).map(|_| gate.prepare(&source));
    let mut trees = Vec::new();
    for workspace in futures_in_order(all).await {
        trees.push(workspace.unwrap().tree());
    }
    assert!(trees.len() == 8 && trees.iter().all(|it| *it == trees[0]));
    let packs = fs::read_dir(mirrors(&gate)[0].join("objects/pack")).unwrap();
    let packs =
        packs.filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "pack"));
    assert_eq!(packs.count(), 1);
}

/// Polls all of them, and gives the results in order.
async fn futures_in_order<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *result = Some(value);
            }
        }
        if results.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    results.into_iter().map(Option::unwrap).collect()
}

#[tokio::test]
async fn two_gates_share_one_cache() {
    let repository = Repository::new();
    let commit = repository.write("a", "1").commit();
    let source = repository.at(&commit);
    let first = Gate::new();
    let cache = first.home().join("cache");
    let second = Gate::with(|it| it.cache_dir = cache);
    let (one, other) = tokio::join!(first.prepare(&source), second.prepare(&source));
    assert_eq!(one.unwrap().tree(), other.unwrap().tree());
}

#[tokio::test]
async fn what_a_killed_fetch_left_heals() {
    let gate = Gate::new();
    let repository = Repository::new();
    let first = repository.write("a", "1").commit();
    gate.prepare(&repository.at(&first)).await.unwrap();
    let mirror = mirrors(&gate).remove(0);
    for leftover in [
        "shallow.lock",
        "index.lock",
        "config.lock",
        "packed-refs.lock",
        "HEAD.lock",
        "objects/pack/tmp_pack_x",
    ] {
        fs::write(mirror.join(leftover), "half").unwrap();
    }
    fs::create_dir_all(mirror.join("refs/gate")).unwrap();
    let second = repository.write("a", "2").commit();
    fs::write(mirror.join(format!("refs/gate/{second}.lock")), "").unwrap();
    let workspace = gate.prepare(&repository.at(&second)).await.unwrap();
    assert_eq!(fs::read(workspace.root().join("a")).unwrap(), b"2");
    assert!(!mirror.join("objects/pack/tmp_pack_x").exists());
}

#[tokio::test]
async fn a_mirror_that_is_half_made_or_damaged_is_made_anew() {
    let gate = Gate::without_tree_cache();
    let repository = Repository::new();
    let commit = repository.write("a", "1").write("d/b", "2").commit();
    let tree = gate.prepare(&repository.at(&commit)).await.unwrap().tree();
    let mirror = mirrors(&gate).remove(0);
    let again = async || gate.prepare(&repository.at(&commit)).await.unwrap().tree();
    // Its name is only given when it is whole, but a disk may lose anything.
    fs::remove_file(mirror.join("HEAD")).unwrap();
    assert_eq!(again().await, tree);
    fs::remove_dir_all(mirror.join("objects")).unwrap();
    assert_eq!(again().await, tree);
    fs::remove_dir_all(&mirror).unwrap();
    fs::create_dir_all(mirror.with_extension("new").join("objects")).unwrap();
    assert_eq!(again().await, tree);
    // The commit is there, and its files are not.
    let pack = fs::read_dir(mirror.join("objects/pack")).unwrap();
    pack.for_each(|it| fs::remove_file(it.unwrap().path()).unwrap());
    for id in [commit.clone(), repository.git(&["rev-parse", &format!("{commit}^{{tree}}")])] {
        let loose = format!("{}/{}", &id[..2], &id[2..]);
        fs::create_dir_all(mirror.join("objects").join(&id[..2])).unwrap();
        let from = repository.path(".git/objects").join(&loose);
        fs::copy(from, mirror.join("objects").join(&loose)).unwrap();
    }
    assert_eq!(again().await, tree);
}

#[tokio::test]
async fn a_fetch_that_takes_too_long_is_ended_and_is_the_gates_fault() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = Gate::with(|it| it.git_timeout = Duration::from_secs(1));
    let url = format!("http://{}/x.git", listener.local_addr().unwrap());
    let source = GitSource::parse(url, "a".repeat(40), None).unwrap();
    let error = gate.prepare(&WorkspaceSource::Git(source)).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Gate);
    assert!(Chain(&error).to_string().contains("no end within 1 s"), "{}", Chain(&error));
    assert!(processes_with(gate.home()).is_empty());
}

#[tokio::test]
async fn a_fetch_can_be_cancelled() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = Gate::new();
    let url = format!("http://{}/x.git", listener.local_addr().unwrap());
    let source = WorkspaceSource::Git(GitSource::parse(url, "a".repeat(40), None).unwrap());
    let cancel = CancellationToken::new();
    let connected = tokio::task::spawn_blocking(move || listener.accept().unwrap());
    let sources = sources(&source);
    let preparing = gate.preparer.prepare(&sources, &cancel);
    let (result, _connection) = tokio::join!(preparing, async {
        let connection = connected.await.unwrap();
        cancel.cancel();
        connection
    });
    assert!(matches!(result, Err(PrepareError::Cancelled)), "{result:?}");
    assert!(processes_with(gate.home()).is_empty());
}

#[tokio::test]
async fn many_small_packs_are_put_together() {
    let gate = Gate::new();
    let repository = Repository::new();
    let mut last = String::new();
    for index in 0..gate_exec::limits::MIRROR_PACKS_MAX + 3 {
        last = repository.write("a", format!("{index}")).commit();
        gate.prepare(&repository.at(&last)).await.unwrap().dispose().await.unwrap();
    }
    let packs = fs::read_dir(mirrors(&gate)[0].join("objects/pack")).unwrap();
    let packs =
        packs.filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "pack"));
    assert!(packs.count() < 10);
    assert!(gate.prepare(&repository.at(&last)).await.is_ok());
}

#[tokio::test]
async fn without_git_on_the_path_it_is_the_gates_fault() {
    let gate = Gate::with(|it| {
        it.git_variables.insert("PATH".into(), "/no/such/directory".into());
    });
    let repository = Repository::new();
    let commit = repository.write("a", "1").commit();
    let error = gate.prepare(&repository.at(&commit)).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Gate);
    assert!(Chain(&error).to_string().contains("no program `git`"), "{}", Chain(&error));
}

#[tokio::test]
async fn a_repository_that_is_too_large_is_refused_while_it_is_fetched() {
    let gate = Gate::with(|it| it.git_pack_bytes_max = 200_000);
    let repository = Repository::new();
    let small = repository.write("a", "1").commit();
    assert!(gate.prepare(&repository.at(&small)).await.is_ok());
    // A generator's output does not compress.
    let mut state = 1_u64;
    let mut noise = Vec::new();
    while noise.len() < 1_000_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.extend_from_slice(&state.to_be_bytes()[..4]);
    }
    let commit = repository.write("noise", &noise).commit();
    let error = gate.prepare(&repository.at(&commit)).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter, "{error:?}");
    assert!(matches!(source_error(Err(error)), SourceError::TooLarge { unit: "packed bytes", .. }));
    assert!(gate.prepare(&repository.at(&small)).await.is_ok());
}
