//! A task that is given up: what runs is killed, the orchestrator is told, and nothing more is taken.

use std::path::PathBuf;

use gate_testkit::{Setup, TestGate, samples};
use serde_json::json;

use crate::help::{Barrier, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_kills_what_runs_and_is_closed() {
    let gate = TestGate::start("cancel").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let barrier = Barrier::new();
    let contract = samples::called_back(samples::shell(&barrier.script()), &receiver.url());
    let task = project.post_contract(&contract).await;
    let run = project.post_report(&task, &samples::tiny()).await.expect(202);
    let process = PathBuf::from(format!("/proc/{}", barrier.entered().await));
    assert!(process.exists());

    let cancel = format!("/v1/tasks/{task}/cancel");
    let reason = json!({ "reason": "the plan changed" });
    let cancelled = project.orchestrator.post(&cancel, &reason).await.expect(200);
    assert_eq!(
        (&cancelled["state"], &cancelled["current_run_id"]),
        (&json!("aborted"), &json!(null))
    );
    wait_until("the command is gone", || !process.exists()).await;

    let told = receiver.wait_for(1).await;
    assert_eq!(told[0].body["type"], "task.cancelled");
    assert_eq!(told[0].body["data"]["next_step"], "stop");
    let run = run["run"]["id"].as_str().unwrap();
    let run = project.orchestrator.read(&format!("/v1/runs/{run}?wait=60")).await;
    assert_eq!((&run["state"], &run["verdict"]), (&json!("cancelled"), &json!(null)));
    let verdict = format!("/v1/runs/{}/verdict", run["id"].as_str().unwrap());
    assert_eq!(project.orchestrator.get(&verdict).await.problem(404), "not_found");
    assert_eq!(project.post_report(&task, &samples::tiny()).await.problem(409), "task_state");
    assert_eq!(project.orchestrator.post(&cancel, &reason).await.problem(409), "task_state");
    assert_eq!(
        project.event_kinds(&task).await,
        ["task.registered", "report.accepted", "task.cancelled"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_still_waits_is_cancelled_before_it_starts() {
    let gate = TestGate::start_with("cancel_queued", Setup { slots: 1, ..Setup::default() }).await;
    let project = gate.project("shop").await;
    let (first, second) = (Barrier::new(), Barrier::new());
    let held = project.post_contract(&samples::shell(&first.script())).await;
    let _run = project.hand_in(&held, &samples::tiny()).await;
    first.entered().await;
    let queued = project.post_contract(&samples::shell(&second.script())).await;
    let _run = project.hand_in(&queued, &samples::tiny()).await;
    let cancel = format!("/v1/tasks/{queued}/cancel");
    project.orchestrator.post(&cancel, &json!({ "reason": "no" })).await.expect(200);
    assert_eq!(project.last_run(&queued).await["attempts"], 0);
    first.let_go();
    assert_eq!(project.last_run(&held).await["verdict"]["decision"], "PASS");
}
