//! What a test can print to choke its reader: each answer is honest, and takes time that grows with the log alone.

use gate_core::Reading;

use crate::documents;

fn reading(command: &[&str], log: &str, sides: &[(&str, &str)]) -> Reading {
    documents::reading(command, 1, log, sides)
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn tells(reading: &Reading, text: &str) -> bool {
    reading.diagnostics.iter().any(|it| it.message.contains(text))
}

#[test]
fn tests_that_fail_in_a_crowd_of_packages_are_counted_and_the_first_are_told() {
    let log = lines(20_000, |it| {
        format!(
            "--- FAIL: T{it} (0.00s)\n    a_test.go:{it}: bad\nFAIL\nFAIL\tx.org/m/{it}\t0.1s\n"
        )
    });
    let reading = reading(&["go", "test", "./..."], &log, &[]);
    assert_eq!(reading.counts.unwrap().failed, 20_000);
    assert_eq!(reading.failing_tests.len(), 500);
    assert_eq!(reading.failing_tests[7].location.as_ref().unwrap().file, "7/a_test.go");
}

#[test]
fn subtests_without_end_are_one_test() {
    let name = format!("T{}", "/a".repeat(500_000));
    let log = format!(
        "{{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"{name}\"}}\n{{\"Action\":\"fail\",\"Package\":\"p\"}}\n"
    );
    let reading = reading(&["go", "test", "-json"], &log, &[]);
    assert_eq!((reading.counts.unwrap().failed, reading.failing_tests.len()), (1, 1));
}

#[test]
fn a_plan_that_nobody_can_fulfil_is_unfinished() {
    let results = lines(50_000, |it| format!("ok {} - t\n", it + 1));
    let log = format!("TAP version 13\n1..1000000000000000000\n{results}");
    for (log, sides) in [(log.as_str(), &[][..]), ("x\n", &[("a.tap", log.as_str())][..])] {
        let reading = reading(&["sh", "ci.sh"], log, sides);
        assert_eq!((reading.counts.unwrap().passed, reading.unfinished_suites), (Some(50_000), 1));
        assert!(tells(&reading, "the plan is 1000000000000000000 tests, and 50000 have a result"));
    }
}

#[test]
fn files_that_broke_their_plan_in_a_crowd_are_each_told_with_what_is_below_them() {
    let log = lines(5_000, |it| {
        format!("t{it}.t (Wstat: 0 Tests: 1 Failed: 0)\n  Parse errors: Bad plan {it}\n")
    });
    let log = format!(
        "Test Summary Report\n-------------------\n{log}Files=5000, Tests=5000\nResult: FAIL\n"
    );
    let reading = reading(&["prove", "t"], &log, &[]);
    let first = &reading.failing_tests[0];
    assert_eq!((first.name.as_str(), first.message.as_str()), ("t0.t", "Parse errors: Bad plan 0"));
}

#[test]
fn what_only_looks_like_documents_is_given_up_and_the_error_below_is_told() {
    for open in
        ["<testsuites><testsuite name=\"a\">\n", "web:test: <testsuites><testsuite name=\"a\">\n"]
    {
        let prefix = open.split_once('<').unwrap().0;
        let log = format!("{}{prefix}error: the disk is on fire\n", open.repeat(4_000));
        let reading = reading(&["sh", "ci.sh"], &log, &[]);
        assert!(tells(&reading, "the disk is on fire"), "{:?}", reading.diagnostics);
        assert!(tells(&reading, "break off"), "{:?}", reading.diagnostics);
    }
}

#[test]
fn a_file_of_millions_of_empty_values_is_not_kept_and_the_reading_says_so() {
    let sarif = format!(
        "{{\"version\":\"2.1.0\",\"runs\":[{{\"results\":[{}{{}}]}}]}}",
        "{},".repeat(1_100_000)
    );
    let reading = reading(&["sh", "ci.sh"], "error: x\n", &[("a.sarif", &sarif)]);
    assert!(tells(&reading, "`a.sarif` is not read"), "{:?}", reading.diagnostics);
    assert!(tells(&reading, "error: x"));
}

#[test]
fn suites_in_suites_in_a_file_are_read() {
    let depth = 50_000;
    let xml = format!(
        "<testsuites>{}<testcase name=\"t\"><failure>x</failure></testcase>{}</testsuites>",
        "<testsuite name=\"a\">".repeat(depth),
        "</testsuite>".repeat(depth)
    );
    let reading = reading(&["sh", "ci.sh"], "x\n", &[("a.xml", &xml)]);
    assert_eq!((reading.counts.unwrap().failed, reading.failing_tests.len()), (1, 1));
}

#[test]
fn a_forged_summary_beside_a_failure_makes_nothing_green() {
    let log = "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\nthread 'a' panicked at src/lib.rs:3:5:\nboom\n\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n===== 5 passed in 0.01s =====\nTests:       5 passed, 5 total\n# tests 5\n# pass 5\n# fail 0\n";
    for command in [&["cargo", "test"][..], &["sh", "ci.sh"]] {
        let reading = reading(command, log, &[]);
        assert!(reading.counts.unwrap().failed >= 1, "{command:?}: {:?}", reading.counts);
        assert_eq!(reading.failing_tests[0].name, "a");
    }
}
