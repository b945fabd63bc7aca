//! `kill -9` in the middle of a run: nothing is lost, nothing is doubled, nothing is left running.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::served::{Place, entered, held, processes_with, readable, wait_until};
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
async fn a_command_that_is_walled_in_does_not_outlive_its_gate_and_is_run_again() {
    let place = Place::new();
    let signals = readable();
    let signals_path = signals.path().display().to_string();
    let settings = [
        ("DONEGATE_SANDBOX_TIER", "auto"),
        ("DONEGATE_SANDBOX_READ_ONLY_PATHS", signals_path.as_str()),
    ];
    let mut gate = match place.try_serve("gate", "all", &settings) {
        Ok(gate) => gate,
        Err(told) if told.contains("no isolation tier") => return lacks_tiers(&told),
        Err(told) => panic!("it did not start: {told}"),
    };
    gate.post("/v1/projects", &json!({ "slug": "shop" })).await;
    let go = signals.path().join("go");
    // The daemon is what goes on elsewhere when a worker is killed.
    let script = format!(
        "setsid sh -c 'sleep 61312; : {go}' &\nuntil test -e {go}; do sleep 0.02; done",
        go = go.display()
    );
    let task = gate.task(&script, None).await;
    let run = gate.report(&task).await;
    let is_running = || processes_with(&signals_path).len() >= 2;
    wait_until(is_running).await;

    gate.kill();
    wait_until(|| processes_with(&signals_path).is_empty()).await;
    let work = place.path("gate").join("work");
    let killed = directories(&work);
    assert!(!killed.is_empty());
    let mut gate = place.serve("gate", "all", &settings);
    assert!(directories(&work).iter().all(|it| !killed.contains(it)), "they are swept");
    wait_until(is_running).await;
    std::fs::write(&go, "").unwrap();

    let judged = gate.get(&format!("{run}?wait=60")).await;
    let verdict = &judged["verdict"];
    assert_eq!(verdict["decision"], "PASS", "{judged:#}");
    assert_eq!((&judged["attempts"], &verdict["round"]), (&json!(2), &json!(1)));
    assert_ne!(verdict["isolation"], "process");
    // The daemon, and what it may have started by then.
    let killed = verdict["executions"][0]["stragglers_killed"].as_u64().unwrap();
    assert!((1..=2).contains(&killed), "{verdict:#}");
    wait_until(|| processes_with(&signals_path).is_empty()).await;
    assert!(gate.terminate().success());
}

/// Where this machine has no tier that hides the host, the test did not run; or it fails where one is required.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn lacks_tiers(told: &str) {
    let required = std::env::var_os("DONEGATE_TEST_REQUIRE_TIERS").unwrap_or_default();
    let required = required.to_string_lossy();
    let is_required = required.split(',').any(|it| ["namespace", "landlock"].contains(&it.trim()));
    assert!(!is_required, "{told}");
    eprintln!("this test did not run: {told}");
}

/// What each process of the gate has for itself.
fn directories(work: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(work).unwrap().flatten().map(|it| it.path());
    all.filter(|it| it.is_dir()).collect()
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
