//! What is tried again, and that it counts once.

use std::net::TcpListener;
use std::thread;

use gate_api::ProblemKind;

use crate::bodies::{PASS, RUN, TASK, accepted, problem, run};
use crate::cli::donegate_at;
use crate::stub::{Answer, Stub};

const SUBMIT: [&str; 7] =
    ["submit", "--task", TASK, "--git", "https://git.example/a.git", "--commit", "4f"];

#[test]
fn a_report_is_sent_again_under_the_same_key() {
    let stub = Stub::start(|seen| match seen.before {
        0 => Answer::problem(&problem(ProblemKind::Unavailable, &[])),
        1 => Answer::problem(&problem(ProblemKind::IdempotencyKeyInFlight, &[])),
        2 => Answer::html(502),
        _ => Answer::json(200, &accepted(Some(PASS))),
    });
    let ended = donegate_at(&stub.url).args(SUBMIT).args(["--wait", "60s"]).run();
    assert_eq!(ended.status, 0, "{ended:?}");
    let seen = stub.seen();
    let keys: Vec<_> = seen.iter().map(|it| it.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|it| !it.is_empty() && *it == keys[0]), "{keys:?}");
    assert!(seen.iter().all(|it| it.body == seen[0].body));
}

#[test]
fn a_key_of_the_callers_own_is_sent_as_it_is() {
    let stub = Stub::start(|_| Answer::json(202, &accepted(None)));
    donegate_at(&stub.url).args(SUBMIT).args(["--idempotency-key", "round-1"]).run();
    assert_eq!(stub.seen()[0].header("idempotency-key"), "round-1");
    let ended = donegate_at(&stub.url).args(SUBMIT).args(["--idempotency-key", "round 1"]).run();
    assert_eq!((ended.status, stub.lines().len()), (64, 1));
}

#[test]
fn a_connection_that_breaks_is_made_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let call = thread::spawn(move || donegate_at(&url).args(["wait", "--run", RUN]).run());
    // The first connection is taken and dropped without a word.
    drop(listener.accept().unwrap());
    let stub = Stub::start_on(listener, |_| Answer::json(200, &run(Some(PASS))));
    let ended = call.join().unwrap();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(stub.lines().len(), 1);
}

#[test]
fn what_will_not_pass_is_not_tried_again() {
    for kind in [ProblemKind::Internal, ProblemKind::IdempotencyKeyReused] {
        let stub = Stub::start(move |_| Answer::problem(&problem(kind, &[])));
        let ended = donegate_at(&stub.url).args(SUBMIT).args(["--wait"]).run();
        assert_eq!(stub.lines().len(), 1, "{ended:?}");
    }
}
