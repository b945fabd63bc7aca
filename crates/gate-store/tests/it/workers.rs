//! Workers: what proves that one is gone, and what a heartbeat tells.

use gate_core::Decision;
use serde_json::json;

use crate::fixture::{Fixture, origin};

#[tokio::test]
async fn a_run_is_not_taken_from_a_worker_that_lives() {
    let it = Fixture::new("alive").await;
    let project = it.project("shop", 1).await;
    it.queued(project).await;
    let mut worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    let leased = it.lease(worker.id()).await;
    assert!(it.store.take_over_lost_runs().await.unwrap().is_empty());
    // Late, and still holding its lock: it is busy, not gone.
    it.execute("update worker set last_seen_at = now() - interval '15 seconds'").await;
    assert!(it.another_store().await.take_over_lost_runs().await.unwrap().is_empty());
    let held = worker.heartbeat(&[leased.lease.token()]).await.unwrap().unwrap();
    assert_eq!((held.len(), held[0].run), (1, leased.lease.run()));
    it.record(leased, Decision::Pass).await.unwrap();
    worker.deregister().await.unwrap();
    assert_eq!(it.number("select count(*) from worker").await, 0);
}

#[tokio::test]
async fn what_living_workers_can_do_is_told_to_every_process() {
    let it = Fixture::new("status").await;
    let isolation = json!({ "tier": "namespace" });
    let silent = it.store.register_worker("silent", 1, &json!({})).await.unwrap();
    let worker = it.store.register_worker("here", 1, &isolation).await.unwrap();
    it.store.pretend_silence(silent.id()).await.unwrap();
    let seen = it.another_store().await.living_workers().await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].node.as_str(), &seen[0].isolation), ("here", &Some(isolation)));
    worker.deregister().await.unwrap();
    assert!(it.store.living_workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_worker_whose_lock_is_free_is_gone_after_a_moment() {
    let it = Fixture::new("free_lock").await;
    let project = it.project("shop", 1).await;
    let (_, run) = it.queued(project).await;
    let worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    let id = worker.id();
    let _lost = it.lease(id).await;
    drop(worker);
    // It had no time yet to connect again.
    assert!(it.store.take_over_lost_runs().await.unwrap().is_empty());
    it.execute("update worker set last_seen_at = now() - interval '6 seconds'").await;
    let look = async || it.store.take_over_lost_runs().await.unwrap().pop();
    let lost = it.eventually("the lock is free", look).await;
    assert_eq!((lost.lease.run(), lost.worker, lost.crashes), (run, Some(id), 1));
    assert!(it.store.take_over_lost_runs().await.unwrap().is_empty(), "it is taken over once");
}

#[tokio::test]
async fn a_worker_that_is_silent_for_long_is_gone_though_it_holds_its_lock() {
    let it = Fixture::new("silent").await;
    let project = it.project("shop", 1).await;
    let (_, run) = it.queued(project).await;
    let mut worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    let leased = it.lease(worker.id()).await;
    it.store.pretend_silence(worker.id()).await.unwrap();
    let lost = it.store.take_over_lost_runs().await.unwrap();
    assert_eq!((lost.len(), lost[0].lease.run()), (1, run));
    let known = [leased.lease.token()];
    let held = worker.heartbeat(&known).await.unwrap().unwrap();
    assert!(held.is_empty(), "it hears that the run is somebody else's");
}

#[tokio::test]
async fn two_sweepers_at_once_take_over_a_run_once() {
    let it = Fixture::new("sweepers").await;
    let project = it.project("shop", 1).await;
    for _ in 0..5 {
        it.queued(project).await;
    }
    let _lost = it.store.lease_next_runs(77, 5).await.unwrap();
    let other = it.another_store().await;
    let (one, two) = tokio::join!(it.store.take_over_lost_runs(), other.take_over_lost_runs());
    let taken = one.unwrap().len() + two.unwrap().len();
    let rest = it.store.take_over_lost_runs().await.unwrap().len();
    assert_eq!(
        (taken + rest, it.number("select max(attempt)::bigint from gate_queue").await),
        (5, 1)
    );
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_returned_by_the_heartbeat() {
    let it = Fixture::new("unknown_lease").await;
    let project = it.project("shop", 1).await;
    it.queued(project).await;
    let (_, known_run) = it.queued(project).await;
    let mut worker = it.store.register_worker("here", 2, &json!({})).await.unwrap();
    let _never_arrived = it.lease(worker.id()).await;
    let known = it.lease(worker.id()).await;
    assert_eq!(known.lease.run(), known_run);
    let tokens = [known.lease.token()];
    assert_eq!(worker.heartbeat(&tokens).await.unwrap().unwrap().len(), 2, "it may be on its way");
    it.execute("update gate_queue set leased_at = now() - interval '11 seconds'").await;
    let held = worker.heartbeat(&tokens).await.unwrap().unwrap();
    assert_eq!((held.len(), held[0].run), (1, known_run));
    assert_eq!(it.lease(worker.id()).await.attempt, 2, "it stays counted, so that nothing loops");
}

#[tokio::test]
async fn a_cancelled_run_is_missing_from_the_next_heartbeat() {
    let it = Fixture::new("cancelled_beat").await;
    let project = it.project("shop", 1).await;
    let (key, _) = it.queued(project).await;
    let mut worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    let leased = it.lease(worker.id()).await;
    it.store.cancel_task(key, "no", &origin(), |_| "{}".to_owned()).await.unwrap();
    let held = worker.heartbeat(&[leased.lease.token()]).await.unwrap().unwrap();
    assert!(held.is_empty());
}

#[tokio::test]
async fn a_worker_that_was_taken_off_the_list_is_told_so() {
    let it = Fixture::new("off_the_list").await;
    let mut worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    it.store.pretend_silence(worker.id()).await.unwrap();
    it.store.remove_the_old().await.unwrap();
    assert_eq!(worker.heartbeat(&[]).await.unwrap(), None);
}

#[tokio::test]
async fn a_worker_that_lost_its_connection_goes_on_under_its_name() {
    let it = Fixture::new("reconnect").await;
    let project = it.project("shop", 1).await;
    it.queued(project).await;
    let mut worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
    let leased = it.lease(worker.id()).await;
    it.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'donegate-worker' and datname = current_database()",
    )
    .await;
    let tokens = [leased.lease.token()];
    worker.heartbeat(&tokens).await.unwrap_err();
    worker.reconnect(&it.store).await.unwrap();
    assert_eq!(worker.heartbeat(&tokens).await.unwrap().unwrap().len(), 1);
    assert!(it.store.take_over_lost_runs().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_two_workers_died_with_is_leased_alone_and_before_all_others() {
    let it = Fixture::new("suspect").await;
    let project = it.project("shop", 1).await;
    let (_, suspect) = it.queued(project).await;
    for _ in 0..2 {
        let worker = it.store.register_worker("here", 1, &json!({})).await.unwrap();
        assert_eq!(it.lease(worker.id()).await.lease.run(), suspect);
        it.store.pretend_silence(worker.id()).await.unwrap();
        let lost = it.store.take_over_lost_runs().await.unwrap().pop().unwrap();
        let no_delay = std::time::Duration::ZERO;
        it.store.give_back_run(lost.lease, no_delay, "lost", &origin()).await.unwrap();
    }
    let (_, innocent) = it.queued(project).await;
    let worker = it.store.register_worker("here", 2, &json!({})).await.unwrap();
    let next = async || it.store.lease_next_runs(worker.id(), 2).await.unwrap();
    assert!(next().await.is_empty(), "a worker that has other runs runs dry first");
    let alone = it.store.lease_suspect_run(worker.id()).await.unwrap().unwrap();
    assert_eq!((alone.lease.run(), alone.attempt), (suspect, 3));
    assert!(it.store.lease_suspect_run(worker.id()).await.unwrap().is_none());
    assert_eq!(next().await[0].lease.run(), innocent, "other workers go on meanwhile");
}
