//! Inputs that mean harm: each is answered with a problem that says what it is, and never with a fault of the gate.

use gate_testkit::{Answer, Client, TestGate, samples};
use reqwest::Method;
use serde_json::json;

/// A contract with this text in place of its title's, quotes included.
fn contract_titled(title: &str) -> String {
    samples::shell("true").to_string().replace("\"A sample\"", title)
}

/// A report with this text in place of its summary's, quotes included.
fn report_saying(summary: &str) -> String {
    samples::report(&samples::tiny()).to_string().replace("\"It is done.\"", summary)
}

async fn refused(client: &Client, path: &str, body: impl Into<Vec<u8>>) -> (u16, String) {
    let answer = client.post_bytes(path, body).await;
    assert!((400..500).contains(&answer.status), "{answer:?}");
    (answer.status, answer.problem(answer.status))
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_no_database_holds_are_refused_with_their_place() {
    let gate = TestGate::start("hostile_texts").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let (tasks, reports) = (project.path("tasks"), format!("/v1/tasks/{task}/reports"));
    for (path, body, code, pointer) in [
        (&tasks, contract_titled("\"a\\u0000b\""), "contract_invalid", "/title"),
        (&reports, report_saying("\"a\\u0000b\""), "invalid_body", "/summary"),
    ] {
        let answer = project.orchestrator.post_bytes(path, body).await;
        assert_eq!(answer.problem(422), code);
        assert_eq!(answer.pointers(), [pointer]);
    }
    for text in ["\"\\ud800\"", "\"\\udc00\\ud800\"", "NaN", "Infinity", "1e400", "'x'"] {
        refused(&project.orchestrator, &tasks, contract_titled(text)).await;
        refused(&project.orchestrator, &reports, report_saying(text)).await;
    }
    let odd = format!("/v1/tasks?x=%00{task}");
    assert_eq!(project.orchestrator.get(&odd).await.problem(404), "not_found");
    assert_eq!(project.orchestrator.get("/v1/tasks/%00").await.problem(400), "invalid_parameter");
    let slug = project.orchestrator.get("/v1/projects/sh%00op").await;
    assert_eq!(slug.problem(400), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_document_is_refused_before_anybody_reads_sense_into_it() {
    let gate = TestGate::start("hostile_bodies").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let (tasks, reports) = (project.path("tasks"), format!("/v1/tasks/{task}/reports"));
    let malformed = (400, "malformed_body".to_owned());
    for path in [&tasks, &reports] {
        for deep in [5_000, 100_000] {
            let body = "[".repeat(deep) + &"]".repeat(deep);
            assert_eq!(refused(&project.orchestrator, path, body).await, malformed);
            let body = "{\"a\":".repeat(deep) + "1" + &"}".repeat(deep);
            assert_eq!(refused(&project.orchestrator, path, body).await, malformed);
        }
        assert_eq!(refused(&project.orchestrator, path, "").await, malformed);
        assert_eq!(refused(&project.orchestrator, path, b"{\"title\":\"\xff\"}").await, malformed);
        refused(&project.orchestrator, path, "1".repeat(5_000)).await;
        refused(&project.orchestrator, path, "null").await;
    }
    let twice = contract_titled("\"A sample\"").replacen('{', "{\"title\":\"Another\",", 1);
    assert_eq!(refused(&project.orchestrator, &tasks, twice).await, malformed);
    let twice = report_saying("\"x\"").replacen('{', "{\"status\":\"aborted\",", 1);
    assert_eq!(refused(&project.orchestrator, &reports, twice).await, malformed);
    let yaml = "title: &a [1]\ncriteria: *a\nchecks: *a\n".to_owned() + &"x: [*a, *a]\n".repeat(9);
    let request = project.orchestrator.request(Method::POST, &tasks);
    let answer = Answer::of(request.header("content-type", "application/yaml").body(yaml)).await;
    assert!([400, 422].contains(&answer.status), "{answer:?}");
    let _code = answer.problem(answer.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_without_sense_are_refused() {
    let gate = TestGate::start("hostile_limits").await;
    let project = gate.project("shop").await;
    for seconds in ["-1", "0", "1e308", "4.5", "99999999999999999999", "\"300\"", "null"] {
        let body = samples::shell("true").to_string();
        let body =
            body.replacen('{', &format!("{{\"limits\":{{\"command_seconds\":{seconds}}},"), 1);
        let answer = project.orchestrator.post_bytes(&project.path("tasks"), body).await;
        let status = answer.status;
        if seconds == "null" && status == 201 {
            continue;
        }
        assert!([400, 422].contains(&status), "{seconds}: {answer:?}");
        let _code = answer.problem(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_methods_and_media_types_that_there_are_not_are_problems_too() {
    let gate = TestGate::start("hostile_paths").await;
    let project = gate.project("shop").await;
    let client = &project.orchestrator;
    let tasks = project.path("tasks");
    for path in
        ["/", "/v1", "/v1/nothing", "/v1/tasks/", "/v2/projects", "/%ff", "/v1/tasks/a/b/c/d"]
    {
        assert_eq!(client.get(path).await.problem(404), "not_found", "{path}");
    }
    let wrong = Answer::of(client.request(Method::DELETE, &tasks)).await;
    assert_eq!(wrong.problem(405), "method_not_allowed");
    assert!(wrong.header("allow").is_some_and(|it| it.contains("POST")), "{wrong:?}");
    let plain = client.request(Method::POST, &tasks).header("content-type", "text/plain");
    assert_eq!(Answer::of(plain.body("x")).await.problem(415), "unsupported_media_type");
    let none = Answer::of(client.request(Method::POST, &tasks).body("{}")).await;
    assert_eq!(none.problem(415), "unsupported_media_type");
    let unknown = client.get(&format!("{tasks}?stat=done")).await;
    assert_eq!(unknown.problem(400), "invalid_parameter");
    let cursor = client.get(&format!("{tasks}?cursor=!!!")).await;
    assert_eq!(
        (cursor.problem(400), cursor.pointers()),
        ("invalid_parameter".into(), vec!["?cursor".into()])
    );
    let mut contract = samples::shell("true");
    contract["unknown_field"] = json!(1);
    let answer = client.post(&tasks, &contract).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.pointers(), ["/unknown_field"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_above_the_bound_is_refused() {
    let gate = TestGate::start("hostile_size").await;
    let project = gate.project("shop").await;
    let body = format!("{{\"title\":\"{}\"}}", "x".repeat(gate_core::limits::BODY_BYTES_MAX));
    let answer = project.orchestrator.post_bytes(&project.path("tasks"), body).await;
    assert_eq!(answer.problem(413), "payload_too_large");
}
