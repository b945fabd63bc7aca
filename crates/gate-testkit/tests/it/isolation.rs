//! What a contract says of its isolation: the verdict tells what held, and a weaker tier is never used instead.

use gate_testkit::{TestGate, samples};
use serde_json::{Value, json};

use crate::help::{finding, kinds};

fn with_environment(environment: Value) -> Value {
    let mut contract = samples::shell("true");
    contract["environment"] = environment;
    contract
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_asks_for_more_than_the_worker_has_is_not_run_in_a_weaker_tier() {
    let gate = TestGate::start("unavailable").await;
    let project = gate.project("shop").await;
    // Nobody has this archive's baseline: whoever fetches first says something else.
    let source = json!({ "git": { "url": "file:///nowhere.git", "commit": "4f".repeat(20) } });
    for (environment, words) in [
        (json!({ "isolation": "namespace" }), "asks for isolation of at least `namespace`"),
        (json!({ "isolation": "landlock" }), "this worker has `process`"),
        (json!({ "image": "python:3.12-slim" }), "names the image `python:3.12-slim`"),
    ] {
        let task = project.post_contract(&with_environment(environment)).await;
        let verdict = project.judge(&task, &source).await;
        assert_eq!(verdict["decision"], "INCONCLUSIVE", "{verdict:#}");
        assert_eq!(verdict["next_step"], "needs_human");
        assert_eq!(kinds(&verdict), ["isolation_unavailable"]);
        let finding = finding(&verdict, "isolation_unavailable");
        assert_eq!(finding["blame"], "gate");
        assert!(finding["title"].as_str().unwrap().contains(words), "{finding:#}");
        assert_eq!(
            (&verdict["isolation"], &verdict["isolation_detail"]),
            (&json!(null), &json!(null))
        );
        let run = verdict["run_id"].as_str().unwrap();
        let run = project.orchestrator.read(&format!("/v1/runs/{run}")).await;
        assert_eq!(run["attempts"], 1, "another try would end the same");
        let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
        assert_eq!((&task["rounds"], &task["state"]), (&json!(0), &json!("needs_human")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_tells_the_tier_and_the_limits_that_held() {
    let gate = TestGate::start("told").await;
    let project = gate.project("shop").await;
    let mut contract = with_environment(json!({ "isolation": "process", "loopback": true }));
    contract["limits"] = json!({
        "command_seconds": 11, "run_seconds": 12, "cpu_seconds": 13, "memory_mb": 1014,
        "processes": 315, "open_files": 1016, "disk_mb": 17, "output_bytes": 18_000
    });
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    assert_eq!(verdict["isolation"], "process");
    let detail = &verdict["isolation_detail"];
    assert_eq!((&detail["tier"], &detail["loopback"]), (&json!("process"), &json!(true)));
    assert_eq!(detail["limits"], contract["limits"]);
    assert!(!detail["known_gaps"].as_array().unwrap().is_empty(), "it hides nothing, and says so");
    assert_eq!(verdict["executions"][0]["process_limit_hit"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_an_environment_are_refused_when_the_contract_is_posted() {
    let gate = TestGate::start("environment").await;
    let project = gate.project("shop").await;
    let mut contract = with_environment(json!({
        "image": "python 3", "isolation": "landlock", "setup": [["npm", "ci"], []]
    }));
    contract["limits"] = json!({ "memory_mb": 15 });
    let refused = project.orchestrator.post(&project.path("tasks"), &contract).await;
    let mut pointers = refused.pointers();
    pointers.sort_unstable();
    let image = "/environment/image";
    assert_eq!(pointers, [image, image, "/environment/setup/1", "/limits/memory_mb"]);
}
