//! From a verdict to an exit status and an answer, for `submit` and for `wait`.

use crate::bodies::{Decided, FAIL, PASS, REPORT, RUN, TASK, accepted, problem, routed, run, task};
use crate::cli::{Ended, donegate_at};
use crate::stub::{Answer, Stub};

const BARE_REPORT: &str = r#"{"status": "success", "not_verified": [], "deviations": []}"#;

const OUTCOMES: [(Decided, &str, i32); 5] = [
    (PASS, "done", 0),
    (FAIL, "rework", 1),
    (("FAIL", "needs_human"), "needs_human", 3),
    (("INCONCLUSIVE", "needs_human"), "needs_human", 3),
    (("INCONCLUSIVE", "fix_contract"), "contract_rejected", 4),
];

fn submit(stub: &Stub, rest: &[&str]) -> Ended {
    let words = ["submit", "--task", TASK, "--report", "-"];
    donegate_at(&stub.url).args([&words, rest].concat()).stdin(BARE_REPORT).run()
}

#[test]
fn every_verdict_has_its_exit_status_however_it_is_asked_for() {
    for (decided, state, status) in OUTCOMES {
        let stub = Stub::start(move |seen| {
            if seen.is("POST") {
                Answer::json(200, &accepted(Some(decided)))
            } else if seen.is("GET /v1/runs/") {
                Answer::json(200, &run(Some(decided)))
            } else {
                Answer::json(200, &task(state, Some(decided)))
            }
        });
        let submitted = submit(&stub, &["--wait"]);
        let by_run = donegate_at(&stub.url).args(["wait", "--run", RUN]).run();
        let by_task = donegate_at(&stub.url).args(["wait", TASK]).run();
        for ended in [submitted, by_run, by_task] {
            assert_eq!(ended.status, status, "{ended:?}");
            assert!(ended.stdout.starts_with(decided.0), "{ended:?}");
            assert_eq!(ended.stderr, "");
        }
        let quiet = submit(&stub, &["--wait", "-q"]);
        assert_eq!((quiet.stdout.trim_end(), quiet.status), (decided.0, status));
    }
}

#[test]
fn a_fail_shows_the_test_its_line_and_what_to_do() {
    let stub = Stub::start(|_| Answer::json(200, &accepted(Some(FAIL))));
    let ended = submit(&stub, &["--wait", "5s"]);
    for part in [
        "round 1 of 3",
        "order-tests (AC1): test_failed",
        "tests/test_cursor.py:42",
        "│ E   assert None == 'o_101'",
        "Next: fix the findings and report again",
    ] {
        assert!(ended.stdout.contains(part), "{part} is missing of {}", ended.stdout);
    }
    assert_eq!(stub.lines(), [format!("POST /v1/tasks/{TASK}/reports?wait=5")]);
}

#[test]
fn json_is_one_document_that_reads_back() {
    let stub = Stub::start(|seen| match seen.is("GET /v1/tasks/") {
        true => Answer::json(200, &task("rework", Some(FAIL))),
        false if seen.is("POST") => Answer::json(202, &accepted(None)),
        false => Answer::json(200, &run(Some(FAIL))),
    });
    let submitted = submit(&stub, &["--wait", "--json"]).json();
    let submitted: gate_api::ReportAccepted = serde_json::from_value(submitted).unwrap();
    assert_eq!(submitted.run, Some(run(Some(FAIL))));
    assert_eq!(submitted.task_state, gate_api::TaskStateWord::Rework);
    let waited = donegate_at(&stub.url).args(["wait", "--run", RUN, "--json"]).run().json();
    assert_eq!(serde_json::from_value::<gate_api::RunBody>(waited).unwrap(), run(Some(FAIL)));
    let waited = donegate_at(&stub.url).args(["wait", TASK, "--json"]).run().json();
    assert_eq!(waited["task"]["state"], "rework");
    assert_eq!(waited["run"]["verdict"]["decision"], "FAIL");
}

#[test]
fn without_wait_an_accepted_report_names_its_run() {
    let stub = Stub::start(|_| Answer::json(202, &accepted(None)));
    let ended = submit(&stub, &[]);
    assert_eq!(ended.status, 0);
    assert!(ended.stdout.contains(&format!("donegate wait --run {RUN}")), "{ended:?}");
    assert_eq!(submit(&stub, &["--quiet"]).stdout.trim_end(), RUN);
    assert_eq!(stub.lines()[0], format!("POST /v1/tasks/{TASK}/reports"));
}

#[test]
fn a_verdict_that_takes_longer_is_asked_for_until_it_is_there() {
    let stub = Stub::start(|seen| match (seen.is("POST"), seen.before) {
        (true, _) => Answer::json(202, &accepted(None)),
        (false, 0) => Answer::json(200, &run(None)),
        (false, _) => Answer::json(200, &run(Some(PASS))),
    });
    assert_eq!(submit(&stub, &["--wait", "2m"]).status, 0);
    let lines = stub.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[1], format!("GET /v1/runs/{RUN}?wait=50"));
}

#[test]
fn a_verdict_that_does_not_come_in_time_is_undecided() {
    let stub = Stub::start(|seen| match seen.is("GET /v1/tasks/") {
        true => Answer::json(200, &task("gating", None)),
        false if seen.is("POST") => Answer::json(202, &accepted(None)),
        false => Answer::json(200, &run(None)),
    });
    let ended = submit(&stub, &["--wait", "1s"]);
    assert_eq!(ended.status, 4);
    assert!(ended.stdout.starts_with("no verdict"), "{ended:?}");
    let ended = donegate_at(&stub.url).args(["wait", "--run", RUN, "--timeout", "0s"]).run();
    assert_eq!(ended.status, 4);
    let ended = donegate_at(&stub.url).args(["wait", TASK, "--timeout", "0s", "-q"]).run();
    assert_eq!((ended.status, ended.stdout.trim_end()), (4, "gating"));
}

#[test]
fn a_cancelled_run_is_undecided_at_once() {
    let stub = Stub::start(|_| {
        let state = gate_api::RunStateWord::Cancelled;
        Answer::json(200, &gate_api::RunBody { state, ..run(None) })
    });
    let ended = donegate_at(&stub.url).args(["wait", "--run", RUN]).run();
    assert_eq!(ended.status, 4);
    assert!(ended.stdout.contains("was cancelled"), "{ended:?}");
}

#[test]
fn a_report_that_does_not_claim_success_is_never_a_pass() {
    for (state, next_step, status) in [
        ("paused", "resume", 4),
        ("failed", "retry_after", 4),
        ("needs_human", "needs_human", 3),
        ("needs_input", "answer_input", 3),
        ("aborted", "stop", 4),
    ] {
        let stub = Stub::start(move |_| Answer::json(200, &routed(state, next_step)));
        for wait in [&[][..], &["--wait"]] {
            let ended = submit(&stub, wait);
            assert_eq!(ended.status, status, "{next_step}: {ended:?}");
        }
        assert_eq!(submit(&stub, &["-q"]).stdout.trim_end(), REPORT);
    }
}

#[test]
fn a_task_that_moved_on_is_not_answered_with_an_old_verdict() {
    let stub = Stub::start(|_| Answer::json(200, &task("needs_input", Some(FAIL))));
    let ended = donegate_at(&stub.url).args(["wait", TASK]).run();
    assert_eq!(ended.status, 3);
    assert!(ended.stdout.starts_with("needs_input"), "{ended:?}");
    assert_eq!(stub.lines().len(), 1);
}

#[test]
fn who_waits_for_a_task_without_a_report_waits_for_its_verdict() {
    let stub = Stub::start(|seen| match (seen.is("GET /v1/tasks/"), seen.before) {
        (true, 0) => Answer::json(200, &task("pending", None)),
        (true, _) => Answer::json(200, &task("done", Some(PASS))),
        (false, _) => Answer::json(200, &run(Some(PASS))),
    });
    assert_eq!(donegate_at(&stub.url).args(["wait", TASK]).run().status, 0);
}

#[test]
fn used_up_reports_need_a_person() {
    let kind = gate_api::ProblemKind::ReportsExhausted;
    let stub = Stub::start(move |_| Answer::problem(&problem(kind, &[])));
    assert_eq!(submit(&stub, &["--wait"]).status, 3);
}
