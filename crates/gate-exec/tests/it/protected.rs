//! Protected files: what a reporter did to them is told, and what runs is the baseline's.

use std::fs;

use gate_core::{Blame, FileFact, Outcome, ProtectedChange, TreePath, WorkspaceSource};
use gate_exec::{PrepareError, SourceRef, SourceRole, Sources, Workspace};

use crate::fixture::{Gate, Repository, files, patterns, text};

fn reference(source: &WorkspaceSource) -> SourceRef<'_> {
    SourceRef { source, archive: None }
}

async fn prepare(
    gate: &Gate,
    (report, baseline): (&WorkspaceSource, &WorkspaceSource),
    protected: &[&str],
) -> Result<Workspace, PrepareError> {
    let protected = patterns(protected);
    let sources = Sources {
        acceptance: None,
        report: reference(report),
        baseline: Some(reference(baseline)),
        protected: &protected,
        watched: &[],
    };
    gate.prepare_from(&sources).await
}

fn told(workspace: &Workspace) -> Vec<String> {
    let line = |it: &ProtectedChange| match it {
        ProtectedChange::Changed(path) => format!("changed {path}"),
        ProtectedChange::Deleted(path) => format!("deleted {path}"),
        ProtectedChange::Added(path) => format!("added {path}"),
    };
    workspace.protected_changes().iter().map(line).collect()
}

#[tokio::test]
async fn the_baselines_tests_run_whatever_the_report_made_of_them() {
    let gate = Gate::new();
    let baseline =
        files(&[("tests/run", "#!/bin/sh\nexit 1\n"), ("tests/data", "1"), ("src/a", "old")]);
    let report = files(&[
        ("tests/run", "#!/bin/sh\nexit 0\n"),
        ("tests/conftest", "evil"),
        ("src/a", "new"),
    ]);
    let workspace = prepare(&gate, (&report, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(
        told(&workspace),
        ["changed tests/run", "deleted tests/data", "added tests/conftest"]
    );
    assert!(!workspace.root().join("tests/conftest").exists());
    assert_eq!(fs::read(workspace.root().join("src/a")).unwrap(), b"new");
    let ran = gate.run_in(&workspace, &[&["tests/run"]]).await;
    assert_eq!(ran[0].outcome, Outcome::Exited { code: 1 });
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn untouched_files_are_no_changes_and_a_mode_is_one() {
    let gate = Gate::new();
    let baseline = files(&[("tests/run", "#!/bin/sh\n"), ("x", "1")]);
    let same = prepare(&gate, (&baseline, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(told(&same), [""; 0]);
    let WorkspaceSource::Files(mut changed) = baseline.clone() else { unreachable!() };
    changed[0].executable = false;
    let changed = WorkspaceSource::Files(changed);
    let other = prepare(&gate, (&changed, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(told(&other), ["changed tests/run"]);
    assert_eq!(same.tree(), other.tree());
}

#[tokio::test]
async fn a_directory_that_became_a_link_leads_nowhere() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("tests/a", "good").write("src/a", "old");
    let baseline = repository.at(&repository.commit());
    fs::remove_dir_all(repository.path("tests")).unwrap();
    repository.link("tests", "src");
    let inside = repository.at(&repository.commit());
    let workspace = prepare(&gate, (&inside, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(told(&workspace), ["changed tests", "deleted tests/a"]);
    let metadata = fs::symlink_metadata(workspace.root().join("tests")).unwrap();
    assert!(metadata.is_dir());
    assert_eq!(fs::read(workspace.root().join("tests/a")).unwrap(), b"good");
    assert_eq!(fs::read(workspace.root().join("src/a")).unwrap(), b"old");
    for target in ["/", "../..", "/tmp"] {
        fs::remove_file(repository.path("tests")).unwrap();
        repository.link("tests", target);
        let outside = repository.at(&repository.commit());
        let error = prepare(&gate, (&outside, &baseline), &["tests/**"]).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Reporter, "{error:?}");
        assert!(gate_core::Chain(&error).to_string().contains("entry `tests`"), "{error:?}");
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_a_file_is_replaced_and_not_written_through() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("pytest.ini", "good").write("src/evil", "evil");
    let baseline = repository.at(&repository.commit());
    fs::remove_file(repository.path("pytest.ini")).unwrap();
    repository.link("pytest.ini", "src/evil");
    let report = repository.at(&repository.commit());
    let workspace = prepare(&gate, (&report, &baseline), &["pytest.ini"]).await.unwrap();
    assert_eq!(told(&workspace), ["changed pytest.ini"]);
    assert_eq!(fs::read(workspace.root().join("pytest.ini")).unwrap(), b"good");
    assert_eq!(fs::read(workspace.root().join("src/evil")).unwrap(), b"evil");
}

#[tokio::test]
async fn a_file_that_became_a_directory_and_one_that_lies_in_the_way_are_replaced() {
    let gate = Gate::new();
    let baseline = files(&[("pytest.ini", "good"), ("tests/deep/a", "good")]);
    let report = files(&[("pytest.ini/x", "evil"), ("tests/deep", "a file")]);
    let workspace =
        prepare(&gate, (&report, &baseline), &["pytest.ini", "tests/**"]).await.unwrap();
    let changes = told(&workspace).join(", ");
    assert_eq!(
        changes,
        "changed pytest.ini, changed tests/deep, deleted tests/deep/a, added pytest.ini/x"
    );
    assert_eq!(fs::read(workspace.root().join("pytest.ini")).unwrap(), b"good");
    assert_eq!(fs::read(workspace.root().join("tests/deep/a")).unwrap(), b"good");
}

#[tokio::test]
async fn a_baseline_is_fetched_whole_and_only_its_protected_files_are_laid_over() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("big", "of the baseline").write("tests/a", "good");
    let baseline = repository.at(&repository.commit());
    let report = files(&[("a", "1")]);
    let workspace = prepare(&gate, (&report, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(told(&workspace), ["deleted tests/a"]);
    assert!(!workspace.root().join("big").exists());
    repository.write("big", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    let lacking = repository.at(&repository.commit());
    let error = prepare(&gate, (&report, &lacking), &["tests/**"]).await.unwrap_err();
    assert_eq!(error.blame(), Blame::Contract, "{error:?}");
}

#[tokio::test]
async fn a_baseline_that_cannot_be_had_is_the_contracts_fault() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("a", "1").commit();
    let baseline = repository.at(&"7".repeat(40));
    let report = files(&[("a", "1")]);
    let error = prepare(&gate, (&report, &baseline), &["tests/**"]).await.unwrap_err();
    assert!(matches!(error, PrepareError::Source { role: SourceRole::Baseline, .. }), "{error:?}");
    assert_eq!(error.blame(), Blame::Contract);
    let bad = prepare(&gate, (&report, &report), &["tests/[a"]).await.unwrap_err();
    assert!(matches!(bad, PrepareError::Pattern { .. }), "{bad:?}");
}

#[tokio::test]
async fn facts_are_taken_after_the_overlay_and_before_any_command() {
    let gate = Gate::new();
    let (baseline, report) =
        (files(&[("tests/a", "12345")]), files(&[("src/b", ""), ("tests/a", "1")]));
    let protected = patterns(&["tests/**"]);
    let watched: Vec<_> =
        ["tests/a", "src", "src/b", "nothing"].map(|it| TreePath::parse(it).unwrap()).into();
    let sources = Sources {
        acceptance: None,
        report: reference(&report),
        baseline: Some(reference(&baseline)),
        protected: &protected,
        watched: &watched,
    };
    let workspace = gate.prepare_from(&sources).await.unwrap();
    let tree = workspace.tree();
    let ran = gate
        .run_in(&workspace, &[&["sh", "-c", "echo x > nothing; echo y > src/b; cat tests/a"]])
        .await;
    assert_eq!(text(&ran[0].stdout.head), "12345");
    let facts: Vec<_> = workspace.files().iter().map(|(_, fact)| *fact).collect();
    let expected = [
        FileFact::File { size_bytes: 5 },
        FileFact::Directory { entries: 1 },
        FileFact::File { size_bytes: 0 },
        FileFact::Missing,
    ];
    assert_eq!(facts, expected);
    assert_eq!(workspace.tree(), tree);
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn the_gate_compares_the_reported_tree_with_the_baseline_itself() {
    let gate = Gate::new();
    let repository = Repository::new();
    repository.write("tests/a", "good").write("src/a", "old").write("gone", "1").write("b", "1");
    let baseline = repository.at(&repository.commit());
    let report = files(&[("tests/a", "evil"), ("src/a", "new"), ("b", "1"), ("src/c", "new")]);
    let changed = |it: &Workspace| -> Vec<String> {
        it.changes().iter().map(|it| format!("{} {}", it.kind.as_str(), it.path)).collect()
    };
    let expected = ["deleted gone", "modified src/a", "added src/c", "modified tests/a"];
    for protected in [&["tests/**"][..], &[]] {
        // The second time it is known already.
        for _ in 0..2 {
            let workspace = prepare(&gate, (&report, &baseline), protected).await.unwrap();
            assert_eq!(changed(&workspace), expected);
            assert_eq!(workspace.changes_left_out(), 0);
        }
    }
    let same = prepare(&gate, (&baseline, &baseline), &["tests/**"]).await.unwrap();
    assert_eq!(changed(&same), [""; 0]);
    let alone = gate.prepare(&report).await.unwrap();
    assert_eq!(changed(&alone), [""; 0]);
}
