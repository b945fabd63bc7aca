//! The gate's own faults: tried again within bounds, never the reporter's loss, and told as what they are.

use std::time::Duration;

use gate_testkit::{Project, Setup, TestGate, samples};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::help::{Barrier, kinds};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits for the verdict of a task's run, while no delay between attempts is waited for.
async fn without_delays(gate: &TestGate, project: &Project, task: &str) -> Value {
    let hurry = async {
        loop {
            gate.store().pretend_delays_are_over().await.unwrap();
            sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        run = project.last_run(task) => run,
        () = hurry => unreachable!("it never ends"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_does_not_answer_is_tried_again_and_then_handed_to_a_person() {
    let gate = TestGate::start("unreachable").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let nowhere =
        json!({ "git": { "url": "https://127.0.0.1:1/x.git", "commit": "4f1c".repeat(10) } });
    let _run = project.hand_in(&task, &nowhere).await;
    let run = without_delays(&gate, &project, &task).await;
    assert_eq!(run["attempts"], 3, "{run:#}");
    let verdict = &run["verdict"];
    assert_eq!(
        (&verdict["decision"], kinds(verdict)),
        (&json!("INCONCLUSIVE"), vec!["gate_fault"])
    );
    assert_eq!(verdict["findings"][0]["blame"], "gate");
    assert_eq!(verdict["next_step"], "needs_human");
    let retried = project.event_kinds(&task).await.iter().filter(|it| *it == "run.retried").count();
    assert_eq!(retried, 2);
    let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
    assert_eq!((&task["state"], &task["rounds"]), (&json!("needs_human"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_loses_its_worker_three_times_is_given_up_and_told() {
    // The only slot is taken, so that the doomed run is left to workers that die.
    let gate = TestGate::start_with("doomed", Setup { slots: 1, ..Setup::default() }).await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let barrier = Barrier::new();
    let held = project.post_contract(&samples::shell(&barrier.script())).await;
    let _run = project.hand_in(&held, &samples::tiny()).await;
    barrier.entered().await;
    let contract = samples::called_back(samples::shell("true"), &receiver.url());
    let task = project.post_contract(&contract).await;
    let _run = project.hand_in(&task, &samples::tiny()).await;

    for _ in 0..3 {
        let worker = gate.store().register_worker("a host that dies", 1, &json!({})).await.unwrap();
        lease_one(&gate, worker.id()).await;
        let id = worker.id();
        // Its connection ends with it, and its lock with the connection.
        drop(worker);
        gate.store().pretend_silence(id).await.unwrap();
    }
    let run = project.last_run(&task).await;
    assert_eq!(run["attempts"], 3);
    assert_eq!(run["verdict"]["decision"], "INCONCLUSIVE", "{run:#}");
    assert_eq!(kinds(&run["verdict"]), ["gate_fault"]);
    let told = receiver.wait_for(1).await;
    assert_eq!(told[0].body["data"]["next_step"], "needs_human");
    barrier.let_go();
    assert_eq!(project.last_run(&held).await["verdict"]["decision"], "PASS");
}

/// Leases a run and forgets it, as a worker does that is killed.
async fn lease_one(gate: &TestGate, worker: i32) {
    let end = Instant::now() + PATIENCE;
    let store = gate.store();
    while store.lease_next_runs(worker, 1).await.unwrap().is_empty()
        && store.lease_suspect_run(worker).await.unwrap().is_none()
    {
        assert!(Instant::now() < end, "the run never came back to the queue");
        sleep(LOOK_EVERY).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_stops_gives_its_runs_back_without_a_spent_attempt() {
    let setup = Setup { slots: 1, drain_seconds: 0, ..Setup::default() };
    let mut gate = TestGate::start_with("drain", setup).await;
    let project = gate.project("shop").await;
    let barrier = Barrier::new();
    let task = project.post_contract(&samples::shell(&barrier.script())).await;
    let run = project.post_report(&task, &samples::tiny()).await.expect(202);
    let run = run["run"]["id"].as_str().unwrap().parse().unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", barrier.entered().await));
    gate.stop().await;
    assert!(!process.exists(), "a gate that has stopped leaves no command behind");
    let left = gate.store().run(None, run).await.unwrap();
    assert_eq!((left.state.as_str(), left.attempts), ("queued", 0));
}
