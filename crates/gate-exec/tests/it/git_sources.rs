//! Git repositories: what is written, what is fetched and when, and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use gate_core::{Blame, Chain, GitSource, WorkspaceSource};
use gate_exec::{EntryFault, SourceError, Workspace};

use crate::fixture::{Gate, Repository, mirrors, source_error};

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
