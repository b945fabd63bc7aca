//! Contracts are proven on their untouched baseline before anybody works on them.

use gate_testkit::samples::{self, Repository};
use gate_testkit::{Project, TestGate, has_tool};
use serde_json::{Value, json};

use crate::help::{finding, kinds};

/// A contract with this check, which must fail on this baseline.
fn proven_by(check: &Value, baseline: &Value) -> Value {
    let mut check = check.clone();
    check["fails_on_baseline"] = json!(true);
    let mut contract = samples::contract(&check);
    contract["baseline"] = baseline.clone();
    contract
}

async fn task(project: &Project, id: &str) -> Value {
    project.orchestrator.read(&format!("/v1/tasks/{id}?wait=60")).await
}

/// The verdict of the preflight that a task had last.
async fn preflight(project: &Project, id: &str) -> Value {
    let task = task(project, id).await;
    let run = task["preflight_run_id"].as_str().unwrap().to_owned();
    let run = project.orchestrator.read(&format!("/v1/runs/{run}")).await;
    assert_eq!((&run["kind"], &run["report_id"]), (&json!("preflight"), &Value::Null));
    run["verdict"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_takes_reports_once_its_contract_has_failed_on_the_baseline() {
    let gate = TestGate::start("preflight_opens").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let check = json!({ "id": "done", "kind": "command", "shell": "sleep 2; test -e done.txt" });
    let contract = samples::called_back(proven_by(&check, &samples::tiny()), &receiver.url());
    let made = project.orchestrator.post(&project.path("tasks"), &contract).await.expect(201);
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["state"], "preflight");
    let early = project.post_report(id, &samples::tiny()).await;
    assert_eq!(early.problem(409), "task_state", "nobody works on a contract that is not proven");

    assert_eq!(task(&project, id).await["state"], "pending");
    let proven = preflight(&project, id).await;
    assert_eq!((&proven["decision"], &proven["next_step"]), (&json!("PASS"), &json!("start")));
    assert_eq!(proven["executions"][0]["outcome"], json!({ "exited": 1 }));
    let before = task(&project, id).await;
    assert_eq!((&before["last_verdict"], &before["rounds"]), (&Value::Null, &json!(0)));

    let done = samples::files(&[("README.md", "A sample.\n"), ("done.txt", "yes\n")]);
    assert_eq!(project.judge(id, &done).await["decision"], "PASS");
    let told = receiver.wait_for(2).await;
    let told: Vec<_> = told.iter().map(|it| it.body["type"].clone()).collect();
    assert_eq!(told, ["preflight.decided", "verdict.decided"]);
    assert_eq!(
        project.event_kinds(id).await,
        ["task.registered", "preflight.decided", "report.accepted", "verdict.decided"]
    );
}

/// A runner's project whose only test is green already.
async fn is_vacuous(project: &Project, check: Value, files: &[(&str, &str)]) {
    let repository = Repository::new();
    let baseline = repository.commit(files);
    let id = project.post_contract(&proven_by(&check, &repository.source(&baseline))).await;
    assert_eq!(task(project, &id).await["state"], "contract_rejected", "{check}");
    let verdict = preflight(project, &id).await;
    assert_eq!(verdict["decision"], "INCONCLUSIVE");
    assert_eq!(verdict["next_step"], "fix_contract");
    let vacuous = finding(&verdict, "vacuous_check");
    assert_eq!((&vacuous["check"], &vacuous["blame"]), (&check["id"], &json!("contract")));
    assert_eq!(vacuous["criteria"], json!(["AC1"]));
    let told = verdict["feedback"].as_str().unwrap();
    assert!(told.starts_with("**The contract cannot judge**"), "{told}");
    let report = project.post_report(&id, &repository.source(&baseline)).await;
    assert_eq!(report.problem(409), "task_state");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_green_on_the_baseline_sends_its_contract_back() {
    let gate = TestGate::start("preflight_vacuous").await;
    let project = gate.project("shop").await;
    let unittest =
        json!({ "id": "unittest", "kind": "tests", "run": ["python3", "-m", "unittest", "-v"] });
    let test =
        "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    is_vacuous(&project, unittest, &[("test_a.py", test)]).await;
    if has_tool(&["pytest", "--version"]) {
        let pytest =
            json!({ "id": "pytest", "kind": "tests", "run": ["pytest", "-q", "test_a.py"] });
        is_vacuous(&project, pytest, &[("test_a.py", "def test_a():\n    assert True\n")]).await;
    }
    if has_tool(&["node", "--version"]) {
        let node = json!({ "id": "node", "kind": "tests", "run": ["node", "--test"] });
        let test = "const test = require('node:test');\ntest('a', () => {});\n";
        is_vacuous(&project, node, &[("a.test.js", test)]).await;
    }
    if has_tool(&["cargo", "--version"]) {
        let cargo =
            json!({ "id": "cargo", "kind": "tests", "run": ["cargo", "test", "--offline"] });
        let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let library = "#[test]\nfn a() {}\n";
        is_vacuous(&project, cargo, &[("Cargo.toml", manifest), ("src/lib.rs", library)]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_the_commands_name_and_is_not_there_is_listed_at_once() {
    let gate = TestGate::start("preflight_absent").await;
    let project = gate.project("shop").await;
    let contract = json!({
        "title": "A sample",
        "baseline": samples::files(&[("README.md", "A sample.\n"), ("tests/test_a.py", "")]),
        "deliverables": [{ "path": "tools/check.sh" }],
        "criteria": [{ "id": "AC1", "text": "It works", "checks": ["a", "b", "c", "d", "e"] }],
        "checks": [
            { "id": "a", "kind": "tests", "run": ["no-such-program-anywhere", "--check"] },
            { "id": "b", "kind": "tests", "run": ["python3", "-m", "pytest", "tests/test_a.py", "tests/test_b.py::test_c"] },
            { "id": "c", "kind": "command", "run": ["./README.md"] },
            { "id": "d", "kind": "command", "run": ["bash", "tools/check.sh"] },
            { "id": "e", "kind": "command", "run": ["bash", "-c", "true"] },
        ],
    });
    let id = project.post_contract(&contract).await;
    let verdict = preflight(&project, &id).await;
    assert_eq!(kinds(&verdict), ["command_not_found", "path_missing", "command_not_found"]);
    let titles: Vec<_> = verdict["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    for (title, pointer) in
        titles.iter().zip(["/checks/0/run/0", "/checks/1/run/4", "/checks/2/run/0"])
    {
        assert!(title.ends_with(&format!("({pointer})")), "{title}");
    }
    let rejected = task(&project, &id).await;
    assert_eq!(
        (&rejected["state"], &rejected["rounds"], &rejected["reports"]),
        (&json!("contract_rejected"), &json!(0), &json!(0))
    );

    let mut mended = contract;
    mended["checks"] = json!([{ "id": "a", "kind": "command", "run": ["bash", "tools/check.sh"] }]);
    mended["criteria"][0]["checks"] = json!(["a"]);
    let amend = format!("/v1/tasks/{id}/contracts?reason=the%20names%20were%20wrong");
    let amended = project.orchestrator.post_with(&amend, &[("if-match", "*")], &mended).await;
    assert_eq!(amended.expect(200)["contract"]["version"], 2);
    assert_eq!(task(&project, &id).await["state"], "pending");
    assert_eq!(preflight(&project, &id).await["contract"]["version"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_setup_makes_is_there_and_a_setup_that_fails_is_the_planners_to_mend() {
    let gate = TestGate::start("preflight_setup").await;
    let project = gate.project("shop").await;
    let mut contract =
        samples::contract(&json!({ "id": "made", "kind": "command", "run": ["./made.sh"] }));
    contract["baseline"] = samples::tiny();
    let script = "printf '#!/bin/sh\\nexit 0\\n' > made.sh && chmod +x made.sh";
    contract["environment"] = json!({ "setup": [["sh", "-c", script]] });
    let id = project.post_contract(&contract).await;
    assert_eq!(task(&project, &id).await["state"], "pending");

    contract["environment"] = json!({ "setup": [["sh", "-c", "echo no such package; exit 4"]] });
    let id = project.post_contract(&contract).await;
    assert_eq!(task(&project, &id).await["state"], "contract_rejected");
    let verdict = preflight(&project, &id).await;
    let failed = finding(&verdict, "setup_failed");
    assert!(failed["excerpt"]["text"].as_str().unwrap().contains("no such package"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_tests_than_on_the_baseline_fail() {
    let gate = TestGate::start("preflight_fewer").await;
    let project = gate.project("shop").await;
    let test = |name: &str| format!("    def test_{name}(self):\n        pass\n\n");
    let tests = |names: &[&str]| {
        let bodies: String = names.iter().map(|it| test(it)).collect();
        format!("import unittest\n\n\nclass A(unittest.TestCase):\n{bodies}")
    };
    let run = ["python3", "-m", "unittest", "-v"];
    let mut contract = samples::contract(
        &json!({ "id": "tests", "kind": "tests", "run": run, "not_fewer_than_baseline": true }),
    );
    contract["baseline"] = samples::files(&[("test_a.py", &tests(&["a", "b", "c"]))]);
    let id = project.post_contract(&contract).await;

    let fewer = samples::files(&[("test_a.py", &tests(&["a", "b"]))]);
    let verdict = project.judge(&id, &fewer).await;
    let found = finding(&verdict, "fewer_tests_than_baseline");
    assert!(found["title"].as_str().unwrap().starts_with("2 tests were executed"), "{found}");
    let more = samples::files(&[("test_a.py", &tests(&["a", "b", "c", "d"]))]);
    assert_eq!(project.judge(&id, &more).await["decision"], "PASS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_needs_a_baseline_is_refused_without_one() {
    let gate = TestGate::start("preflight_marks").await;
    let project = gate.project("shop").await;
    let contract = samples::contract(&json!({
        "id": "tests", "kind": "tests", "run": ["pytest"],
        "fails_on_baseline": true, "not_fewer_than_baseline": true,
    }));
    let refused = project.orchestrator.post(&project.path("tasks"), &contract).await;
    assert_eq!(
        refused.pointers(),
        ["/checks/0/fails_on_baseline", "/checks/0/not_fewer_than_baseline"]
    );
}
