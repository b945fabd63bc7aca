//! Contracts: checked when they are posted, given back when they cannot be judged, amended without overwriting anybody.

use gate_testkit::{Answer, TestGate, samples};
use reqwest::Method;
use serde_json::{Value, json};

use crate::help::kinds;

const AMEND: &str = "contracts?reason=the%20program%20has%20another%20name";

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_names_a_missing_program_goes_back_to_the_planner_who_mends_it() {
    let gate = TestGate::start("amend").await;
    let project = gate.project("shop").await;
    let run = json!(["no-such-program-anywhere", "--check"]);
    let broken = samples::contract(&json!({ "id": "command", "kind": "command", "run": run }));
    let task = project.post_contract(&broken).await;
    let path = format!("/v1/tasks/{task}");
    let before = project.orchestrator.get(&path).await;

    let verdict = project.judge(&task, &samples::tiny()).await;
    assert_eq!(verdict["decision"], "INCONCLUSIVE");
    assert_eq!(
        (&verdict["next_step"], kinds(&verdict)),
        (&json!("fix_contract"), vec!["command_not_found"])
    );
    let rejected = project.orchestrator.get(&path).await;
    let body = rejected.expect(200);
    assert_eq!((&body["state"], &body["rounds"]), (&json!("contract_rejected"), &json!(0)));
    assert_eq!(project.post_report(&task, &samples::tiny()).await.problem(409), "task_state");

    let amend = format!("{path}/{AMEND}");
    let better = samples::shell("test -e README.md");
    let missing = project.orchestrator.post(&amend, &better).await;
    assert_eq!(missing.problem(428), "precondition_required");
    let stale = [("if-match", before.header("etag").unwrap())];
    let stale = project.orchestrator.post_with(&amend, &stale, &better).await;
    assert_eq!(stale.problem(412), "precondition_failed");
    let fresh = [("if-match", rejected.header("etag").unwrap())];
    let amended = project.orchestrator.post_with(&amend, &fresh, &better).await;
    let body = amended.expect(200);
    assert_eq!((&body["state"], &body["contract"]["version"]), (&json!("rework"), &json!(2)));
    assert_ne!(amended.header("etag"), rejected.header("etag"));

    let verdict = project.judge(&task, &samples::tiny()).await;
    assert_eq!(
        (&verdict["decision"], &verdict["contract"]["version"]),
        (&json!("PASS"), &json!(2))
    );
    assert_eq!(verdict["round"], 1, "the broken contract cost no round");
    let first = project.orchestrator.read(&format!("{path}/contract?version=1")).await;
    let first: Value = serde_json::from_str(first["text"].as_str().unwrap()).unwrap();
    assert_eq!(first, broken, "the first version is kept as it was published");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_is_refused_with_all_its_faults_at_once() {
    let gate = TestGate::start("contract_faults").await;
    let project = gate.project("shop").await;
    let contract = json!({
        "title": "A sample",
        "criteria": [{ "id": "AC1", "text": "It works", "checks": ["absent"] }],
        "checks": [
            { "id": "a", "kind": "command", "shell": "npm test || true" },
            { "id": "b", "kind": "files", "paths": ["../outside"] },
        ],
        "callback": { "url": "http://169.254.169.254/latest" },
    });
    let answer = project.orchestrator.post(&project.path("tasks"), &contract).await;
    assert_eq!(answer.problem(422), "contract_invalid");
    let pointers = answer.pointers();
    for pointer in ["/criteria/0/checks/0", "/checks/0/shell", "/checks/1/paths/0"] {
        assert!(pointers.iter().any(|it| it == pointer), "{pointer}: {pointers:?}");
    }
    let mut contract = samples::shell("true");
    contract["callback"] = json!({ "url": "http://169.254.169.254/latest" });
    let answer = project.orchestrator.post(&project.path("tasks"), &contract).await;
    assert_eq!(answer.pointers(), ["/callback/url"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_in_yaml_is_kept_to_the_byte() {
    let gate = TestGate::start("yaml").await;
    let project = gate.project("shop").await;
    let text = "# why\ntitle: 注文のページ\ncriteria: [{ id: AC1, text: It works, checks: [c] }]\nchecks:\n  - { id: c, kind: command, run: [test, -e, README.md] }\n";
    let request = project.orchestrator.request(Method::POST, &project.path("tasks"));
    let made = Answer::of(request.header("content-type", "application/yaml").body(text)).await;
    let task = made.expect(201)["id"].as_str().unwrap().to_owned();
    let kept = project.orchestrator.read(&format!("/v1/tasks/{task}/contract")).await;
    assert_eq!((&kept["text"], &kept["media_type"]), (&json!(text), &json!("application/yaml")));
    assert_eq!(project.judge(&task, &samples::tiny()).await["decision"], "PASS");
}
