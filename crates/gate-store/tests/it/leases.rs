//! The queue: one run has one holder, projects get their shares, and attempts are counted fairly.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use gate_core::Decision;
use gate_store::StoreError;

use crate::fixture::{Fixture, origin};

#[tokio::test]
async fn of_many_workers_that_ask_at_once_one_gets_the_run() {
    let it = Fixture::new("one_lease").await;
    let project = it.project("shop", 1).await;
    let (_, run) = it.queued(project).await;
    let asked = join_all((1..=16).map(|worker| it.store.lease_next_runs(worker, 4))).await;
    let leased: Vec<_> = asked.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(leased.len(), 1);
    assert_eq!((leased[0].lease.run(), leased[0].attempt), (run, 1));
}

#[tokio::test]
async fn many_runs_are_each_leased_once() {
    let it = Fixture::new("each_once").await;
    let project = it.project("shop", 1).await;
    for _ in 0..20 {
        it.queued(project).await;
    }
    let asked = join_all((1..=10).map(|worker| it.store.lease_next_runs(worker, 3))).await;
    let leased: Vec<_> =
        asked.into_iter().flat_map(Result::unwrap).map(|it| it.lease.run()).collect();
    let distinct: BTreeSet<_> = leased.iter().map(ToString::to_string).collect();
    assert_eq!(leased.len(), distinct.len());
    let rest = it.store.lease_next_runs(1, 20).await.unwrap();
    assert_eq!(leased.len() + rest.len(), 20);
}

/// Tags are never earlier than now. From a day ahead they depend on what is queued alone, however slow this machine is.
async fn hold_the_clock(it: &Fixture) {
    it.execute(
        "update project set virtual_time = (extract(epoch from now() + interval '1 day') * 1000000)::bigint",
    )
    .await;
}

#[tokio::test]
async fn a_flood_of_one_project_does_not_push_back_another() {
    let it = Fixture::new("fair").await;
    let (flood, quiet) = (it.project("flood", 1).await, it.project("quiet", 1).await);
    hold_the_clock(&it).await;
    for _ in 0..20 {
        it.queued(flood).await;
    }
    let (_, late) = it.queued(quiet).await;
    let order = it.store.lease_next_runs(1, 21).await.unwrap();
    let place = order.iter().position(|it| it.lease.run() == late).unwrap();
    assert!(place < 2, "the quiet project's run is number {place}");
}

#[tokio::test]
async fn a_project_with_more_weight_gets_more_of_the_workers() {
    let it = Fixture::new("weights").await;
    let (heavy, light) = (it.project("heavy", 10).await, it.project("light", 1).await);
    hold_the_clock(&it).await;
    for _ in 0..10 {
        it.queued(light).await;
        it.queued(heavy).await;
    }
    let order = it.store.lease_next_runs(1, 10).await.unwrap();
    let heavy = order.iter().filter(|it| it.lease.project_id() == heavy).count();
    assert!(heavy >= 9, "{heavy} of the first 10");
}

#[tokio::test]
async fn a_run_that_is_given_back_waits_and_its_attempt_counts() {
    let it = Fixture::new("give_back").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.queued(project).await;
    let leased = it.lease(1).await;
    let delay = Duration::from_secs(3600);
    it.store.give_back_run(leased.lease, delay, "no disk", &origin()).await.unwrap();
    assert!(it.store.lease_next_runs(1, 1).await.unwrap().is_empty());
    assert_eq!(it.store.promote_due_runs().await.unwrap(), 0, "its time has not come");
    it.store.pretend_delays_are_over().await.unwrap();
    assert_eq!(it.store.promote_due_runs().await.unwrap(), 1);
    let again = it.lease(2).await;
    assert_eq!((again.lease.run(), again.attempt), (run, 2));
    let events = it.store.task_events(key.project_id, key.task, 0, 10).await.unwrap();
    assert_eq!(events.last().unwrap().kind, "run.retried");
    assert_eq!(events.last().unwrap().data["reason"], "no disk");
    it.record(again, Decision::Pass).await.unwrap();
    assert_eq!(it.store.run(None, run).await.unwrap().attempts, 2);
}

#[tokio::test]
async fn a_run_that_is_returned_is_as_if_it_had_never_been_leased() {
    let it = Fixture::new("return").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.queued(project).await;
    let leased = it.lease(1).await;
    assert_eq!(it.store.run(None, run).await.unwrap().state, "running");
    it.store.return_run(leased.lease).await.unwrap();
    let seen = it.store.run(None, run).await.unwrap();
    assert_eq!((seen.state.as_str(), seen.attempts), ("queued", 0));
    assert_eq!(it.store.task_events(key.project_id, key.task, 0, 10).await.unwrap().len(), 2);
    assert_eq!(it.lease(2).await.attempt, 1);
}

#[tokio::test]
async fn of_those_who_give_back_a_run_that_was_cancelled_nobody_succeeds() {
    let it = Fixture::new("cancelled").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.queued(project).await;
    let leased = it.lease(1).await;
    it.store.cancel_task(key, "no more", &origin(), |_| "{}".to_owned()).await.unwrap();
    let given = it.store.give_back_run(leased.lease, Duration::ZERO, "x", &origin()).await;
    assert!(matches!(given, Err(StoreError::LeaseLost)), "{given:?}");
    assert_eq!(it.number("select count(*) from gate_queue").await, 0);
    let seen = it.store.run(None, run).await.unwrap();
    assert_eq!((seen.state.as_str(), seen.attempts), ("cancelled", 1));
}
