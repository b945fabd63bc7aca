//! What the gate tells of itself: which tier its workers have, and why no stronger one.

use gate_server::Role;
use gate_testkit::{Setup, TestGate, samples};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn every_key_may_read_which_tier_a_worker_has_and_why_no_stronger_one() {
    let gate = TestGate::start("system").await;
    let project = gate.project("shop").await;
    // A verdict proves that the worker has registered.
    let verdict = project.judge_once(&samples::shell("true"), &samples::tiny()).await;
    for role in ["reporter", "reviewer", "planner", "orchestrator"] {
        let system = project.key(&[role]).await.read("/v1/system").await;
        assert_eq!(system["version"], env!("CARGO_PKG_VERSION"));
        let workers = system["isolation"]["workers"].as_array().unwrap();
        assert_eq!(workers.len(), 1, "{system:#}");
        let worker = &workers[0];
        assert_eq!(worker["tier"], "process");
        assert_eq!(worker["detail"], verdict["isolation_detail"], "the contract set no limits");
        assert!(worker["node"].as_str().unwrap().contains('/'), "{worker:#}");
        assert!(worker["tested_at"].is_string());
        let unavailable = worker["unavailable"].as_array().unwrap();
        for tier in ["namespace", "landlock"] {
            let why = unavailable.iter().find(|it| it["tier"] == tier).unwrap();
            assert_eq!(why["reason"], "DONEGATE_SANDBOX_TIER asks for `process`");
        }
    }
    let stranger = project.orchestrator.with_key(None);
    assert_eq!(stranger.get("/v1/system").await.problem(401), "unauthenticated");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_process_tells_of_the_workers_of_other_processes() {
    let setup = Setup { role: Role::Api, ..Setup::default() };
    let gate = TestGate::start_with("system_roles", setup).await;
    let project = gate.project("shop").await;
    let nobody = project.orchestrator.read("/v1/system").await;
    assert_eq!(nobody["isolation"]["workers"], json!([]));
    let directory = tempfile::tempdir().unwrap();
    let worker = gate.companion(Role::Worker, directory.path()).await;
    project.judge_once(&samples::shell("true"), &samples::tiny()).await;
    let system = project.orchestrator.read("/v1/system").await;
    assert_eq!(system["isolation"]["workers"].as_array().unwrap().len(), 1);
    worker.stop().await;
    let nobody = project.orchestrator.read("/v1/system").await;
    assert_eq!(nobody["isolation"]["workers"], json!([]));
}
