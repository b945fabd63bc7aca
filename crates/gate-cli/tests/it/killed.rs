//! `kill -9` in the middle of a run: nothing is lost, nothing is doubled, nothing is left running.

use serde_json::json;

use crate::served::{Place, entered, held, wait_until};
use crate::stub::{Answer, Stub};

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_was_killed_in_a_run_judges_it_after_its_restart_exactly_once() {
    let receiver = Stub::start(|_| Answer::json(200, &json!({})));
    let (place, script) = (Place::new(), tempfile::tempdir().unwrap());
    let mut gate = place.serve("gate", "all", &[]);
    gate.post("/v1/projects", &json!({ "slug": "shop" })).await;
    let callback = format!("{}/hooks", receiver.url);
    let task = gate.task(&held(script.path()), Some(&callback)).await;
    let run = gate.report(&task).await;
    let first = entered(script.path()).await;
    assert!(first.exists());

    gate.kill();
    wait_until(|| !first.exists()).await;
    let mut gate = place.serve("gate", "all", &[]);
    let second = entered(script.path()).await;
    assert_ne!(first, second);
    std::fs::write(script.path().join("go"), "").unwrap();

    let judged = gate.get(&format!("{run}?wait=60")).await;
    assert_eq!(judged["verdict"]["decision"], "PASS", "{judged:#}");
    assert_eq!(judged["attempts"], 2);
    wait_until(|| !receiver.seen().is_empty()).await;
    let events = gate.get(&format!("/v1/tasks/{task}/events")).await;
    let kinds: Vec<_> =
        events["items"].as_array().unwrap().iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, ["task.registered", "report.accepted", "run.retried", "verdict.decided"]);
    // Brings what is under way to its end.
    assert!(gate.terminate().success());
    let told = receiver.seen();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].json()["data"]["decision"], "PASS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_gate_on_one_data_directory_says_so_and_ends() {
    let place = Place::new();
    let gate = place.serve("gate", "all", &[]);
    assert_eq!(gate.get("/v1/projects").await["items"], json!([]));
    let told = place.try_serve("gate", "all", &[]).err().unwrap();
    assert!(told.contains("error"), "{told}");
    assert_eq!(gate.get("/v1/projects").await["items"], json!([]), "the first one goes on");
}
