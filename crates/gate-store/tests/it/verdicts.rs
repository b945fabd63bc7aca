//! A verdict is recorded once, by whoever holds the lease, with all that belongs to it or not at all.

use futures_util::future::join_all;
use gate_core::limits::{ANSWER_CHANGES_MAX, CHANGES_MAX};
use gate_core::testing::{execution, isolation};
use gate_core::{
    ChangeKind, Decision, FailedTest, Finding, Isolation, IsolationTier, MemoryBound, Outcome,
    RunLimits, SetupUse, TaskState, TestPhase, TreeChange, TreePath, Verdict, WorkspaceKind,
};
use gate_store::{StoreError, StoredTest, StoredVerdict};

use crate::fixture::{Fixture, body, origin, verdict};

#[tokio::test]
async fn a_verdict_closes_run_and_task_and_writes_event_and_callback() {
    let it = Fixture::new("verdict").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.queued(project).await;
    let leased = it.lease(1).await;
    it.record(leased, Decision::Fail).await.unwrap();
    let task = it.store.task(None, key.task).await.unwrap();
    assert_eq!((task.state, task.rounds, task.current_run), (TaskState::Rework, 1, None));
    let stored = it.store.verdict(project, run).await.unwrap().unwrap();
    assert_eq!((stored.decision.as_str(), stored.findings.len()), ("FAIL", 1));
    let callbacks = it.store.callbacks(project, key.task).await.unwrap();
    assert_eq!((callbacks.len(), callbacks[0].kind.as_str()), (1, "verdict.decided"));
    let events = it.store.task_events(project, key.task, 0, 10).await.unwrap();
    assert_eq!(events.last().unwrap().kind, "verdict.decided");
    assert_eq!(it.number("select count(*) from gate_queue").await, 0);
}

/// What comes back of a verdict with these parts.
async fn read_back(it: &Fixture, project: i64, verdict: &Verdict) -> StoredVerdict {
    let (_, run) = it.queued(project).await;
    let leased = it.lease(1).await;
    it.store.record_verdict(leased.lease, verdict, &origin(), body).await.unwrap();
    it.store.verdict(project, run).await.unwrap().unwrap()
}

#[tokio::test]
async fn how_the_commands_were_walled_in_is_read_back_as_it_was_recorded() {
    let it = Fixture::new("isolation").await;
    let project = it.project("shop", 1).await;
    let stored = read_back(&it, project, &verdict(Decision::Inconclusive)).await;
    assert_eq!((stored.isolation, stored.isolation_detail), (None, None), "nothing ran");
    let full = Isolation {
        tier: IsolationTier::Namespace,
        kernel_uid: u32::MAX - 1,
        landlock_abi: Some(7),
        loopback: false,
        memory_bound: MemoryBound::CgroupV2,
        workspace: WorkspaceKind::Overlay,
        setup: SetupUse::Cached,
        limits: RunLimits {
            command_seconds: 1,
            run_seconds: 2,
            cpu_seconds: 3,
            memory_mb: 16,
            processes: 8,
            open_files: 64,
            disk_mb: 4,
            output_bytes: 5000,
        },
        known_gaps: vec!["a gap, with a NUL: \u{fffd}".to_owned(), "another".to_owned()],
    };
    for recorded in [isolation(), full] {
        let mut pass = verdict(Decision::Pass);
        pass.isolation = Some(recorded.clone());
        let stored = read_back(&it, project, &pass).await;
        assert_eq!(stored.isolation.as_deref(), Some(recorded.tier.as_str()));
        assert_eq!(stored.isolation_detail, Some(recorded));
    }
    let changed = sqlx::raw_sql("update verdict_isolation set tier = 'container'");
    let refused = changed.execute(&it.pool).await.unwrap_err().into_database_error().unwrap();
    assert!(refused.message().ends_with("is append-only"), "{refused}");
}

#[tokio::test]
async fn a_failing_test_and_both_texts_are_read_back_as_they_were_recorded() {
    let it = Fixture::new("texts").await;
    let project = it.project("shop", 1).await;
    let mut fail = verdict(Decision::Fail);
    let test = FailedTest {
        name: "a > b".to_owned(),
        phase: TestPhase::Setup,
        expected: Some("1".to_owned()),
        actual: None,
    };
    fail.findings.push(Finding { test: Some(test), ..fail.findings[0].clone() });
    let stored = read_back(&it, project, &fail).await;
    assert_eq!((&*stored.feedback, &*stored.execution_report), ("Mend it.", "It ran."));
    assert_eq!(stored.findings[0].test, None);
    let test = StoredTest {
        name: "a > b".to_owned(),
        phase: "setup".to_owned(),
        expected: Some("1".to_owned()),
        actual: None,
    };
    assert_eq!(stored.findings[1].test, Some(test));
}

#[tokio::test]
async fn changes_are_read_back_in_their_order_and_beyond_a_bound_they_are_counted() {
    let it = Fixture::new("changes").await;
    let project = it.project("shop", 1).await;
    let stored = read_back(&it, project, &verdict(Decision::Pass)).await;
    assert_eq!((stored.changes.len(), stored.changes_left_out), (0, 0));
    let kinds = [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted];
    let changes = (0..CHANGES_MAX).zip(kinds.into_iter().cycle()).map(|(number, kind)| {
        // In the order of bytes, which is not the database's.
        let path = TreePath::parse(format!("{number:05}/é \u{1} Z.rs")).unwrap();
        TreeChange { path, kind }
    });
    let mut pass = verdict(Decision::Pass);
    (pass.changes, pass.changes_left_out) = (changes.collect(), 7);
    let stored = read_back(&it, project, &pass).await;
    let left_out = (CHANGES_MAX - ANSWER_CHANGES_MAX) as u64 + 7;
    assert_eq!((stored.changes.len(), stored.changes_left_out), (ANSWER_CHANGES_MAX, left_out));
    for (stored, recorded) in stored.changes.iter().zip(&pass.changes) {
        assert_eq!(stored.path, recorded.path.as_str());
        assert_eq!(stored.kind, recorded.kind.as_str());
    }
    assert_eq!(
        it.number("select count(*) from tree_change").await,
        i64::try_from(CHANGES_MAX).unwrap()
    );
    let changed = sqlx::raw_sql("delete from tree_change").execute(&it.pool).await;
    let refused = changed.unwrap_err().into_database_error().unwrap();
    assert!(refused.message().ends_with("is append-only"), "{refused}");
}

#[tokio::test]
async fn every_way_to_end_is_read_back_as_it_was_recorded() {
    let it = Fixture::new("outcomes").await;
    let project = it.project("shop", 1).await;
    let ends = [
        Outcome::Exited { code: 101 },
        Outcome::Killed { signal: 11 },
        Outcome::TimedOut { limit_ms: 1 },
        Outcome::OutputLimitExceeded { limit_bytes: 2 },
        Outcome::CpuLimitExceeded { limit_ms: 3 },
        Outcome::OutOfMemory { limit_bytes: 4 },
        Outcome::DiskLimitExceeded { limit_bytes: 5 },
        Outcome::NotFound,
        Outcome::NotExecutable { errno: 13 },
        Outcome::NotRun,
    ];
    let mut fail = verdict(Decision::Fail);
    fail.executions = ends.map(|it| execution(it, None)).into();
    fail.executions[0].process_limit_hit = true;
    let stored = read_back(&it, project, &fail).await;
    let read: Vec<_> = stored.executions.iter().map(|it| it.outcome).collect();
    assert_eq!(read, ends);
    let hit: Vec<_> = stored.executions.iter().map(|it| it.process_limit_hit).collect();
    assert_eq!(hit.iter().filter(|it| **it).count(), 1);
    assert!(hit[0]);
}

#[tokio::test]
async fn only_a_fail_costs_a_round() {
    let it = Fixture::new("rounds").await;
    let project = it.project("shop", 1).await;
    for (decision, rounds) in
        [(Decision::Pass, 0), (Decision::Fail, 1), (Decision::Inconclusive, 0)]
    {
        let (key, _) = it.queued(project).await;
        let leased = it.lease(1).await;
        it.record(leased, decision).await.unwrap();
        assert_eq!(it.store.task(None, key.task).await.unwrap().rounds, rounds, "{decision:?}");
    }
}

#[tokio::test]
async fn a_late_verdict_of_a_run_that_was_taken_over_writes_nothing() {
    let it = Fixture::new("late").await;
    let project = it.project("shop", 1).await;
    let (key, run) = it.queued(project).await;
    // This worker was never registered, so that its run is lost from the start.
    let late = it.lease(77).await;
    let mut lost = it.store.take_over_lost_runs().await.unwrap();
    let lost = lost.pop().unwrap();
    assert_eq!((lost.lease.run(), lost.crashes, lost.worker), (run, 1, Some(77)));
    let before = it.number("select event_sequence from project").await;
    let recorded = it.record(late, Decision::Fail).await;
    assert!(matches!(recorded, Err(StoreError::LeaseLost)), "{recorded:?}");
    assert_eq!(it.number("select event_sequence from project").await, before);
    assert_eq!(it.number("select count(*) from verdict").await, 0);
    assert_eq!(it.number("select count(*) from callback").await, 0);
    assert_eq!(it.store.task(None, key.task).await.unwrap().state, TaskState::Gating);
    let pass = verdict(Decision::Pass);
    it.store.record_verdict(lost.lease, &pass, &origin(), body).await.unwrap();
    assert_eq!(it.store.task(None, key.task).await.unwrap().state, TaskState::Done);
}

#[tokio::test]
async fn of_two_verdicts_that_race_with_a_cancel_at_most_one_story_is_told() {
    let it = Fixture::new("race").await;
    let project = it.project("shop", 1).await;
    for _ in 0..10 {
        let (key, run) = it.queued(project).await;
        let leased = it.lease(1).await;
        let by = origin();
        let (recorded, cancelled) = tokio::join!(
            it.record(leased, Decision::Pass),
            it.store.cancel_task(key, "no", &by, body)
        );
        let state = it.store.run(None, run).await.unwrap().state;
        let task = it.store.task(None, key.task).await.unwrap();
        let callbacks = it.store.callbacks(project, key.task).await.unwrap().len();
        match (recorded, cancelled) {
            (Ok(()), Err(StoreError::TaskState { .. })) => {
                assert_eq!((state.as_str(), task.state, callbacks), ("judged", TaskState::Done, 1));
            }
            (Err(StoreError::LeaseLost), Ok(())) => {
                assert_eq!((state.as_str(), task.state), ("cancelled", TaskState::Aborted));
                assert!(it.store.verdict(project, run).await.unwrap().is_none());
                assert_eq!(callbacks, 1);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_verdict_of_which_a_part_cannot_be_written_is_not_written_at_all() {
    let it = Fixture::new("atomic").await;
    let project = it.project("shop", 1).await;
    it.execute(
        "create function fail() returns trigger language plpgsql as
         $$ begin raise exception 'the disk is full'; end $$",
    )
    .await;
    let (key, run) = it.queued(project).await;
    for (break_it, mend_it) in [
        (
            "create trigger t before insert on finding for each row execute function fail()",
            "drop trigger t on finding",
        ),
        (
            "create trigger t before insert on event for each row execute function fail()",
            "drop trigger t on event",
        ),
        (
            "create trigger t before insert on callback for each row execute function fail()",
            "drop trigger t on callback",
        ),
        (
            "create trigger t before update on task for each row execute function fail()",
            "drop trigger t on task",
        ),
    ] {
        let leased = it.lease(77).await;
        it.execute(break_it).await;
        let recorded = it.record(leased, Decision::Fail).await;
        assert!(matches!(recorded, Err(StoreError::Database(_))), "{break_it}: {recorded:?}");
        it.execute(mend_it).await;
        for table in [
            "select count(*) from verdict",
            "select count(*) from finding",
            "select count(*) from callback",
            "select count(*) from event where kind = 'verdict.decided'",
            "select count(*) from gate_run where state <> 'queued'",
            "select (1 - count(*)) from gate_queue where state = 'running'",
        ] {
            assert_eq!(it.number(table).await, 0, "{break_it}: {table}");
        }
        let task = it.store.task(None, key.task).await.unwrap();
        assert_eq!((task.state, task.rounds), (TaskState::Gating, 0));
        for lost in it.store.take_over_lost_runs().await.unwrap() {
            it.store.return_run(lost.lease).await.unwrap();
        }
    }
    let leased = it.lease(1).await;
    it.record(leased, Decision::Fail).await.unwrap();
    assert!(it.store.verdict(project, run).await.unwrap().is_some());
}

#[tokio::test]
async fn the_numbers_of_events_have_no_gap_at_any_moment() {
    let it = Fixture::new("gapless").await;
    let project = it.project("shop", 1).await;
    let work = join_all((0..30).map(async |_| {
        let key = it.task(project).await;
        it.report(key, None).await.unwrap();
        let Some(leased) = it.store.lease_next_runs(1, 1).await.unwrap().pop() else { return };
        it.record(leased, Decision::Pass).await.unwrap();
    }));
    let look = async {
        let mut looks = 0;
        loop {
            // One snapshot: whatever was committed by then, without a hole.
            let holes = "select max(sequence) - count(*) from event";
            assert_eq!(it.number(holes).await, 0);
            looks += 1;
            if it.number("select event_sequence from project").await >= 91 {
                return looks;
            }
        }
    };
    let (_, looks) = tokio::join!(work, look);
    assert!(looks > 1);
    assert_eq!(
        it.number("select max(sequence) from event").await,
        91,
        "1 project, 3 for each task"
    );
    let in_order = "select count(*) from (select sequence, lag(at) over (order by sequence) before, at from event) e where at < before - interval '10 seconds'";
    assert_eq!(it.number(in_order).await, 0);
}
