//! What the verdict says was changed: the gate compares the trees itself and believes no list of the report's.

use std::collections::BTreeMap;

use gate_testkit::samples::{self, Repository};
use gate_testkit::{Project, TestGate};
use serde_json::{Value, json};

fn on_baseline(baseline: &Value) -> Value {
    let mut contract = samples::shell("true");
    contract["baseline"] = baseline.clone();
    contract
}

fn changes(verdict: &Value) -> BTreeMap<&str, &str> {
    let changes = verdict["changes"].as_array().unwrap();
    changes.iter().map(|it| (it["path"].as_str().unwrap(), it["kind"].as_str().unwrap())).collect()
}

async fn stored(project: &Project, verdict: &Value) -> Value {
    let run = verdict["run_id"].as_str().unwrap();
    project.orchestrator.read(&format!("/v1/runs/{run}/verdict")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_lists_what_differs_from_the_baseline_whatever_the_report_says() {
    let gate = TestGate::start("changes").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let repository = Repository::new();
    let base = repository.commit(&[
        ("README.md", "A sample.\n"),
        ("src/list.rs", "old\n"),
        ("src/gone.rs", "gone\n"),
        ("tests/list.rs", "the tests\n"),
    ]);
    std::fs::remove_file(repository.path().join("src/gone.rs")).unwrap();
    let work = repository.commit(&[
        ("src/list.rs", "new\n"),
        ("src/näme with spaces.rs", "added\n"),
        ("tests/list.rs", "easier tests\n"),
    ]);
    let mut contract = on_baseline(&repository.source(&base));
    contract["protected"] = json!(["tests/**"]);
    let contract = samples::called_back(contract, &receiver.url());
    let task = project.post_contract(&contract).await;
    let mut report = samples::report(&repository.source(&work));
    report["files_changed"] = json!(["README.md"]);
    let path = format!("/v1/tasks/{task}/reports?wait=60");
    let accepted = project.orchestrator.post(&path, &report).await.expect(200);
    let verdict = &accepted["run"]["verdict"];
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    let expected = [
        ("src/gone.rs", "deleted"),
        ("src/list.rs", "modified"),
        ("src/näme with spaces.rs", "added"),
        // As it was reported, before the baseline's was laid over.
        ("tests/list.rs", "modified"),
    ];
    assert_eq!(changes(verdict), BTreeMap::from(expected));
    assert_eq!(verdict["changes_left_out"], 0);
    assert_eq!(stored(&project, verdict).await["changes"], verdict["changes"]);
    let told = receiver.wait_for(1).await;
    assert_eq!(told[0].body["data"]["changes"], Value::Null, "a callback is short");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_thousands_of_files_is_listed_in_part_and_counted_whole() {
    let gate = TestGate::start("many_changes").await;
    let project = gate.project("shop").await;
    let named = |directory: &str, count: usize| -> Vec<String> {
        (0..count).map(|it| format!("{directory}/{it:03}")).collect()
    };
    let tree = |names: &[String], first: &str| {
        let files = names.iter().map(|it| (it.as_str(), "x")).chain([("a", first)]);
        samples::files(&files.collect::<Vec<_>>())
    };
    let (base, work) = (tree(&named("old", 205), "1"), tree(&named("new", 999), "2"));
    let verdict = project.judge_once(&on_baseline(&base), &work).await;
    assert_eq!(verdict["decision"], "PASS");
    let listed = verdict["changes"].as_array().unwrap();
    assert_eq!((listed.len(), &verdict["changes_left_out"]), (1000, &json!(205)));
    assert_eq!(listed[0], json!({ "path": "a", "kind": "modified" }));
    assert_eq!(listed[999], json!({ "path": "new/998", "kind": "added" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_baseline_or_a_difference_no_change_is_listed() {
    let gate = TestGate::start("no_changes").await;
    let project = gate.project("shop").await;
    let alone = project.judge_once(&samples::shell("true"), &samples::tiny()).await;
    let same = project.judge_once(&on_baseline(&samples::tiny()), &samples::tiny()).await;
    for verdict in [alone, same] {
        assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
        assert_eq!((&verdict["changes"], &verdict["changes_left_out"]), (&json!([]), &json!(0)));
    }
}
