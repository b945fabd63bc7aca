//! The outbox: in order for each task, bounded for each receiver, and never lost.

use std::collections::BTreeSet;
use std::time::Duration;

use gate_core::Decision;
use gate_store::{Delivery, StoreError, TaskKey};

use crate::fixture::{Fixture, body, origin};

fn delivered() -> Delivery {
    Delivery { duration_ms: 3, status: Some(204), error: None, retry_after: None }
}

fn failed(retry_after: Option<Duration>) -> Delivery {
    let error = Some("the receiver answered 500".to_owned());
    Delivery { duration_ms: 3, status: Some(500), error, retry_after }
}

/// A task with two callbacks: of its verdict, and of its end.
async fn two_callbacks(it: &Fixture, project: i64) -> TaskKey {
    let (key, _) = it.queued(project).await;
    let leased = it.lease(1).await;
    it.record(leased, Decision::Fail).await.unwrap();
    it.store.cancel_task(key, "enough", &origin(), body).await.unwrap();
    key
}

#[tokio::test]
async fn a_callback_waits_until_the_one_before_it_was_delivered_or_given_up() {
    let it = Fixture::new("order").await;
    let project = it.project("shop", 1).await;
    for first_ends in [delivered(), failed(None)] {
        let key = two_callbacks(&it, project).await;
        let first = it.store.lease_due_callbacks(32).await.unwrap();
        assert_eq!(first.len(), 1);
        assert!(it.store.lease_due_callbacks(32).await.unwrap().is_empty(), "it is under way");
        it.store.record_delivery(&first[0], &failed(Some(Duration::ZERO))).await.unwrap();
        let again = it.store.lease_due_callbacks(32).await.unwrap();
        assert_eq!((again.len(), again[0].id, again[0].step), (1, first[0].id, 1));
        it.store.record_delivery(&again[0], &first_ends).await.unwrap();
        let second = it.store.lease_due_callbacks(32).await.unwrap();
        assert_eq!((second.len(), second[0].task), (1, key.task));
        assert_ne!(second[0].id, first[0].id);
        it.store.record_delivery(&second[0], &delivered()).await.unwrap();
        assert!(it.store.lease_due_callbacks(32).await.unwrap().is_empty());
        let log = it.store.callbacks(project, key.task).await.unwrap();
        assert_eq!(
            (log[0].kind.as_str(), log[1].kind.as_str()),
            ("verdict.decided", "task.cancelled")
        );
        assert_eq!(log[0].attempts.len(), 2);
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_takes_a_few_places_and_leaves_the_rest_to_others() {
    let it = Fixture::new("per_url").await;
    let project = it.project("shop", 1).await;
    for _ in 0..6 {
        let key = it.task_called_back(project, "http://127.0.0.1:9/hangs").await;
        it.partial(key).await;
    }
    let key = it.task_called_back(project, "http://127.0.0.1:9/answers").await;
    it.partial(key).await;
    let leased = it.store.lease_due_callbacks(32).await.unwrap();
    let hanging = leased.iter().filter(|it| it.url.ends_with("hangs")).count();
    assert_eq!((hanging, leased.len()), (4, 5));
    assert!(it.store.lease_due_callbacks(32).await.unwrap().is_empty());
    for callback in &leased {
        it.store.record_delivery(callback, &delivered()).await.unwrap();
    }
    assert_eq!(it.store.lease_due_callbacks(32).await.unwrap().len(), 2);
}

#[tokio::test]
async fn no_callback_is_leased_twice_at_once() {
    let it = Fixture::new("callback_race").await;
    let project = it.project("shop", 1).await;
    for number in 0..8 {
        let key = it.task_called_back(project, &format!("http://127.0.0.1:9/{number}")).await;
        it.partial(key).await;
    }
    let other = it.another_store().await;
    let (one, two) = tokio::join!(it.store.lease_due_callbacks(32), other.lease_due_callbacks(32));
    let leased: Vec<_> = one.unwrap().into_iter().chain(two.unwrap()).collect();
    let distinct: BTreeSet<_> = leased.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(leased.len(), distinct.len());
    let rest = it.store.lease_due_callbacks(32).await.unwrap();
    assert_eq!(leased.len() + rest.len(), 8);
}

#[tokio::test]
async fn a_delivery_that_took_longer_than_its_lease_is_logged_and_decides_nothing() {
    let it = Fixture::new("slow_delivery").await;
    let project = it.project("shop", 1).await;
    let key = it.task(project).await;
    it.partial(key).await;
    let slow = it.store.lease_due_callbacks(1).await.unwrap().pop().unwrap();
    it.execute("update callback set locked_until = now() - interval '1 second'").await;
    let quick = it.store.lease_due_callbacks(1).await.unwrap().pop().unwrap();
    assert_eq!(quick.id, slow.id);
    let recorded = it.store.record_delivery(&slow, &delivered()).await;
    assert!(matches!(recorded, Err(StoreError::LeaseLost)), "{recorded:?}");
    let log = async || it.store.callbacks(project, key.task).await.unwrap().remove(0);
    assert_eq!((log().await.state.as_str(), log().await.attempts.len()), ("due", 1));
    it.store.record_delivery(&quick, &delivered()).await.unwrap();
    assert_eq!((log().await.state.as_str(), log().await.attempts.len()), ("delivered", 2));
}

#[tokio::test]
async fn a_dead_callback_can_be_delivered_again_from_the_start_of_its_schedule() {
    let it = Fixture::new("redeliver").await;
    let (project, other) = (it.project("shop", 1).await, it.project("other", 1).await);
    let key = it.task(project).await;
    it.partial(key).await;
    let first = it.store.lease_due_callbacks(1).await.unwrap().pop().unwrap();
    it.store.record_delivery(&first, &failed(None)).await.unwrap();
    assert_eq!(it.store.callbacks(project, key.task).await.unwrap()[0].state, "dead");
    let strange = it.store.redeliver(Some(other), first.id).await;
    assert!(matches!(strange, Err(StoreError::NotFound { .. })), "{strange:?}");
    assert_eq!(it.store.redeliver(Some(project), first.id).await.unwrap(), key.task);
    let again = it.store.lease_due_callbacks(1).await.unwrap().pop().unwrap();
    assert_eq!((again.id, again.step, &again.body), (first.id, 0, &first.body));
    it.store.record_delivery(&again, &delivered()).await.unwrap();
    let log = it.store.callbacks(project, key.task).await.unwrap();
    assert_eq!((log[0].state.as_str(), log[0].attempts.len()), ("delivered", 2));
}
