//! Git repositories: what is written, what is fetched and when, and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use gate_core::{Blame, Chain, GitSource, WorkspaceSource};
use gate_exec::{EntryFault, PrepareError, SourceError, Workspace};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, Repository, processes_with, sources};

fn source_error(result: Result<Workspace, PrepareError>) -> SourceError {
    let error = result.unwrap_err();
    let PrepareError::Source { source, .. } = error else { panic!("{error:?}") };
    source
}

fn mirrors(gate: &Gate) -> Vec<PathBuf> {
    let entries = fs::read_dir(gate.home().join("cache/git")).unwrap();
    entries
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it == "git"))
        .collect()
}

#[tokio::test]
async fn a_commit_is_written_with_modes_and_links_and_without_git() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository
        .write("src/a.txt", "hello")
        .write("run", "#!/bin/sh\n")
        .write("big", vec![7; 300_000]);
    repository.link("src/l", "../big").write("naïve name\n", "x");
    let commit = repository.commit();
    repository.write("src/a.txt", "later").commit();
    let workspace = gate.prepare(&repository.at(&commit)).await.unwrap();
    let root = workspace.root();
    assert_eq!(fs::read(root.join("src/a.txt")).unwrap(), b"hello");
    assert_eq!(fs::read(root.join("src/l")).unwrap(), vec![7; 300_000]);
    assert_eq!(fs::read(root.join("naïve name\n")).unwrap(), b"x");
    let mode = fs::metadata(root.join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!root.join(".git").exists());
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn a_directory_of_many_files_is_written() {
    let gate = Gate::new();
    let repository = Repository::new();
    for index in 0..700 {
        repository.write(&format!("d/{index}"), format!("{index}").repeat(500));
    }
    let workspace = gate.prepare(&repository.at(&repository.commit())).await.unwrap();
    for index in 0..700 {
        let content = fs::read(workspace.root().join(format!("d/{index}"))).unwrap();
        assert_eq!(content, format!("{index}").repeat(500).as_bytes());
    }
}

#[tokio::test]
async fn attributes_and_filters_do_not_change_the_tree() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("kept", "a\r\nb\r\n").write("id", "$Format:%H$ $Id$");
    let plain = gate.prepare(&repository.at(&repository.commit())).await.unwrap();
    let lines = "kept export-ignore text eol=lf filter=evil\nid export-subst ident\n* text=auto\n";
    repository.git(&["config", "filter.evil.smudge", "touch /tmp/evil"]);
    // Behind the index's back, so that the bytes are stored as they are.
    let attributes = repository.git_with(&["hash-object", "-w", "--stdin"], lines.as_bytes());
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{attributes},.gitattributes"),
    ]);
    repository.git(&["commit", "--quiet", "--message=attributes"]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let workspace = gate.prepare(&repository.at(&commit)).await.unwrap();
    for name in ["kept", "id"] {
        let bytes = |it: &Workspace| fs::read(it.root().join(name)).unwrap();
        assert_eq!(bytes(&plain), bytes(&workspace));
    }
    assert_eq!(fs::read(workspace.root().join("kept")).unwrap(), b"a\r\nb\r\n");
}

#[tokio::test]
async fn the_second_time_nothing_is_fetched() {
    let gate = Gate::without_tree_cache();
    let repository = Repository::new();
    let first = repository.write("a", "1").commit();
    let before = gate.prepare(&repository.at(&first)).await.unwrap().tree();
    let gone = repository.home.path().with_extension("gone");
    fs::rename(repository.home.path(), &gone).unwrap();
    let after = gate.prepare(&repository.at(&first)).await.unwrap().tree();
    assert_eq!(before, after);
    fs::rename(&gone, repository.home.path()).unwrap();
    assert_eq!(mirrors(&gate).len(), 1);
}

#[tokio::test]
async fn a_commit_that_no_branch_names_is_fetched() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("a", "1").commit();
    let loose = repository.write("a", "2").commit();
    repository.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let workspace = gate.prepare(&repository.at(&loose)).await.unwrap();
    assert_eq!(fs::read(workspace.root().join("a")).unwrap(), b"2");
}

#[tokio::test]
async fn a_server_that_serves_only_what_it_names_is_asked_for_all() {
    let gate = Gate::new();
    let repository = Repository::new();
    let old = repository.write("a", "1").commit();
    let new = repository.write("a", "2").commit();
    // Version 0 of the protocol is how older servers speak.
    repository.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let gate = {
        drop(gate);
        let config = repository.path("client");
        fs::write(&config, "[protocol]\n\tversion = 0\n").unwrap();
        Gate::with(|it| it.git_config = Some(config))
    };
    for (commit, content) in [(&new, b"2"), (&old, b"1")] {
        let workspace = gate.prepare(&repository.at(commit)).await.unwrap();
        assert_eq!(fs::read(workspace.root().join("a")).unwrap(), content);
    }
    let error = source_error(gate.prepare(&repository.at(&"9".repeat(40))).await);
    assert!(matches!(error, SourceError::UnknownCommit { .. }), "{error:?}");
}

#[tokio::test]
async fn an_unknown_commit_is_the_reporters_fault_and_costs_the_mirror_nothing() {
    let gate = Gate::new();
    let repository = Repository::new();
    let known = repository.write("a", "1").commit();
    let error = gate.prepare(&repository.at(&"a".repeat(40))).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter);
    assert!(Chain(&error).to_string().contains(&"a".repeat(40)), "{}", Chain(&error));
    assert!(gate.prepare(&repository.at(&known)).await.is_ok());
    let error = gate.prepare(&repository.at(&"b".repeat(40))).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter);
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_the_gates_fault() {
    let gate = Gate::new();
    let git = |url: &str| {
        let source = GitSource::parse(url.to_owned(), "a".repeat(40), None);
        WorkspaceSource::Git(source.unwrap())
    };
    for url in
        ["file:///no/such/repository", "http://127.0.0.1:9/x.git", "https://u:secret@127.0.0.1:9/x"]
    {
        let error = gate.prepare(&git(url)).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Gate, "{error:?}");
        let told = Chain(&error).to_string();
        assert!(told.contains("could not be fetched") && !told.contains("secret"), "{told}");
    }
}

#[tokio::test]
async fn an_id_that_is_no_commit_is_refused() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("a", "1").commit();
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    repository.git(&["tag", "--annotate", "--message=x", "v1"]);
    let tag = repository.git(&["rev-parse", "v1"]);
    for (id, kind) in [(tag, "tag"), (tree, "tree")] {
        let error = source_error(gate.prepare(&repository.at(&id)).await);
        let SourceError::NotACommit { kind: found, .. } = &error else { panic!("{error:?}") };
        assert_eq!(found, kind);
    }
}

#[tokio::test]
async fn repositories_with_sha256_are_read() {
    let gate = Gate::new();
    let repository = Repository::with_format("sha256");
    let commit = repository.write("d/a", "1").commit();
    assert_eq!(commit.len(), 64);
    let workspace = gate.prepare(&repository.at(&commit)).await.unwrap();
    assert_eq!(fs::read(workspace.root().join("d/a")).unwrap(), b"1");
}

#[tokio::test]
async fn only_the_subdirectory_becomes_the_workspace() {
    let gate = Gate::new();
    let repository = Repository::new();
    let commit = repository.write("pkg/a/x", "1").write("pkg/y", "2").commit();
    let workspace = gate.prepare(&repository.below(&commit, Some("pkg/a"))).await.unwrap();
    assert_eq!(fs::read_dir(workspace.root()).unwrap().count(), 1);
    for missing in ["pkg/b", "pkg/y", "other"] {
        let error = gate.prepare(&repository.below(&commit, Some(missing))).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Reporter, "{error:?}");
    }
}

#[tokio::test]
async fn links_out_of_the_tree_are_refused() {
    let gate = Gate::new();
    for target in ["/etc/passwd", "../../x", "d/../../x"] {
        let repository = Repository::new();
        let commit = repository.write("d/a", "1").link("evil", target).commit();
        let error = source_error(gate.prepare(&repository.at(&commit)).await);
        let SourceError::Entry { name, fault: EntryFault::LinkLeaves { .. } } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(name, "evil");
    }
}

#[tokio::test]
async fn submodules_and_lfs_pointers_are_refused_with_their_path() {
    let gate = Gate::new();
    let repository = Repository::new();
    let first = repository.write("a", "1").commit();
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{first},vendor/lib"),
    ]);
    repository.git(&["commit", "--quiet", "--message=sub"]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let error = source_error(gate.prepare(&repository.at(&commit)).await);
    assert!(matches!(&error, SourceError::Submodule { path } if path == "vendor/lib"), "{error:?}");
    for (subdirectory, expected) in [("vendor", "lib"), ("vendor/lib", "vendor/lib")] {
        let error =
            source_error(gate.prepare(&repository.below(&commit, Some(subdirectory))).await);
        assert!(matches!(&error, SourceError::Submodule { path } if path == expected), "{error:?}");
        assert!(error.to_string().contains("git submodule update"), "{error}");
    }
    let other = Repository::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let commit = other.write("m/big.bin", pointer).commit();
    let error = source_error(gate.prepare(&other.at(&commit)).await);
    assert!(matches!(&error, SourceError::LfsPointer { path } if path == "m/big.bin"), "{error:?}");
}

#[tokio::test]
async fn a_list_of_submodules_that_is_out_of_date_is_nobodys_fault() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write(".gitmodules", "[submodule \"x\"]\n\tpath = vendor/x\n\turl = y\n");
    gate.prepare(&repository.at(&repository.write("a", "1").commit())).await.unwrap();
}

#[tokio::test]
async fn trees_that_git_itself_would_never_make_are_refused() {
    let gate = Gate::new();
    let repository = Repository::new();
    let blob = repository.git_with(&["hash-object", "-w", "--stdin"], b"evil");
    let id: Vec<u8> =
        (0..40).step_by(2).map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap()).collect();
    let cases: [(&str, EntryFault); 5] = [
        ("100644 .git\0", EntryFault::Git),
        ("100644 ..\0", EntryFault::Climbs),
        ("100644 a/b\0", EntryFault::Name),
        ("100644 .GIT\0", EntryFault::Git),
        ("100000 odd\0", EntryFault::Kind("unknown git object")),
    ];
    for (entry, expected) in cases {
        let tree = [entry.as_bytes(), &id].concat();
        let arguments = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
        let tree = repository.git_with(&arguments, &tree);
        let commit = repository.git(&["commit-tree", &tree, "-m", "x"]);
        let error = source_error(gate.prepare(&repository.at(&commit)).await);
        let SourceError::Entry { fault, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*fault, expected);
    }
    let twice = [b"100644 a\0".as_slice(), &id, b"120000 a\0", &id].concat();
    let arguments = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
    let tree = repository.git_with(&arguments, &twice);
    let commit = repository.git(&["commit-tree", &tree, "-m", "x"]);
    let error = source_error(gate.prepare(&repository.at(&commit)).await);
    assert!(matches!(error, SourceError::Entry { fault: EntryFault::Duplicate, .. }), "{error:?}");
}

#[tokio::test]
async fn no_hook_of_a_repository_runs() {
    let gate = Gate::new();
    let repository = Repository::new();
    let mark = repository.path("ran");
    for hook in ["post-checkout", "reference-transaction", "pre-upload", "post-upload-pack"] {
        let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
        repository.write(&format!(".git/hooks/{hook}"), script);
    }
    let script = format!("touch {}; exec git-upload-pack", mark.display());
    repository.git(&["config", "uploadpack.packObjectsHook", &script]);
    repository.git(&["config", "core.fsmonitor", &script]);
    let commit =
        repository.git(&["commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "x"]);
    gate.prepare(&repository.at(&commit)).await.unwrap();
    assert!(!mark.exists());
}

#[tokio::test]
async fn file_urls_can_be_switched_off() {
    let gate = Gate::with(|it| it.allow_file_urls = false);
    let repository = Repository::new();
    let commit = repository.write("a", "1").commit();
    let error = gate.prepare(&repository.at(&commit)).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter);
    assert!(matches!(source_error(Err(error)), SourceError::FileUrlsOff));
}

#[tokio::test]
async fn the_hosts_git_configuration_is_not_read() {
    let repository = Repository::new();
    let commit = repository.write("a", "1").commit();
    let gate = Gate::with(|it| {
        fs::create_dir_all(&it.cache_dir).unwrap();
        let home = it.cache_dir.parent().unwrap();
        fs::write(home.join(".gitconfig"), "[url \"file:///nowhere\"]\n\tinsteadOf = file://\n")
            .unwrap();
        it.git_variables.insert("HOME".into(), home.into());
    });
    assert!(gate.prepare(&repository.at(&commit)).await.is_ok());
}

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
