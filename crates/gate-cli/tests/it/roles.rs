//! One API process and two workers that meet only in the database, of which one is stopped.

use gate_postgres::testing::TestDatabase;
use serde_json::json;
use tempfile::tempdir;

use crate::served::{Place, entered, held};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_stopped_gives_its_run_to_another_without_a_spent_attempt() {
    let database = TestDatabase::create("roles");
    let place = Place::new();
    let blobs = place.path("blobs");
    let settings = [
        ("DATABASE_URL", database.url()),
        ("DONEGATE_SECRET_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
        ("DONEGATE_BLOBS_URL", blobs.to_str().unwrap()),
        ("DONEGATE_WORKER_SLOTS", "1"),
        ("DONEGATE_WORKER_DRAIN_SECONDS", "0"),
        ("DONEGATE_DATABASE_CONNECTIONS_MAX", "8"),
    ];
    let api = place.serve("api", "api", &settings);
    api.post("/v1/projects", &json!({ "slug": "shop" })).await;
    let mut stopped = place.serve("stopped", "worker", &settings);
    let scripts = [tempdir().unwrap(), tempdir().unwrap()];
    let first = api.task(&held(scripts[0].path()), None).await;
    let first = api.report(&first).await;
    let process = entered(scripts[0].path()).await;

    let mut other = place.serve("other", "worker", &settings);
    let second = api.task(&held(scripts[1].path()), None).await;
    let second = api.report(&second).await;
    entered(scripts[1].path()).await;
    for run in [&first, &second] {
        assert_eq!(api.get(run).await["state"], "running", "each worker has one slot");
    }

    assert!(stopped.terminate().success());
    assert!(!process.exists(), "a worker that has stopped leaves no command behind");
    assert_eq!(api.get(&first).await["state"], "queued");
    std::fs::write(scripts[1].path().join("go"), "").unwrap();
    entered(scripts[0].path()).await;
    std::fs::write(scripts[0].path().join("go"), "").unwrap();
    for run in [&first, &second] {
        let judged = api.get(&format!("{run}?wait=60")).await;
        assert_eq!(judged["verdict"]["decision"], "PASS", "{judged:#}");
        assert_eq!(judged["attempts"], 1);
    }
    assert!(other.terminate().success());
}
