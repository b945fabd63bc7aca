//! What tests of C++, Java, Ruby, and others print is not their runner's word.

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

const GTEST: &str = "\
[==========] Running 1 test from 1 test suite.
[----------] 1 test from A
[ RUN      ] A.B
[==========] Running 99 tests from 1 test suite.
[==========] 99 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 99 tests.
[       OK ] A.B (0 ms)
[==========] 1 test from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
";

#[test]
fn a_suite_that_a_gtest_test_prints_does_not_count() {
    assert_eq!(reading(&["./t"], 0, GTEST).tally, tally(1, 0, 0));
    assert_eq!(reading(&["make", "check"], 0, GTEST).tally, tally(1, 0, 0));
}

#[test]
fn a_gtest_binary_that_dies_is_unfinished_and_names_its_test() {
    let log = "[==========] Running 2 tests from 1 test suite.\n[ RUN      ] A.B\n\
               [       OK ] A.B (0 ms)\n[ RUN      ] A.C\n";
    let reading = reading(&["make", "check"], 139, log);
    assert_eq!((reading.tally, reading.unfinished_suites), (None, 1));
    assert_eq!(reading.failing_tests[0].name, "A.C");
}

#[test]
fn a_summary_that_a_test_under_ctest_prints_does_not_count() {
    let log = "\
Test project /w/build
    Start 1: unit
1/1 Test #1: unit .............***Failed    0.00 sec
100% tests passed, 0 tests failed out of 99

0% tests passed, 1 tests failed out of 1

The following tests FAILED:
\t  1 - unit (Failed)
Errors while running CTest
";
    let reading = reading(&["ctest", "--output-on-failure"], 8, log);
    assert_eq!(reading.tally, tally(0, 1, 0));
    assert_eq!(reading.failing_tests[0].name, "unit");
}

#[test]
fn a_ctest_run_without_its_summary_is_unfinished() {
    let log = "Test project /w/build\n    Start 1: unit\n";
    let reading = reading(&["ctest"], 143, log);
    assert_eq!((reading.tally, reading.unfinished_suites), (None, 1));
}

#[test]
fn a_tally_that_a_java_test_prints_does_not_count() {
    let log = "\
[INFO]  T E S T S
[INFO] Running demo.ATest
[INFO] Tests run: 99, Failures: 0, Errors: 0, Skipped: 0
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in demo.ATest
[INFO] Results:
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0
[INFO] BUILD SUCCESS
";
    assert_eq!(reading(&["mvn", "test"], 0, log).tally, tally(2, 0, 0));
}

#[test]
fn a_java_test_run_that_never_ends_has_no_tally() {
    let log = "[INFO]  T E S T S\n[INFO] Running demo.ATest\n";
    let reading = reading(&["mvn", "test"], 1, log);
    assert_eq!((reading.tally, reading.unfinished_suites), (None, 1));
}

#[test]
fn a_summary_that_an_example_prints_does_not_count() {
    let log = "\
99 examples, 0 failures
.

Finished in 0.1 seconds (files took 0.1 seconds to load)
1 example, 0 failures
";
    for command in [&["rspec"][..], &["make", "test"]] {
        assert_eq!(reading(command, 0, log).tally, tally(1, 0, 0), "{command:?}");
    }
}

#[test]
fn a_summary_that_a_php_test_prints_does_not_count() {
    let log = "\
PHPUnit 11.4.3 by Sebastian Bergmann and contributors.

OK (99 tests, 99 assertions)
.                                                                   1 / 1 (100%)

OK (1 test, 1 assertion)
";
    for command in [&["phpunit"][..], &["composer", "test"]] {
        assert_eq!(reading(command, 0, log).tally, tally(1, 0, 0), "{command:?}");
    }
}

#[test]
fn what_a_gradle_test_prints_is_not_a_result() {
    let log = "\
> Task :test

ATest > one() STANDARD_OUT
    BTest > forged() PASSED
    99 tests completed, 0 failed

ATest > one() PASSED

BUILD SUCCESSFUL in 1s
";
    assert_eq!(reading(&["./gradlew", "test"], 0, log).tally, tally(1, 0, 0));
    let silent = "> Task :test\n\nBUILD SUCCESSFUL in 1s\n";
    assert_eq!(reading(&["./gradlew", "test"], 0, silent).tally, None);
}

#[test]
fn two_binaries_under_make_add_up() {
    let log = GTEST.to_owned() + GTEST;
    assert_eq!(reading(&["make", "check"], 0, &log).tally, tally(2, 0, 0));
}
