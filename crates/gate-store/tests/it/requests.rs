//! Requests that race: the same one sent twice, a report against an amendment, two amendments.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use gate_core::{Decision, KeyId, Sha256Digest};
use gate_store::{IdempotencyKey, StoreError};
use uuid::Uuid;

use crate::fixture::Fixture;

fn key(route: &str, body: u8) -> IdempotencyKey {
    IdempotencyKey {
        principal: KeyId::from_uuid(Uuid::from_u128(7)),
        route: route.to_owned(),
        key: "mine".to_owned(),
        body_sha256: Sha256Digest::from_bytes([body; 32]),
    }
}

#[tokio::test]
async fn of_equal_requests_at_once_one_makes_the_thing_and_all_get_it() {
    let it = Fixture::new("same_key").await;
    let project = it.project("shop", 1).await;
    let mine = key("POST tasks", 1);
    let made = join_all((0..16).map(|_| it.register(project, None, Some(&mine)))).await;
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().filter(|it| !it.is_replay()).count(), 1);
    let ids: BTreeSet<_> = made.into_iter().map(|it| it.into_inner().to_string()).collect();
    assert_eq!((ids.len(), it.number("select count(*) from task").await), (1, 1));
    let other = it.register(project, None, Some(&key("POST tasks", 2))).await;
    assert!(matches!(other, Err(StoreError::KeyReused)), "{other:?}");
    assert!(!it.register(project, None, Some(&key("POST more", 2))).await.unwrap().is_replay());
}

#[tokio::test]
async fn of_equal_reports_at_once_one_run_is_queued() {
    let it = Fixture::new("same_report").await;
    let project = it.project("shop", 1).await;
    let task = it.task(project).await;
    let mine = key("POST reports", 1);
    let made = join_all((0..16).map(|_| it.report(task, Some(&mine)))).await;
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().filter(|it| !it.is_replay()).count(), 1);
    let runs: BTreeSet<_> =
        made.into_iter().map(|it| it.into_inner().run.unwrap().to_string()).collect();
    assert_eq!((runs.len(), it.number("select count(*) from gate_queue").await), (1, 1));
}

#[tokio::test]
async fn of_different_reports_at_once_one_is_taken() {
    let it = Fixture::new("one_report").await;
    let project = it.project("shop", 1).await;
    let task = it.task(project).await;
    let made = join_all((0..8).map(|_| it.report(task, None))).await;
    let taken = made.iter().filter(|it| it.is_ok()).count();
    let refused = made.iter().filter(|it| matches!(it, Err(StoreError::TaskState { .. }))).count();
    assert_eq!((taken, refused), (1, 7));
    assert_eq!(it.store.task(None, task.task).await.unwrap().reports, 1);
}

#[tokio::test]
async fn a_report_is_never_judged_by_a_contract_that_it_has_not_seen() {
    let it = Fixture::new("amend_race").await;
    let project = it.project("shop", 1).await;
    for _ in 0..10 {
        let task = it.task(project).await;
        let (amended, reported) = tokio::join!(it.amend(task, 1), it.report(task, None));
        match (amended, reported) {
            (Ok(_), Err(StoreError::Stale { .. })) | (Err(StoreError::Stale { .. }), Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    let unseen = "select count(*) from gate_run r join task t on t.id = r.task_id
                  where r.contract_version <> t.contract_version";
    assert_eq!(it.number(unseen).await, 0);
}

#[tokio::test]
async fn of_two_amendments_of_one_version_one_wins() {
    let it = Fixture::new("two_amendments").await;
    let project = it.project("shop", 1).await;
    let task = it.task(project).await;
    let (one, two) = tokio::join!(it.amend(task, 1), it.amend(task, 1));
    assert!(one.is_ok() != two.is_ok());
    let task = it.store.task(None, task.task).await.unwrap();
    assert_eq!((task.contract_version, task.version), (2, 2));
}

#[tokio::test]
async fn old_keys_are_forgotten_but_never_those_of_reports() {
    let it = Fixture::new("old_keys").await;
    let project = it.project("shop", 1).await;
    let (of_task, of_report) = (key("POST tasks", 1), key("POST reports", 1));
    it.register(project, None, Some(&of_task)).await.unwrap();
    let task = it.task(project).await;
    it.report(task, Some(&of_report)).await.unwrap();
    it.store.remove_the_old().await.unwrap();
    assert!(it.store.made_before(&of_task).await.unwrap().is_some(), "it is not a day old");
    it.execute("update idempotency_key set created_at = now() - interval '25 hours'").await;
    it.store.remove_the_old().await.unwrap();
    assert!(it.store.made_before(&of_task).await.unwrap().is_none());
    assert!(it.store.made_before(&of_report).await.unwrap().is_some());
    let leased = it.lease(1).await;
    it.record(leased, Decision::Pass).await.unwrap();
    let late = it.report(task, Some(&of_report)).await.unwrap();
    assert!(late.is_replay(), "a report that is repeated after its task was closed is answered");
}
