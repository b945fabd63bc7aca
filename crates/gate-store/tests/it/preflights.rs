//! Runs that prove a contract: no report, no round, and what they saw is there for every later run.

use gate_core::{BaselineTests, Decision, NextStep, TaskState, TestTally, Verdict};
use gate_store::{StoreError, Subject};

use crate::fixture::{Fixture, body, origin, verdict};

fn proven() -> Verdict {
    let baseline_tests = vec![BaselineTests {
        check: "tests".to_owned(),
        tally: TestTally { passed: 30, failed: 2, skipped: 1 },
        failing: vec!["a\0b".to_owned(), "c".to_owned()],
    }];
    let (next_step, task_state) = (NextStep::Start, TaskState::Pending);
    Verdict { next_step, task_state, baseline_tests, ..verdict(Decision::Pass) }
}

#[tokio::test]
async fn a_proven_contract_opens_its_task_and_its_tests_are_known_to_later_runs() {
    let it = Fixture::new("preflight_proven").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.preflight(project).await;
    let refused = it.report(key, None).await.unwrap_err();
    assert!(matches!(refused, StoreError::TaskState { state } if state == "preflight"));

    let leased = it.lease(1).await;
    assert_eq!(leased.lease.run(), run);
    assert_eq!(leased.subject, Subject::Preflight { opens: TaskState::Pending });
    it.store.record_verdict(leased.lease, &proven(), &origin(), body).await.unwrap();
    let task = it.store.task(None, key.task).await.unwrap();
    assert_eq!((task.state, task.rounds, task.reports), (TaskState::Pending, 0, 0));
    assert_eq!((task.preflight, task.last_verdict), (Some(run), None));
    assert_eq!(it.store.run(None, run).await.unwrap().report, None);

    let accepted = it.report(key, None).await.unwrap().into_inner();
    let judging = it.lease(1).await;
    assert_eq!(judging.subject.report(), Some(accepted.report));
    let [tests] = judging.baseline_tests.as_slice() else { panic!("{judging:?}") };
    assert_eq!((tests.check.as_str(), tests.tally.executed()), ("tests", 32));
    assert_eq!(tests.failing, ["a\u{fffd}b", "c"]);
}

#[tokio::test]
async fn a_preflight_whose_worker_dies_is_queued_again_as_what_it_was() {
    let it = Fixture::new("preflight_lost").await;
    let project = it.project("shop", 1).await;
    let (_, run) = it.preflight(project).await;
    // This worker was never registered, so that its run is lost from the start.
    let _leased = it.lease(77).await;
    let lost = it.store.take_over_lost_runs().await.unwrap().pop().unwrap();
    assert_eq!((lost.lease.run(), lost.report), (run, None));
    assert_eq!(lost.opens, Some(TaskState::Pending));
    it.store.return_run(lost.lease).await.unwrap();
    assert!(matches!(it.lease(1).await.subject, Subject::Preflight { .. }));
}

#[tokio::test]
async fn a_task_that_is_cancelled_in_its_preflight_gets_no_verdict() {
    let it = Fixture::new("preflight_cancel").await;
    let project = it.project("shop", 1).await;
    let (key, _) = it.preflight(project).await;
    let leased = it.lease(1).await;
    it.store.cancel_task(key, "not wanted", &origin(), body).await.unwrap();
    let late = it.store.record_verdict(leased.lease, &proven(), &origin(), body).await;
    assert!(matches!(late, Err(StoreError::LeaseLost)));
    assert_eq!(it.store.task(None, key.task).await.unwrap().state, TaskState::Aborted);
}
