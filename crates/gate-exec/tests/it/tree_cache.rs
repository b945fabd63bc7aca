//! A tree is materialised once, shared by all runs that want it, and never written to.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use gate_core::Outcome;
use gate_exec::{SourceRef, Sources, Workspace};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, Repository, files, patterns, sources};

fn reference(source: &gate_core::WorkspaceSource) -> SourceRef<'_> {
    SourceRef { source, archive: None }
}

fn read(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.base().join("workspace").join(path)).unwrap()
}

/// Removal goes on in the background; this waits for its end.
pub(crate) fn wait_until_gone(path: &Path) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while path.exists() {
        assert!(Instant::now() < give_up, "{} is still there", path.display());
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_tree_that_was_prepared_before_is_not_fetched_again() {
    let gate = Gate::new();
    let repository = Repository::new();
    let source = repository.at(&repository.write("d/a", "1").write("run", "#!/bin/sh\n").commit());
    let first = gate.prepare(&source).await.unwrap();
    let base = first.base().to_owned();
    first.dispose().await.unwrap();
    drop(repository);
    fs::remove_dir_all(gate.home().join("cache")).unwrap();
    let second = gate.prepare(&source).await.unwrap();
    assert_eq!(second.base(), base);
    assert_eq!(read(&second, "d/a"), "1");
    let mode = |path: &str| fs::metadata(base.join(path)).unwrap().permissions().mode() & 0o7777;
    let modes = ["", "home", "workspace", "workspace/d", "workspace/d/a", "workspace/run"];
    assert_eq!(modes.map(mode), [0o755, 0o755, 0o755, 0o755, 0o644, 0o755]);
    assert_eq!(fs::read_dir(base.join("home")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&base).unwrap().count(), 2);
}

#[tokio::test]
async fn what_one_run_does_to_its_tree_no_other_sees() {
    let gate = Gate::new();
    let source = files(&[("a", "1"), ("d/b", "2")]);
    let first = gate.prepare(&source).await.unwrap();
    let script = "echo x >> a; rm -r d; mkdir d; echo y > d/new; chmod 777 . a; cat a";
    let ran = gate.run_in(&first, &[&["sh", "-c", script]]).await;
    assert_eq!(ran[0].outcome, Outcome::Exited { code: 0 });
    let second = gate.prepare(&source).await.unwrap();
    assert_eq!((first.base(), first.tree()), (second.base(), second.tree()));
    assert_ne!(first.place(), second.place());
    assert_eq!((read(&second, "a"), read(&second, "d/b")), ("1".into(), "2".into()));
    assert_eq!(fs::read(second.root().join("a")).unwrap(), b"1");
    assert!(!second.root().join("d/new").exists());
    let place = first.place().to_owned();
    first.dispose().await.unwrap();
    assert!(!place.exists() && second.base().exists());
}

#[tokio::test]
async fn the_same_tree_from_two_kinds_of_source_is_stored_once() {
    let gate = Gate::new();
    let repository = Repository::new();
    let git = repository.at(&repository.write("d/a", "1").commit());
    let from_git = gate.prepare(&git).await.unwrap();
    let inline = gate.prepare(&files(&[("d/a", "1")])).await.unwrap();
    assert_eq!(from_git.base(), inline.base());
    assert_eq!(from_git.tree(), inline.tree());
}

#[tokio::test]
async fn a_commit_that_another_repository_has_is_unknown_to_one_that_does_not() {
    let gate = Gate::new();
    let (has, has_not) = (Repository::new(), Repository::new());
    let commit = has.write("a", "1").commit();
    has_not.write("b", "1").commit();
    gate.prepare(&has.at(&commit)).await.unwrap();
    let error = gate.prepare(&has_not.at(&commit)).await.unwrap_err();
    assert!(gate_core::Chain(&error).to_string().contains("has no commit"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_want_the_same_tree_at_once_make_it_once() {
    const RUNS: usize = 8;
    let gate = Gate::new();
    let repository = Repository::new();
    for index in 0..50 {
        repository.write(&format!("f{index}"), format!("{index}"));
    }
    let source = repository.at(&repository.commit());
    let sources = sources(&source);
    let cancel = CancellationToken::new();
    let prepare = || gate.preparer.prepare(&sources, &cancel);
    let (a, b, c, d) = tokio::join!(prepare(), prepare(), prepare(), prepare());
    let (e, f, g, h) = tokio::join!(prepare(), prepare(), prepare(), prepare());
    let all = [a, b, c, d, e, f, g, h].map(Result::unwrap);
    assert!(all.iter().all(|it| it.base() == all[0].base()));
    // All directories of this process are numbered: one tree, and a place for each run.
    let number = |path: &Path| path.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let largest: usize = all.iter().map(|it| number(it.place())).max().unwrap();
    assert_eq!((number(all[0].base()), largest), (0, RUNS));
}

#[tokio::test]
async fn an_overlay_is_made_once_and_leaves_both_its_trees_alone() {
    let gate = Gate::new();
    let baseline = files(&[("tests/a", "good"), ("src", "old")]);
    let report = files(&[("tests/a", "evil"), ("tests/b", "evil"), ("src", "new")]);
    let protected = patterns(&["tests/**"]);
    let judged = Sources {
        report: reference(&report),
        baseline: Some(reference(&baseline)),
        acceptance: None,
        protected: &protected,
        watched: &[],
    };
    let first = gate.prepare_from(&judged).await.unwrap();
    let second = gate.prepare_from(&judged).await.unwrap();
    assert_eq!(first.base(), second.base());
    assert_eq!(first.protected_changes(), second.protected_changes());
    assert_eq!(first.protected_changes().len(), 2);
    assert_eq!((read(&first, "tests/a"), read(&first, "src")), ("good".into(), "new".into()));
    assert!(!first.base().join("workspace/tests/b").exists());
    let alone = gate.prepare(&report).await.unwrap();
    assert_eq!((read(&alone, "tests/a"), read(&alone, "tests/b")), ("evil".into(), "evil".into()));
    assert_ne!(alone.tree(), first.tree());
    let start = gate.prepare(&baseline).await.unwrap();
    assert_eq!((read(&start, "tests/a"), read(&start, "src")), ("good".into(), "old".into()));
    // Other patterns are another overlay; the same tree is still stored once.
    let none = gate.prepare_from(&Sources { protected: &[], ..judged }).await.unwrap();
    assert_eq!((none.base(), none.protected_changes().len()), (alone.base(), 0));
}

#[tokio::test]
async fn there_is_no_more_kept_than_the_settings_allow() {
    let gate = Gate::with(|it| it.tree_cache_entries_max = 1);
    let first = gate.prepare(&files(&[("a", "1")])).await.unwrap();
    let second = gate.prepare(&files(&[("a", "2")])).await.unwrap();
    let (gone, kept) = (first.base().to_owned(), second.base().to_owned());
    assert!(gone.exists() && kept.exists());
    first.dispose().await.unwrap();
    wait_until_gone(&gone);
    second.dispose().await.unwrap();
    assert!(kept.exists());
    let none = Gate::with(|it| it.tree_cache_bytes_max = 0);
    let only = none.prepare(&files(&[("a", "1")])).await.unwrap();
    let base = only.base().to_owned();
    assert_eq!(read(&only, "a"), "1");
    only.dispose().await.unwrap();
    wait_until_gone(&base);
}

#[tokio::test]
async fn a_preparation_that_fails_or_is_cancelled_leaves_no_tree() {
    let gate = Gate::new();
    let repository = Repository::new();
    let commit = repository.write("big", vec![b'x'; 8 * 1024 * 1024]).commit();
    let cancel = CancellationToken::new();
    let source = repository.at(&commit);
    let sources = sources(&source);
    cancel.cancel();
    gate.preparer.prepare(&sources, &cancel).await.unwrap_err();
    // Given up in the middle.
    let cancel = CancellationToken::new();
    tokio::select! {
        biased;
        _ = gate.preparer.prepare(&sources, &cancel) => panic!("nothing is that fast"),
        () = tokio::task::yield_now() => {}
    }
    let whole = gate.prepare(&source).await.unwrap();
    assert_eq!(read(&whole, "big").len(), 8 * 1024 * 1024);
    let (base, place) = (whole.base().to_owned(), whole.place().to_owned());
    for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path != base && path != place {
            wait_until_gone(&path);
        }
    }
}

#[tokio::test]
async fn everything_goes_with_the_last_that_uses_it() {
    let home = tempfile::tempdir().unwrap();
    let settings = Gate::settings(home.path(), |_| {});
    let preparer = gate_exec::Preparer::new(&settings).unwrap();
    let source = files(&[("a", "1")]);
    let workspace = preparer.prepare(&sources(&source), &CancellationToken::new()).await.unwrap();
    let base = workspace.base().to_owned();
    drop(preparer);
    assert_eq!(read(&workspace, "a"), "1");
    workspace.dispose().await.unwrap();
    wait_until_gone(&base);
    wait_until_gone(base.parent().unwrap());
}
