//! Waiting for a verdict: at the report, at the task, at the run; and not reading twice what has not changed.

use std::time::{Duration, Instant};

use gate_testkit::{Answer, TestGate, samples};
use reqwest::Method;
use serde_json::json;

use crate::help::Barrier;

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_accepted_at_once_and_the_run_can_be_waited_for() {
    let gate = TestGate::start("wait_run").await;
    let project = gate.project("shop").await;
    let barrier = Barrier::new();
    let task = project.post_contract(&samples::shell(&barrier.script())).await;
    let accepted = project.post_report(&task, &samples::tiny()).await;
    let body = accepted.expect(202);
    let location = accepted.header("location").unwrap().to_owned();
    assert_eq!(location, format!("/v1/runs/{}", body["run"]["id"].as_str().unwrap()));
    assert!(accepted.header("retry-after").is_some());
    assert_eq!((&body["next_step"], &body["task_state"]), (&json!(null), &json!("gating")));

    barrier.entered().await;
    let started = Instant::now();
    let short = project.orchestrator.read(&format!("{location}?wait=1")).await;
    assert_eq!((&short["state"], &short["verdict"]), (&json!("running"), &json!(null)));
    assert!(started.elapsed() >= Duration::from_millis(900));

    let path = format!("{location}?wait=60");
    let task_path = format!("/v1/tasks/{task}?wait=60");
    let (run, task, ()) = tokio::join!(
        project.orchestrator.read(&path),
        project.orchestrator.read(&task_path),
        async { barrier.let_go() }
    );
    assert_eq!((&run["state"], &run["verdict"]["decision"]), (&json!("judged"), &json!("PASS")));
    assert_eq!(
        (&task["state"], &task["last_verdict"]["decision"]),
        (&json!("done"), &json!("PASS"))
    );
    assert!(started.elapsed() < Duration::from_secs(30), "a long poll ends with the event");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_prefers_to_wait_gets_the_verdict_and_is_told_so() {
    let gate = TestGate::start("prefer").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let path = format!("/v1/tasks/{task}/reports");
    let report = samples::report(&samples::tiny());
    let prefer = [("prefer", "respond-async, wait=50")];
    let answer = project.orchestrator.post_with(&path, &prefer, &report).await;
    let body = answer.expect(200);
    assert_eq!(answer.header("preference-applied"), Some("wait=50"));
    assert_eq!(body["run"]["verdict"]["decision"], "PASS");
    assert_eq!((&body["next_step"], &body["task_state"]), (&json!("complete"), &json!("done")));
    let refused = project.orchestrator.get(&format!("/v1/tasks/{task}?wait=61")).await;
    assert_eq!(refused.problem(400), "invalid_parameter");
    assert_eq!(refused.pointers(), ["?wait"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_has_not_changed_is_not_sent_again() {
    let gate = TestGate::start("etag").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let path = format!("/v1/tasks/{task}");
    let first = project.orchestrator.get(&path).await;
    let etag = first.header("etag").unwrap().to_owned();
    let conditional = |wait: &str, etag: &str| {
        let request = project.orchestrator.request(Method::GET, &format!("{path}{wait}"));
        Answer::of(request.header("if-none-match", etag))
    };
    let same = conditional("", &etag).await;
    assert_eq!((same.status, same.body.len()), (304, 0));
    assert_eq!(same.header("etag"), Some(etag.as_str()));
    let workspace = samples::tiny();
    let (changed, verdict) =
        tokio::join!(conditional("?wait=60", &etag), project.judge(&task, &workspace));
    assert_eq!(verdict["decision"], "PASS");
    assert_eq!(
        changed.expect(200)["state"],
        "done",
        "the wait ends when the task has settled anew"
    );
    assert_ne!(changed.header("etag"), Some(etag.as_str()));
}
