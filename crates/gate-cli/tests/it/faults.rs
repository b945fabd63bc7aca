//! What goes wrong before there is a verdict: usage, keys, addresses, refusals.

use std::fs;
use std::net::TcpListener;

use gate_api::ProblemKind;

use crate::bodies::{PASS, RUN, TASK, problem, run};
use crate::cli::{Ended, KEY, donegate, donegate_at};
use crate::stub::{Answer, Stub};

fn wait(url: &str) -> Ended {
    donegate_at(url).args(["wait", "--run", RUN, "--timeout", "1s"]).run()
}

#[test]
fn wrong_arguments_end_with_64_and_say_what_is_wrong() {
    for (words, part) in [
        (&[][..], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["wait"], "required"),
        (&["wait", "not-an-id"], "not-an-id"),
        (&["wait", TASK, "--timeout", "soon"], "a time is a number with its unit"),
        (&["submit", "--task", TASK], "required"),
        (&["contract", "publish", "c.yaml"], "--project"),
        (&["contract", "check", "/nowhere/c.yaml"], "cannot read /nowhere/c.yaml: No such file"),
    ] {
        let ended = donegate().args(words).run();
        assert_eq!((ended.status, ended.stdout.as_str()), (64, ""), "{words:?}: {ended:?}");
        assert!(ended.stderr.contains(part), "{words:?}: {ended:?}");
    }
}

#[test]
fn help_is_an_answer_and_has_the_table_of_exit_statuses() {
    let ended = donegate().args(["--help"]).run();
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.contains("69  the gate cannot be reached"), "{ended:?}");
    let help = donegate().env("DONEGATE_KEY", KEY).args(["submit", "--help"]).run();
    assert!(help.stdout.contains("Other users of this machine can see"), "{help:?}");
    assert!(donegate().args(["--version"]).run().stdout.starts_with("donegate 0."));
}

#[test]
fn a_gate_that_is_not_there_ends_with_69() {
    let url = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let ended = wait(&url);
    assert_eq!((ended.status, ended.stdout.as_str()), (69, ""));
    assert!(ended.stderr.starts_with("error: cannot reach the gate at http://127.0.0.1:"));
    let json = donegate_at(&url).args(["wait", "--run", RUN, "--timeout", "0s", "--json"]).run();
    assert_eq!((json.status, &json.json()["error"]["code"]), (69, &"unreachable".into()));
    let words = ["submit", "--task", TASK, "--git", "https://git.example/a.git", "--commit", "4f"];
    let submitted = donegate_at(&url).args(words).run();
    assert_eq!(submitted.status, 69);
    assert!(submitted.stderr.contains("repeat with --idempotency-key "), "{submitted:?}");
}

#[test]
fn what_answers_and_is_no_gate_ends_with_69() {
    for status in [200, 404, 500] {
        let stub = Stub::start(move |_| Answer::html(status));
        let ended = wait(&stub.url);
        assert_eq!(ended.status, 69);
        assert!(ended.stderr.contains(&format!("answered with status {status}")), "{ended:?}");
        assert!(ended.stderr.contains("not a gate"), "{ended:?}");
    }
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let stub = Stub::start(|_| Answer::redirect("https://elsewhere.example/"));
    let ended = wait(&stub.url);
    assert_eq!((ended.status, stub.lines().len()), (64, 1));
    assert!(ended.stderr.contains("https://elsewhere.example/"), "{ended:?}");
}

#[test]
fn a_refusal_is_printed_with_all_its_faults_and_its_request() {
    let stub = Stub::start(|_| {
        let faults = [("?wait", "a number of seconds"), ("", "and more")];
        Answer::problem(&problem(ProblemKind::InvalidParameter, &faults))
    });
    let ended = wait(&stub.url);
    assert_eq!((ended.status, ended.stdout.as_str()), (64, ""));
    let expected = "\
error: A parameter does not have its form: this is how it is
  ?wait: a number of seconds
  and more
  request id: request-7
";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn refusals_that_the_caller_can_correct_end_with_64() {
    for kind in [
        ProblemKind::Unauthenticated,
        ProblemKind::Forbidden,
        ProblemKind::NotFound,
        ProblemKind::TaskState,
        ProblemKind::ReportInvalid,
    ] {
        let stub = Stub::start(move |_| Answer::problem(&problem(kind, &[])));
        let ended = wait(&stub.url);
        assert_eq!((ended.status, stub.lines().len()), (64, 1), "{ended:?}");
    }
}

#[test]
fn the_key_comes_from_a_variable_a_file_or_the_arguments_in_this_order_of_weight() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    fs::write(&file, "dg_of_the_file\n").unwrap();
    let file = file.to_str().unwrap();
    let stub = Stub::start(|_| Answer::json(200, &run(Some(PASS))));
    let call = || donegate().env("DONEGATE_URL", &stub.url).args(["wait", "--run", RUN]);
    call().env("DONEGATE_KEY", KEY).run();
    call().env("DONEGATE_KEY", "").env("DONEGATE_KEY_FILE", file).run();
    call().env("DONEGATE_KEY", KEY).args(["--key-file", file]).run();
    call().env("DONEGATE_KEY_FILE", file).args(["--key", KEY]).run();
    let sent: Vec<_> = stub.seen().iter().map(|it| it.header("authorization").to_owned()).collect();
    let (ours, files) = (format!("Bearer {KEY}"), "Bearer dg_of_the_file".to_owned());
    assert_eq!(sent, [ours.clone(), files.clone(), files, ours]);
}

#[test]
fn without_a_key_or_with_a_broken_one_nothing_is_sent() {
    let stub = Stub::start(|_| Answer::json(200, &run(Some(PASS))));
    let ended = donegate().args(["--url", &stub.url, "wait", TASK]).run();
    assert_eq!(ended.status, 64);
    assert!(ended.stderr.contains("no API key: set DONEGATE_KEY"), "{ended:?}");
    let broken = format!("{KEY}\nx");
    let ended = donegate_at(&stub.url).env("DONEGATE_KEY", broken).args(["wait", TASK]).run();
    assert_eq!((ended.status, stub.lines().len()), (64, 0));
}

#[test]
fn an_address_that_is_none_is_a_fault_of_the_arguments() {
    let ended = donegate_at("gate.example:8080").args(["wait", TASK]).run();
    assert_eq!(ended.status, 64);
    assert!(ended.stderr.contains("it begins with http:// or https://"), "{ended:?}");
}
