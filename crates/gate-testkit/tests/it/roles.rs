//! Who may do what: tenants do not see each other, and each role has its bounds.

use gate_testkit::{Answer, Client, TestGate, samples};
use reqwest::Method;
use serde_json::json;

async fn delete(client: &Client, path: &str) -> Answer {
    Answer::of(client.request(Method::DELETE, path)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_project_finds_nothing_anywhere() {
    let gate = TestGate::start("tenants").await;
    let (ours, theirs) = (gate.project("ours").await, gate.project("theirs").await);
    let receiver = ours.receiver().await;
    let contract = samples::called_back(samples::shell("true"), &receiver.url());
    let task = ours.post_contract(&contract).await;
    let verdict = ours.judge(&task, &samples::tiny()).await;
    let run = verdict["run_id"].as_str().unwrap();
    let callback = receiver.wait_for(1).await[0].id.clone();

    let stranger = &theirs.orchestrator;
    for path in [
        format!("/v1/tasks/{task}"),
        format!("/v1/tasks/{task}/contract"),
        format!("/v1/tasks/{task}/runs"),
        format!("/v1/tasks/{task}/events"),
        format!("/v1/tasks/{task}/callbacks"),
        format!("/v1/runs/{run}"),
        format!("/v1/runs/{run}/verdict"),
        format!("/v1/runs/{run}/executions/0/log"),
        ours.path("tasks"),
        "/v1/projects/ours".to_owned(),
    ] {
        assert_eq!(stranger.get(&path).await.problem(404), "not_found", "{path}");
        assert_eq!(ours.orchestrator.get(&path).await.status, 200, "{path}");
    }
    for (path, body) in [
        (format!("/v1/tasks/{task}/reports"), samples::report(&samples::tiny())),
        (format!("/v1/tasks/{task}/contracts?reason=x"), contract.clone()),
        (format!("/v1/tasks/{task}/cancel"), json!({ "reason": "x" })),
        (format!("/v1/callbacks/{callback}/redeliver"), json!({})),
        (ours.path("tasks"), contract.clone()),
        (ours.path("callback-secret/rotate"), json!({})),
    ] {
        assert_eq!(stranger.post(&path, &body).await.problem(404), "not_found", "{path}");
    }
    let listed = stranger.read("/v1/projects").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let theirs_admin = theirs.key(&["admin"]).await;
    assert_eq!(theirs_admin.get(&ours.path("keys")).await.problem(404), "not_found");
    let made = theirs_admin.post("/v1/projects", &json!({ "slug": "third" })).await;
    assert_eq!(made.problem(403), "forbidden", "an admin of one project is not one of the gate");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_belongs_to_the_project_that_uploaded_it() {
    let gate = TestGate::start("tenant_archives").await;
    let (ours, theirs) = (gate.project("ours").await, gate.project("theirs").await);
    let (path, source) = samples::archive(b"an archive of ours");
    ours.orchestrator.put_bytes(&path, *b"an archive of ours").await.expect(201);
    let task = theirs.post_contract(&samples::shell("true")).await;
    let refused = theirs.post_report(&task, &source).await;
    assert_eq!(refused.problem(422), "report_invalid");
    let named = format!("{path}?project=ours");
    let refused = theirs.orchestrator.put_bytes(&named, *b"an archive of ours").await;
    assert_eq!(refused.problem(404), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_is_refused_what_is_not_its_own() {
    let gate = TestGate::start("roles").await;
    let project = gate.project("shop").await;
    let task = project.post_contract(&samples::shell("true")).await;
    let contract = samples::shell("true");
    let requests = [
        ("plan", project.path("tasks"), contract.clone()),
        ("plan", format!("/v1/tasks/{task}/contracts?reason=x"), contract),
        ("report", format!("/v1/tasks/{task}/reports"), json!({})),
        ("cancel", format!("/v1/tasks/{task}/cancel"), json!({ "reason": "x" })),
        ("callbacks", project.path("callback-secret/rotate"), json!({})),
        ("keys", project.path("keys"), json!({ "name": "x", "roles": ["reporter"] })),
        ("gate", "/v1/projects".to_owned(), json!({ "slug": "x" })),
    ];
    for (role, allowed) in [
        ("planner", &["plan", "cancel"][..]),
        ("reporter", &["report"]),
        ("reviewer", &[]),
        ("orchestrator", &["plan", "report", "cancel", "callbacks"]),
        ("admin", &["plan", "report", "cancel", "callbacks", "keys"]),
    ] {
        let client = project.key(&[role]).await;
        assert_eq!(client.get(&format!("/v1/tasks/{task}")).await.status, 200, "all roles read");
        for (what, path, body) in &requests {
            if !allowed.contains(what) {
                let answer = client.post(path, body).await;
                assert_eq!(answer.problem(403), "forbidden", "{role} {what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_missing_wrong_revoked_or_expired_opens_nothing() {
    let gate = TestGate::start("keys").await;
    let project = gate.project("shop").await;
    let admin = project.key(&["admin"]).await;
    let path = project.path("tasks");
    let other = gate_server::ApiKeySecret::generate();
    for key in [None, Some(""), Some("dg_short"), Some("x y"), Some(other.expose())] {
        let answer = admin.with_key(key).get(&path).await;
        assert_eq!(answer.problem(401), "unauthenticated", "{key:?}");
        assert!(answer.header("www-authenticate").is_some());
    }
    let body = json!({ "name": "coder", "roles": ["reporter"] });
    let made = admin.post(&project.path("keys"), &body).await.expect(201);
    let coder = admin.with_key(made["secret"].as_str());
    assert_eq!(coder.get(&path).await.status, 200);
    let key = project.path(&format!("keys/{}", made["key"]["id"].as_str().unwrap()));
    assert!(delete(&admin, &key).await.expect(200)["revoked_at"].is_string());
    assert_eq!(coder.get(&path).await.problem(401), "unauthenticated");
    assert_eq!(delete(&admin, &key).await.status, 200, "once more changes nothing");

    let body =
        json!({ "name": "old", "roles": ["reporter"], "expires_at": "2020-01-01T00:00:00Z" });
    let old = admin.post(&project.path("keys"), &body).await;
    if old.status == 201 {
        let old = admin.with_key(old.json()["secret"].as_str());
        assert_eq!(old.get(&path).await.problem(401), "unauthenticated");
    } else {
        assert_eq!(old.pointers(), ["/expires_at"]);
    }
    let listed = admin.get(&project.path("keys")).await;
    let secret = made["secret"].as_str().unwrap();
    assert!(!listed.expect(200).to_string().contains(secret), "no list shows a secret");
}
