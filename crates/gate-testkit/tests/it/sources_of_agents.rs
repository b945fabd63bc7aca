//! Workspaces that agents hand in without pushing: a patch on the baseline, and a directory of a shared volume.

use std::os::unix::fs::PermissionsExt as _;

use gate_testkit::{Setup, TestGate, samples};
use serde_json::{Value, json};

use crate::help::{finding, kinds};

const ROOTS: &str = "DONEGATE_WORKSPACE_DIRECTORY_ROOTS";
const BEFORE: &str = "one\ntwo\nthree\n";
const PATCH: &str = "diff --git a/list.txt b/list.txt\n--- a/list.txt\n+++ b/list.txt\n\
                     @@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

fn patched(diff: &str) -> Value {
    json!({ "patch": { "diff": diff } })
}

fn contract() -> Value {
    let mut contract = samples::shell("test \"$(sed -n 2p list.txt)\" = 2");
    contract["baseline"] = samples::files(&[("list.txt", BEFORE), ("README.md", "A sample.\n")]);
    contract
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_on_the_baseline_is_judged_as_the_tree_that_it_makes() {
    let gate = TestGate::start("patch").await;
    let project = gate.project("shop").await;
    let verdict = project.judge_once(&contract(), &patched(PATCH)).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    assert_eq!(verdict["changes"], json!([{ "path": "list.txt", "kind": "modified" }]));
    let whole = samples::files(&[("list.txt", "one\n2\nthree\n"), ("README.md", "A sample.\n")]);
    assert_eq!(project.judge_once(&contract(), &whole).await["tree"], verdict["tree"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_that_does_not_apply_fails_with_its_file_and_hunk() {
    let gate = TestGate::start("bad_patch").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&contract()).await;
    let stale = PATCH.replace("-two\n", "-zwei\n");
    let verdict = project.judge(&task, &patched(&stale)).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["source_unusable"]));
    let refused = finding(&verdict, "source_unusable");
    assert_eq!(refused["blame"], "reporter");
    let title = refused["title"].as_str().unwrap();
    for words in ["the patch does not apply", "list.txt", "1"] {
        assert!(title.contains(words), "{title}");
    }
    let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
    assert_eq!((&task["state"], &task["rounds"]), (&json!("rework"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_as_a_baseline_or_without_one_says_what_to_do() {
    let gate = TestGate::start("patch_alone").await;
    let project = gate.project("shop").await;
    let mut wrong = samples::shell("true");
    wrong["baseline"] = patched(PATCH);
    let refused = project.orchestrator.post(&project.path("tasks"), &wrong).await;
    assert_eq!(refused.problem(422), "contract_invalid");
    assert!(refused.pointers().iter().all(|it| it.starts_with("/baseline")), "{refused:?}");
    let task = project.post_contract(&samples::shell("true")).await;
    let answer = project.post_report(&task, &patched(PATCH)).await;
    if answer.status == 422 {
        assert_eq!(answer.pointers(), ["/workspace/patch"]);
        return;
    }
    let verdict = project.last_run(&task).await["verdict"].clone();
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["source_unusable"]));
    let title = finding(&verdict, "source_unusable")["title"].as_str().unwrap();
    assert!(title.contains("there is none"), "{title}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_below_an_allowed_root_is_copied_and_judged() {
    let shared = tempfile::tempdir().unwrap();
    let work = shared.path().join("run-7");
    std::fs::create_dir_all(work.join(".git")).unwrap();
    std::fs::write(work.join("list.txt"), "one\n2\n").unwrap();
    std::fs::write(work.join(".git/config"), "[core]\n").unwrap();
    std::fs::set_permissions(shared.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = vec![(ROOTS, shared.path().display().to_string())];
    let gate = TestGate::start_with("directory", Setup { settings, ..Setup::default() }).await;
    let project = gate.project("shop").await;
    let source = |path: &std::path::Path| json!({ "directory": { "path": path } });
    let mut contract = contract();
    contract["checks"][0]["shell"] = json!("test ! -e .git\ntest -e list.txt\nrm list.txt");
    let verdict = project.judge_once(&contract, &source(&work)).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    let expected = json!([
        { "path": "README.md", "kind": "deleted" }, { "path": "list.txt", "kind": "modified" }
    ]);
    assert_eq!(verdict["changes"], expected);
    assert!(work.join("list.txt").exists(), "it is copied, never run in place");

    let elsewhere = tempfile::tempdir().unwrap();
    let verdict = project.judge_once(&contract, &source(elsewhere.path())).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["source_unusable"]));
    let title = finding(&verdict, "source_unusable")["title"].as_str().unwrap();
    assert!(title.contains(ROOTS), "{title}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_takes_no_directories_names_the_setting_that_would_allow_them() {
    let gate = TestGate::start("no_directories").await;
    let project = gate.project("shop").await;
    let source = json!({ "directory": { "path": "/srv/agents/run-7" } });
    let verdict = project.judge_once(&samples::shell("true"), &source).await;
    assert_ne!(verdict["decision"], "PASS", "{verdict:#}");
    let title = finding(&verdict, "source_unusable")["title"].as_str().unwrap();
    assert!(title.contains(ROOTS), "{title}");
}
