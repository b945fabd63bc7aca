//! Callbacks that a receiver refuses: kept, logged, delivered again with the same id and body.

use gate_testkit::{TestGate, samples};
use serde_json::json;

use crate::help::wait_until;

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_was_refused_is_delivered_again_with_the_same_id() {
    let gate = TestGate::start("redeliver").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    receiver.answer_next(500);
    let contract = samples::called_back(samples::shell("true"), &receiver.url());
    let task = project.post_contract(&contract).await;
    assert_eq!(project.judge(&task, &samples::tiny()).await["decision"], "PASS");
    wait_until("the callback was refused", || !receiver.refused().is_empty()).await;

    let id = receiver.refused()[0].clone();
    let redeliver = format!("/v1/callbacks/{id}/redeliver");
    project.orchestrator.post(&redeliver, &json!({})).await.expect(202);
    let told = receiver.wait_for(1).await;
    assert_eq!(told[0].id, id);
    project.orchestrator.post(&redeliver, &json!({})).await.expect(202);
    let told = receiver.wait_for(2).await;
    assert_eq!((&told[1].id, &told[1].body), (&id, &told[0].body), "the same bytes each time");

    let log = project.orchestrator.read(&format!("/v1/tasks/{task}/callbacks")).await;
    let attempts = log["items"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts[0]["status"], 500, "{log:#}");
    assert!(attempts[0]["error"].is_string() && attempts[1]["error"].is_null(), "{log:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_two_secrets_are_valid_a_callback_is_signed_with_both() {
    let gate = TestGate::start("rotate").await;
    let project = gate.project("shop").await;
    let path = project.path("callback-secret/rotate");
    let rotated = project.orchestrator.post(&path, &json!({})).await.expect(200);
    let secret = rotated["callback_secret"].as_str().unwrap();
    assert_ne!(secret, project.secret);
    let (old, new) = (project.receiver().await, gate_testkit::Receiver::listen(secret).await);
    for receiver in [&old, &new] {
        let contract = samples::called_back(samples::shell("true"), &receiver.url());
        assert_eq!(project.judge_once(&contract, &samples::tiny()).await["decision"], "PASS");
        assert_eq!(receiver.wait_for(1).await.len(), 1);
    }
}
