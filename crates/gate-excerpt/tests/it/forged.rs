//! What a test prints is not the runner's word.

use gate_core::{LogStream, Reading, TestTally};
use gate_excerpt::{Input, read};

fn reading(command: &[&str], exit_code: i32, log: &str) -> Reading {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(exit_code),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &["/w"],
        ..Input::default()
    })
}

fn tally(passed: u64, failed: u64, skipped: u64) -> Option<TestTally> {
    Some(TestTally { passed, failed, skipped })
}

const CARGO_GREEN: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 2 tests
test a ... ok
test b ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

";

const PYTEST_GREEN: &str = "\
============================= test session starts ==============================
collected 3 items

tests/test_a.py ...                                                      [100%]

============================== 3 passed in 0.12s ===============================
";

const CARGO_FORGED: &str = "\
running 1 test
test a ... FAILED

failures:

---- a stdout ----
running 99 tests
test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

thread 'a' (12) panicked at src/lib.rs:3:5:
boom
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    a

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
";

#[test]
fn a_summary_in_captured_output_of_libtest_does_not_count() {
    let reading = reading(&["cargo", "test"], 101, CARGO_FORGED);
    assert_eq!((reading.tally, reading.unfinished_suites), (tally(0, 1, 0), 0));
    assert_eq!(reading.failing_tests.len(), 1, "{:?}", reading.failing_tests);
    assert_eq!(reading.failing_tests[0].location.as_ref().unwrap().line, Some(3));
}

const PYTEST_FORGED: &str = "\
F.                                                                       [100%]
=================================== FAILURES ===================================
____________________________________ test_a ____________________________________

    def test_a():
        print('5 passed in 0.10s')
>       assert 1 == 2
E       assert 1 == 2

test_a.py:3: AssertionError
----------------------------- Captured stdout call -----------------------------
5 passed in 0.10s
============================== 7 passed in 0.10s ===============================
running 4 tests
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
=========================== short test summary info ============================
FAILED test_a.py::test_a - assert 1 == 2
1 failed, 1 passed in 0.52s
";

#[test]
fn a_summary_in_captured_output_of_pytest_does_not_count() {
    for command in [&["pytest", "-q"][..], &["make", "test"]] {
        let reading = reading(command, 1, PYTEST_FORGED);
        assert_eq!(reading.tally, tally(1, 1, 0), "{command:?}");
        let test = &reading.failing_tests[0];
        assert_eq!(
            (test.name.as_str(), test.message.as_str()),
            ("test_a.py::test_a", "assert 1 == 2")
        );
        assert_eq!(test.location.as_ref().unwrap().line, Some(3));
    }
}

#[test]
fn a_short_summary_in_captured_output_names_no_test() {
    let forged = "\
=========================== short test summary info ============================
FAILED forged.py::test_forged - no
ERROR    root:a.py:3 error: logged
============================== 1 failed in 0.01s ===============================
";
    let log = PYTEST_FORGED.replace("5 passed in 0.10s\n=", &format!("{forged}="));
    for command in [&["pytest", "-q"][..], &["make", "test"]] {
        let reading = reading(command, 1, &log);
        let names: Vec<_> = reading.failing_tests.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((reading.tally, names), (tally(1, 1, 0), vec!["test_a.py::test_a"]));
        assert_eq!(reading.failing_tests[0].location.as_ref().unwrap().line, Some(3));
    }
}

#[test]
fn of_what_one_run_prints_as_a_summary_the_last_one_counts() {
    let forged =
        PYTEST_GREEN.replace("collected 3 items", "collected 3 items\n=== 99 passed in 0.01s ===");
    assert_eq!(reading(&["pytest", "-s"], 0, &forged).tally, tally(3, 0, 0));
    let quiet = ".9 passed in 0.01s\n9 passed in 0.01s\n.\n2 passed in 0.20s\n";
    assert_eq!(reading(&["pytest", "-q", "-s"], 0, quiet).tally, tally(2, 0, 0));
    let unittest = format!(
        "{0}\nRan 9 tests in 0.001s\n\nOK\n{0}\nRan 1 test in 0.001s\n\nOK\n",
        "-".repeat(70)
    );
    assert_eq!(reading(&["python", "-m", "unittest"], 0, &unittest).tally, tally(1, 0, 0));
}

/// Printed by Python 3.11; `test_b` prints the figures of another run.
const UNITTEST: &str = "\
EE.FsRan 5 tests in 0.1s

OK
======================================================================
ERROR: test_e (test_z.T.test_e)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/w/test_z.py\", line 10, in test_e
    raise ValueError(\"bad\")
ValueError: bad

======================================================================
ERROR: setUpClass (test_z.U)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/w/test_z.py\", line 14, in setUpClass
    def setUpClass(cls): raise RuntimeError(\"class set-up\")
RuntimeError: class set-up

======================================================================
FAIL: test_a (test_z.T.test_a) (i=1)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/w/test_z.py\", line 3, in test_a
    self.assertEqual(1, 2)
AssertionError: 1 != 2

======================================================================
FAIL: test_a (test_z.T.test_a) (i=2)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/w/test_z.py\", line 3, in test_a
    self.assertEqual(1, 3)
AssertionError: 1 != 3

----------------------------------------------------------------------
Ran 4 tests in 0.002s

FAILED (failures=2, errors=2, skipped=1)
";

#[test]
fn subtests_and_class_set_ups_do_not_hide_tests_that_passed() {
    let reading = reading(&["python", "-m", "unittest"], 1, UNITTEST);
    assert_eq!(reading.tally, tally(1, 4, 1));
    let told: Vec<_> = reading
        .failing_tests
        .iter()
        .map(|it| (it.name.as_str(), it.message.as_str(), it.location.as_ref().unwrap().line))
        .collect();
    assert_eq!(
        told,
        [
            ("test_z.T.test_e", "ValueError: bad", Some(10)),
            ("test_z.U.setUpClass", "RuntimeError: class set-up", Some(14)),
            ("test_z.T.test_a", "(i=1) AssertionError: 1 != 2", Some(3)),
            ("test_z.T.test_a", "(i=2) AssertionError: 1 != 3", Some(3)),
        ]
    );
}

#[test]
fn runners_inside_of_a_script_are_found_and_add_up() {
    let log =
        format!("cargo test\n{CARGO_GREEN}pytest\n{PYTEST_GREEN}pytest again\n{PYTEST_GREEN}");
    let reading = reading(&["bash", "run.sh"], 0, &log);
    assert_eq!((reading.tally, reading.unfinished_suites), (tally(8, 0, 0), 0));
}

#[test]
fn a_runner_that_the_command_names_is_the_only_one_that_counts() {
    let log = format!("{PYTEST_GREEN}{CARGO_GREEN}");
    assert_eq!(reading(&["cargo", "test"], 0, &log).tally, tally(2, 0, 0));
    assert_eq!(reading(&["pytest"], 0, &log).tally, tally(3, 0, 0));
}

#[test]
fn a_session_without_its_summary_is_unfinished_however_green() {
    let died = PYTEST_GREEN.lines().take(4).collect::<Vec<_>>().join("\n");
    let reading = reading(&["pytest"], 0, &died);
    assert_eq!((reading.unfinished_suites, reading.tally), (1, tally(0, 0, 0)));
}

#[test]
fn a_binary_that_left_by_itself_is_unfinished_and_the_next_one_counts() {
    let log = format!("running 3 tests\ntest a ... ok\n{CARGO_GREEN}");
    let reading = reading(&["cargo", "test"], 0, &log);
    assert_eq!((reading.unfinished_suites, reading.tally), (1, tally(3, 0, 0)));
}

#[test]
fn merged_doctests_of_one_target_are_counted_all() {
    let log = format!("   Doc-tests a\n{}", CARGO_GREEN.repeat(2));
    assert_eq!(reading(&["cargo", "test", "--doc"], 0, &log).tally, tally(4, 0, 0));
}

#[test]
fn lines_that_captured_nothing_still_give_every_panic_its_test() {
    let log = "\
running 2 tests
test tests::a ... printed by a
thread 'tests::a' (7) panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
FAILED
test tests::b ... ok

failures:

failures:
    tests::a

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
    let reading = reading(&["cargo", "test", "--", "--nocapture"], 101, log);
    let test = &reading.failing_tests[0];
    assert_eq!((test.name.as_str(), test.location.as_ref().unwrap().line), ("tests::a", Some(9)));
    assert_eq!(test.message, "assertion `left == right` failed (left: 1, right: 2)");
}

#[test]
fn a_summary_of_failures_under_a_green_exit_is_reported() {
    let reading = reading(&["cargo", "test"], 0, CARGO_FORGED);
    assert_eq!(reading.tally, tally(0, 1, 0));
}

#[test]
fn secrets_do_not_leave_with_an_excerpt() {
    let log = "error: login failed with password=hunter2222 at https://u:topsecret@host/x\n";
    let reading = reading(&["./check"], 1, log);
    let diagnostic = &reading.diagnostics[0];
    let shown = format!("{} {:?} {:?}", diagnostic.message, diagnostic.excerpt, reading.tail);
    assert!(shown.contains("[redacted]"), "{shown}");
    assert!(!shown.contains("hunter2222") && !shown.contains("topsecret"), "{shown}");
}
