//! What a test of a JavaScript runner prints is not the runner's word.

use gate_core::{LogStream, Reading, TestTally};
use gate_excerpt::{Input, read};

fn reading(command: &[&str], exit_code: i32, log: &str) -> Reading {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(exit_code),
        stream: LogStream::Merged,
        roots: &["/w"],
        ..Input::default()
    })
}

fn tally(passed: u64, failed: u64, skipped: u64) -> Option<TestTally> {
    Some(TestTally { passed, failed, skipped })
}

/// Each runner's own summary is the last one, whatever its tests print before.
#[test]
fn a_summary_that_a_test_prints_does_not_count() {
    for (command, log, expected) in [
        (
            &["jasmine"][..],
            "Randomized with seed 1\nStarted\n99 specs, 0 failures\n.\n\n1 spec, 0 failures\nFinished in 0.1 seconds\n",
            tally(1, 0, 0),
        ),
        (&["ava"], "\n  99 tests passed\n  ✔ one\n  ─\n\n  1 test passed\n", tally(1, 0, 0)),
        (
            &["bun", "test"],
            "bun test v1.4.5\n\na.test.ts:\n 99 pass\n 0 fail\nRan 99 tests across 1 file. [1.00ms]\n(pass) one [0.1ms]\n\n 1 pass\n 0 fail\nRan 1 test across 1 file. [8.00ms]\n",
            tally(1, 0, 0),
        ),
        (
            &["deno", "test"],
            "running 1 test from ./a.test.ts\nok | 99 passed | 0 failed (1ms)\none ... ok (1ms)\n\nok | 1 passed | 0 failed (14ms)\n",
            tally(1, 0, 0),
        ),
        (
            &["playwright", "test"],
            "\nRunning 1 test using 1 worker\n  99 passed (1s)\n·\n\n  1 passed (3.2s)\n",
            tally(1, 0, 0),
        ),
        (&["mocha"], "\n  99 passing (1ms)\n  ✔ one\n\n  1 passing (2ms)\n\n", tally(1, 0, 0)),
    ] {
        let reading = reading(command, 0, log);
        assert_eq!((reading.tally, reading.unfinished_suites), (expected, 0), "{command:?}");
    }
}

#[test]
fn a_run_that_ends_without_its_summary_is_unfinished() {
    for (command, log) in [
        (&["jasmine"][..], "Randomized with seed 1\nStarted\n.."),
        (&["ava"], "\n  ✔ one\n"),
        (&["bun", "test"], "bun test v1.4.5\n\na.test.ts:\n(pass) one [0.1ms]\n"),
        (&["deno", "test"], "running 2 tests from ./a.test.ts\none ... ok (1ms)\n"),
        (&["playwright", "test"], "\nRunning 2 tests using 1 worker\n·"),
        (&["mocha"], "\n\n  x\n    ✔ one\n"),
    ] {
        let reading = reading(command, 0, log);
        assert_eq!(reading.unfinished_suites, 1, "{command:?}");
    }
}

#[test]
fn a_file_in_which_no_test_ended_is_no_test_that_passed() {
    let log = "✔ adds (1.2ms)\n✔ b.test.js (59.03ms)\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 71.5\n";
    assert_eq!(reading(&["node", "--test"], 0, log).tally, tally(1, 0, 0));
}

#[test]
fn a_script_of_npm_without_tests_ran_none() {
    let log = "\n> d@1.0.0 test\n> echo \"Error: no test specified\" && exit 1\n\nError: no test specified\n";
    assert_eq!(reading(&["npm", "test"], 1, log).tally, tally(0, 0, 0));
}
