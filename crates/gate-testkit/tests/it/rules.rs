//! What counts as a yes, whose fault a no is, and what it costs.

use gate_testkit::TestGate;
use gate_testkit::samples::{self, Repository};
use serde_json::json;

use crate::help::{finding, kinds};

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_holds_stdout_is_killed_and_counted_and_does_not_spoil_a_pass() {
    let gate = TestGate::start("daemon").await;
    let project = gate.project("shop").await;
    let contract = samples::shell("setsid sleep 613 &\nsleep 614 &\necho started");
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    let execution = &verdict["executions"][0];
    assert_eq!(execution["stragglers_killed"], 2, "{execution:#}");
    assert!(execution["duration_ms"].as_u64().unwrap() < 60_000, "{execution:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_non_blocking_check_is_recorded_and_does_not_prevent_a_pass() {
    let gate = TestGate::start("non_blocking").await;
    let project = gate.project("shop").await;
    let mut contract = samples::shell("true");
    let lint = json!({ "id": "lint", "kind": "command", "run": ["false"], "blocking": false });
    contract["checks"].as_array_mut().unwrap().push(lint);
    contract["criteria"][0]["checks"] = json!(["command", "lint"]);
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("PASS"), vec!["command_failed"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_rewrites_protected_files_changes_no_later_check() {
    let gate = TestGate::start("rewritten_tests").await;
    let project = gate.project("shop").await;
    let tests = "grep -q right answer.txt\n";
    let baseline = samples::files(&[("install.sh", "true\n"), ("test.sh", tests)]);
    let rewrites = "echo true > test.sh\n";
    let check =
        |id: &str, script: &str| json!({ "id": id, "kind": "command", "run": ["sh", script] });
    let mut as_check = samples::contract(&check("tests", "test.sh"));
    as_check["baseline"] = baseline.clone();
    as_check["protected"] = json!(["test.sh"]);
    let mut as_setup = as_check.clone();
    as_check["checks"] = json!([check("install", "install.sh"), check("tests", "test.sh")]);
    as_check["criteria"][0]["checks"] = json!(["install", "tests"]);
    as_setup["environment"] = json!({ "setup": [{ "shell": "sh install.sh" }] });
    let report = |answer| {
        samples::files(&[("install.sh", rewrites), ("test.sh", tests), ("answer.txt", answer)])
    };
    // The second time, what setup left is there already.
    for contract in [&as_check, &as_setup, &as_setup] {
        let wrong = project.judge_once(contract, &report("wrong")).await;
        assert_eq!((&wrong["decision"], kinds(&wrong)), (&json!("FAIL"), vec!["command_failed"]));
        assert_eq!(finding(&wrong, "command_failed")["check"], "tests");
        let right = project.judge_once(contract, &report("right")).await;
        assert_eq!(right["decision"], "PASS", "{right:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_missing_fails_with_its_name() {
    let gate = TestGate::start("missing_file").await;
    let project = gate.project("shop").await;
    let check = json!({ "id": "guide", "kind": "files", "paths": ["docs/guide.md"] });
    let verdict = project.judge_once(&samples::contract(&check), &samples::tiny()).await;
    assert_eq!(verdict["decision"], "FAIL");
    assert_eq!(finding(&verdict, "file_missing")["location"]["file"], "docs/guide.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_does_not_exist_is_the_reporters_fault() {
    let gate = TestGate::start("unknown_commit").await;
    let project = gate.project("shop").await;
    let repository = Repository::new();
    let _there = repository.commit(&[("README.md", "A sample.\n")]);
    let unknown = repository.source(&"4f1c".repeat(10));
    let task = project.post_contract(&samples::shell("true")).await;
    let verdict = project.judge(&task, &unknown).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["source_unusable"]));
    assert_eq!(verdict["findings"][0]["blame"], "reporter");
    let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
    assert_eq!((&task["state"], &task["rounds"]), (&json!("rework"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_rounds_are_used_up_is_handed_to_a_person() {
    let gate = TestGate::start("rounds").await;
    let project = gate.project("shop").await;
    let mut contract = samples::shell("test -s done.txt");
    contract["rounds_max"] = json!(2);
    let task = project.post_contract(&contract).await;
    let first = project.judge(&task, &samples::tiny()).await;
    assert_eq!((&first["next_step"], &first["round"]), (&json!("rework"), &json!(1)));
    let second = project.judge(&task, &samples::tiny()).await;
    assert_eq!((&second["next_step"], &second["round"]), (&json!("needs_human"), &json!(2)));
    let third = project.post_report(&task, &samples::files(&[("done.txt", "yes")])).await;
    assert_eq!(third.problem(409), "task_state");
    let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
    assert_eq!((&task["state"], &task["rounds"]), (&json!("needs_human"), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_bounded_whatever_they_say() {
    let gate = TestGate::start("reports_max").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let mut contract = samples::called_back(samples::shell("true"), &receiver.url());
    (contract["rounds_max"], contract["reports_max"]) = (json!(2), json!(2));
    let task = project.post_contract(&contract).await;
    let path = format!("/v1/tasks/{task}/reports");
    let partial = json!({
        "status": "partial", "reason_code": "budget_exhausted", "resumable_handle": "thread-9",
        "not_verified": ["AC1"], "deviations": [],
    });
    for _ in 0..2 {
        let answer = project.orchestrator.post(&path, &partial).await.expect(200);
        assert_eq!((&answer["next_step"], &answer["run"]), (&json!("resume"), &json!(null)));
        assert_eq!(answer["resumable_handle"], "thread-9");
        assert_eq!(answer["task_state"], "paused");
    }
    let third = project.orchestrator.post(&path, &partial).await;
    assert_eq!(third.problem(409), "reports_exhausted");
    let told = receiver.wait_for(2).await;
    assert!(told.iter().all(|it| it.body["type"] == "report.routed"), "{told:?}");
    assert_eq!(told[0].body["data"]["resumable_handle"], "thread-9");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_does_not_answer_its_contract_is_refused_with_all_its_faults() {
    let gate = TestGate::start("report_faults").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let mut report = samples::report(&samples::tiny());
    report["reason_code"] = json!("tool_error");
    report["criteria"] = json!([{ "id": "AC9", "status": "met" }]);
    let answer = project.orchestrator.post(&format!("/v1/tasks/{task}/reports"), &report).await;
    assert_eq!(answer.problem(422), "report_invalid");
    assert_eq!(answer.pointers(), ["/reason_code", "/criteria/0/id", "/criteria"]);
}
