//! A request that is sent again is answered with what became of the first.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use gate_testkit::{TestGate, samples};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_equal_reports_at_once_make_one_run() {
    let gate = TestGate::start("idempotent").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let contract = samples::called_back(samples::shell("true"), &receiver.url());
    let task = project.post_contract(&contract).await;
    let path = format!("/v1/tasks/{task}/reports");
    let report = samples::report(&samples::tiny());
    let headers = [("idempotency-key", "round-1")];
    let answers =
        join_all((0..64).map(|_| project.orchestrator.post_with(&path, &headers, &report))).await;
    let mut runs = BTreeSet::new();
    let mut first_ones = 0;
    for answer in &answers {
        assert!([200, 202].contains(&answer.status), "{answer:?}");
        runs.insert(answer.json()["run"]["id"].as_str().unwrap().to_owned());
        first_ones += usize::from(answer.header("idempotency-replayed").is_none());
    }
    assert_eq!((runs.len(), first_ones), (1, 1));

    assert_eq!(project.last_run(&task).await["verdict"]["decision"], "PASS");
    let late = project.orchestrator.post_with(&path, &headers, &report).await;
    assert_eq!(late.header("idempotency-replayed"), Some("true"));
    let late = late.expect(200);
    assert_eq!(late["run"]["id"].as_str(), runs.first().map(String::as_str));
    assert_eq!((&late["task_state"], &late["next_step"]), (&json!("done"), &json!("complete")));

    let other = samples::report(&samples::files(&[("other.txt", "x")]));
    let reused = project.orchestrator.post_with(&path, &headers, &other).await;
    assert_eq!(reused.problem(422), "idempotency_key_reused");
    assert_eq!(receiver.wait_for(1).await.len(), 1);
    assert_eq!(
        project.event_kinds(&task).await.iter().filter(|it| *it == "report.accepted").count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_is_posted_again_makes_one_task() {
    let gate = TestGate::start("idempotent_task").await;
    let project = gate.project("shop").await;
    let headers = [("idempotency-key", "\"plan-7\"")];
    let (path, contract) = (project.path("tasks"), samples::shell("true"));
    let post = || project.orchestrator.post_with(&path, &headers, &contract);
    let answers = join_all((0..8).map(|_| post())).await;
    let ids: BTreeSet<_> = answers.iter().map(|it| it.expect(201)["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    let others = project.key(&["planner"]).await;
    let other = others.post_with(&path, &headers, &contract).await;
    assert_eq!(other.header("idempotency-replayed"), None, "a name belongs to its key");
    assert_ne!(Some(&other.expect(201)["id"].to_string()), ids.first());
    let odd = project.orchestrator.post_with(&path, &[("idempotency-key", "")], &contract).await;
    assert_eq!(odd.problem(400), "invalid_parameter");
}
