//! Diffs on a baseline: what git makes of them, and nothing outside of the tree.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use gate_core::{Blame, Chain, WorkspaceSource};
use gate_exec::{PrepareError, SourceError, SourceRef, SourceRole, Sources, Workspace};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, Repository, files, patterns};

fn patch(diff: &str) -> WorkspaceSource {
    WorkspaceSource::Patch { diff: diff.to_owned() }
}

async fn prepare(
    gate: &Gate,
    diff: &str,
    baseline: &WorkspaceSource,
    protected: &[&str],
) -> Result<Workspace, PrepareError> {
    let (report, protected) = (patch(diff), patterns(protected));
    let sources = Sources {
        report: SourceRef { source: &report, archive: None },
        baseline: Some(SourceRef { source: baseline, archive: None }),
        acceptance: None,
        protected: &protected,
        watched: &[],
    };
    gate.prepare_from(&sources).await
}

async fn refused(gate: &Gate, diff: &str, baseline: &WorkspaceSource) -> SourceError {
    let error = prepare(gate, diff, baseline, &[]).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter, "{diff}\n{error:?}");
    let PrepareError::Source { source, .. } = error else { panic!("{error:?}") };
    source
}

fn read(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.base().join("workspace").join(path)).unwrap()
}

/// A diff that adds one file.
fn adds(path: &str, mode: &str, line: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    )
}

#[tokio::test]
async fn a_patch_makes_the_very_tree_that_its_commit_has() {
    let gate = Gate::new();
    let repository = Repository::new();
    let long = |end: &str| format!("{}{end}\n", "a line\n".repeat(50));
    let binary: Vec<u8> = (0..=255).cycle().take(5_000).collect();
    repository
        .write("src/a", long("old"))
        .write("src/b", "1\r\n2\r\n")
        .write("gone/deep/only", "x");
    repository.write("moved/from", long("moved")).write("tool", "echo\n").write("bin", &binary);
    repository.write("no newline", "x").write("t\u{e4}\tb", "1\n").write("same", "same\n");
    repository.link("link", "src/a").write(".gitattributes", "*.txt text eol=crlf\n*.c filter=x\n");
    repository.write("win.txt", "1\r\n").write("a.c", "1\n");
    let before = repository.commit();
    fs::remove_dir_all(repository.path("gone")).unwrap();
    fs::remove_file(repository.path("link")).unwrap();
    fs::create_dir_all(repository.path("new/dir")).unwrap();
    fs::rename(repository.path("moved/from"), repository.path("new/to")).unwrap();
    repository.write("src/a", long("new")).write("src/b", "1\r\n3\r\n").write("empty", "");
    repository.write("bin", &binary[7..]).write("new/dir/c", "c\n").write("no newline", "y");
    repository.write("t\u{e4}\tb", "2\n").link("link", "src/b").write("new bin", [0, 159, 146]);
    repository.write("win.txt", "2\r\n").write("a.c", "2\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(repository.path("tool"), mode).unwrap();
    let after = repository.commit();
    let (baseline, whole) = (repository.at(&before), repository.at(&after));
    let expected = gate.prepare(&whole).await.unwrap();
    for find in ["--find-renames", "--no-renames", "--find-copies-harder"] {
        let diff = repository.git(&["diff", "--binary", "--full-index", find, &before, &after]);
        let workspace = prepare(&gate, &diff, &baseline, &[]).await.unwrap();
        assert_eq!(workspace.tree(), expected.tree(), "{find}\n{diff}");
        assert!(!workspace.base().join("workspace/gone").exists());
        assert_eq!(read(&workspace, "src/b"), "1\r\n3\r\n");
    }
    let start = gate.prepare(&baseline).await.unwrap();
    assert_eq!((read(&start, "src/a"), read(&start, "link")), (long("old"), long("old")));
}

#[tokio::test]
async fn a_patch_without_gits_headers_is_applied_to_any_kind_of_baseline() {
    let gate = Gate::new();
    let baseline = files(&[("src/a", "one\ntwo\nthree\n"), ("b", "1\n")]);
    // The last newline is lost, as it is when a diff is quoted.
    let diff = "--- a/src/a\n+++ b/src/a\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three";
    let workspace = prepare(&gate, diff, &baseline, &[]).await.unwrap();
    assert_eq!(read(&workspace, "src/a"), "one\nTWO\nthree\n");
    assert_eq!(read(&workspace, "b"), "1\n");
    let changes: Vec<_> = workspace.changes().iter().map(|it| it.path.as_str()).collect();
    assert_eq!(changes, ["src/a"]);
    let again = prepare(&gate, diff, &baseline, &[]).await.unwrap();
    assert_eq!(again.base(), workspace.base());
    let other = prepare(&gate, diff, &files(&[("src/a", "one\ntwo\nthree\n")]), &[]).await.unwrap();
    assert_ne!(other.tree(), workspace.tree());
}

#[tokio::test]
async fn a_hunk_that_does_not_fit_is_the_reporters_fault_with_its_place() {
    let gate = Gate::new();
    let lines: String = (1..=40).map(|it| format!("line {it}\n")).collect();
    let baseline = files(&[("src/a", &lines), ("b", "1\n")]);
    let diff = "diff --git a/src/a b/src/a\n--- a/src/a\n+++ b/src/a\n\
        @@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n@@ -20,2 +20,2 @@\n-other\n+OTHER\n line 21\n";
    let told = refused(&gate, diff, &baseline).await.to_string();
    let place = "hunk 2 of `src/a` (line 8 of the diff) does not fit the baseline at line 20";
    assert!(told.contains(place), "{told}");
    let cases = [
        ("", "patch does not apply"),
        ("It is done, all tests pass.\n", "No valid patches"),
        ("--- a/b\n+++ b/b\n@@ -1,5 +1,5 @@\n-1\n+2\n", "corrupt patch at line"),
        ("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-1\n+2\n", "none: does not exist in the baseline"),
        (&adds("b", "100644", "x"), "b: already exists in the baseline"),
        ("diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n", "b"),
    ];
    for (diff, expected) in cases {
        let told = refused(&gate, diff, &baseline).await.to_string();
        assert!(told.contains(expected) && !told.contains('\n'), "{diff}\n{told}");
    }
}

#[tokio::test]
async fn nothing_of_a_patch_gets_out_of_the_tree() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("d/a", "1\n").write("plain", "1\n").link("inside", "d");
    let baseline = repository.at(&repository.commit());
    let through = "--- a/inside/a\n+++ b/inside/a\n@@ -1 +1 @@\n-1\n+2\n";
    let evil_link = adds("x", "120000", "/etc");
    let cases = [
        adds("../evil", "100644", "x"),
        adds("d/../../evil", "100644", "x"),
        adds("/tmp/donegate-evil", "100644", "x"),
        adds(".git/config", "100644", "x"),
        adds("d/.GIT/hooks/x", "100755", "x"),
        adds("inside/new", "100644", "x"),
        adds("plain/new", "100644", "x"),
        adds("d", "100644", "x"),
        adds("x", "120000", "/etc/passwd"),
        adds("x", "120000", "../x"),
        adds("x", "160000", "Subproject commit 0123456789012345678901234567890123456789"),
        format!("{evil_link}{}", adds("x/donegate-evil", "100644", "x")),
        format!("{}{}", adds("l", "120000", "d"), adds("l/new", "100644", "x")),
        through.to_owned(),
        "diff --git a/d/a b/../evil\nsimilarity index 100%\nrename from d/a\nrename to ../evil\n"
            .into(),
        "diff --git a/../evil b/n\nsimilarity index 100%\ncopy from ../evil\ncopy to n\n".into(),
    ];
    for diff in &cases {
        refused(&gate, diff, &baseline).await;
    }
    for path in ["/tmp/donegate-evil", "/etc/donegate-evil"] {
        assert!(!fs::exists(path).unwrap(), "{path}");
    }
    assert!(!gate.home().join("evil").exists());
    let work = fs::read_dir(gate.home().join("work")).unwrap().flatten();
    assert!(work.into_iter().all(|it| it.file_name() != "evil"));
    let start = gate.prepare(&baseline).await.unwrap();
    assert_eq!(read(&start, "d/a"), "1\n");
    assert_eq!(fs::read_dir(start.base().join("workspace/d")).unwrap().count(), 1);
}

#[tokio::test]
async fn protected_files_are_laid_over_what_a_patch_makes_of_them() {
    let gate = Gate::new();
    let baseline = files(&[("tests/a", "good\n"), ("src", "old\n")]);
    let diff = "--- a/tests/a\n+++ b/tests/a\n@@ -1 +1 @@\n-good\n+evil\n\
        --- a/src\n+++ b/src\n@@ -1 +1 @@\n-old\n+new\n";
    let workspace = prepare(&gate, diff, &baseline, &["tests/**"]).await.unwrap();
    let got = (read(&workspace, "tests/a"), read(&workspace, "src"));
    assert_eq!(got, ("good\n".into(), "new\n".into()));
    assert_eq!(workspace.protected_changes().len(), 1);
    assert_eq!(workspace.changes().len(), 2);
}

#[tokio::test]
async fn a_patch_needs_a_baseline_and_is_none() {
    let gate = Gate::new();
    let diff = adds("a", "100644", "x");
    let error = gate.prepare(&patch(&diff)).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Reporter);
    assert!(Chain(&error).to_string().contains("the contract's baseline"), "{error:?}");
    let error = prepare(&gate, &diff, &patch(&diff), &[]).await.unwrap_err();
    let is_baseline = matches!(&error, PrepareError::Source { role: SourceRole::Baseline, .. });
    assert!(is_baseline && error.blame() == Blame::Contract, "{error:?}");
}

#[tokio::test]
async fn a_patch_that_grows_too_much_is_stopped() {
    let gate = Gate::new();
    let baseline = files(&[("a", "1\n")]);
    let declared = "diff --git a/bin b/bin\nnew file mode 100644\nindex \
        0000000000000000000000000000000000000000..0123456789012345678901234567890123456789\n\
        GIT binary patch\nliteral 4000000000\nKcmV+b0RR6000031\n\nliteral 0\nHcmV?d00001\n\n";
    let error = refused(&gate, declared, &baseline).await;
    assert!(matches!(error, SourceError::TooLarge { .. }), "{error:?}");
    let pointer = "version https://git-lfs.github.com/spec/v1";
    let diff = format!(
        "diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,3 @@\n+{pointer}\n+oid sha256:00\n+size 1\n"
    );
    let error = refused(&gate, &diff, &baseline).await;
    assert!(matches!(&error, SourceError::LfsPointer { path } if path == "big"), "{error:?}");
}

#[tokio::test]
async fn applying_a_patch_leaves_nothing_and_can_be_cancelled() {
    let gate = Gate::new();
    let baseline = files(&[("a", "1\n")]);
    let workspace = prepare(&gate, &adds("b", "100644", "x"), &baseline, &[]).await.unwrap();
    refused(&gate, &adds("a", "100644", "x"), &baseline).await;
    let base = workspace.base().to_owned();
    let start = gate.prepare(&baseline).await.unwrap();
    let kept = [base.clone(), workspace.place().to_owned(), start.base().to_owned()];
    for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if !kept.contains(&path) && path != start.place() {
            crate::tree_cache::wait_until_gone(&path);
        }
    }
    let (report, cancel) = (patch(&adds("c", "100644", "x")), CancellationToken::new());
    let reference = |source| SourceRef { source, archive: None };
    let sources = Sources {
        report: reference(&report),
        baseline: Some(reference(&baseline)),
        acceptance: None,
        protected: &[],
        watched: &[],
    };
    cancel.cancel();
    let error = gate.preparer.prepare(&sources, &cancel).await.unwrap_err();
    assert!(matches!(error, PrepareError::Cancelled), "{error:?}");
}
