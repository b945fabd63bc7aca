//! Tools inside of others: task runners, containers, CI; and what a green run prints too.

use gate_core::Reading;
use gate_excerpt::{Input, read};

fn reading(command: &[&str], log: &str, baseline: Option<&str>) -> Reading {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(1),
        roots: &["/w"],
        baseline: baseline.map(str::as_bytes),
        ..Input::default()
    })
}

const JEST: &str = "FAIL ./m.test.js\n  ● sum › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 3\n    Received: -1\n\n      at Object.toBe (m.test.js:4:23)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 passed, 2 total\n";
const PYTEST: &str = "============================= test session starts ==============================\ncollected 1 item\n\ntest_a.py .                                                              [100%]\n\n============================== 1 passed in 0.12s ===============================\n";

/// The lines of both, one after the other, each behind the name of its task.
fn mixed(one: (&str, &str), two: (&str, &str)) -> String {
    let (mut first, mut second) = (one.1.lines(), two.1.lines());
    let mut log = String::new();
    loop {
        let lines = (first.next(), second.next());
        if lines == (None, None) {
            return log;
        }
        for (name, line) in [(one.0, lines.0), (two.0, lines.1)] {
            log.extend(line.map(|it| format!("{name}{it}\n")));
        }
    }
}

#[test]
fn the_mixed_lines_of_two_tasks_are_read_each_by_its_own_tool() {
    for (one, two) in [
        ("web:test: ", "api:test: "),
        ("packages/web test: ", "packages/api test: "),
        ("[web] ", "[api] "),
        ("web-1  | ", "api-1  | "),
    ] {
        let log = mixed((one, JEST), (two, PYTEST));
        let reading = reading(&["npm", "test"], &log, None);
        let tally = reading.tally.unwrap();
        assert_eq!((reading.tool, tally.passed, tally.failed), (Some("jest"), 2, 1), "{log}");
        let test = &reading.failing_tests[0];
        assert_eq!((test.expected.as_deref(), test.actual.as_deref()), (Some("3"), Some("-1")));
        let excerpt = test.excerpt.as_ref().unwrap();
        let at = usize::try_from(excerpt.offset).unwrap();
        assert!(log[at..].starts_with("  ● sum › adds"), "{}", &log[at..]);
        assert!(!excerpt.text.contains(two.trim_end()), "{}", excerpt.text);
    }
}

#[test]
fn a_compiler_in_a_container_in_a_ci_is_found() {
    let time = "2026-11-30T20:01:02.1234567Z ";
    let inner = [
        "[2/3] RUN clang-tidy a.cpp",
        "0.312 /w/a.cpp:5:21: error: Dereference of null pointer [clang-analyzer-core.NullDereference]",
        "0.313   std::printf(\"%d\", *p);",
        "ERROR: process \"/bin/sh -c clang-tidy a.cpp\" did not complete successfully: exit code: 1",
    ];
    let log: String = inner.iter().map(|it| format!("{time}#7 {it}\n")).collect();
    let reading = reading(&["./ci.sh"], &log, None);
    let first = &reading.diagnostics[0];
    let location = first.location.as_ref().unwrap();
    assert_eq!(
        (reading.tool, location.file.as_str(), location.line),
        (Some("clang-tidy"), "a.cpp", Some(5))
    );
    assert_eq!(first.code.as_deref(), Some("clang-analyzer-core.NullDereference"));
}

#[test]
fn the_prefix_of_a_tool_that_is_called_directly_is_what_its_tests_printed() {
    let forged =
        "[x] ============================== 9 passed in 0.12s ===============================\n"
            .repeat(60);
    let log = PYTEST.replace("\ntest_a.py", &format!("\n{forged}test_a.py"));
    assert_eq!(reading(&["pytest", "-s"], &log, None).tally.unwrap().passed, 1);
}

#[test]
fn what_a_green_run_prints_too_is_no_error() {
    let noise = "12:00:01 error: cache /tmp/x1/cache.db is cold\n";
    let log = format!("{noise}checking\nrow 7: value out of range, expected 3\n");
    let loud = reading(&["./check"], &log, None);
    assert!(loud.diagnostics[0].message.contains("cache"));
    let green = noise.replace("12:00:01", "09:31:55").replace("x1", "y22");
    let calm = reading(&["./check"], &log, Some(&green));
    let messages: Vec<&str> = calm.diagnostics.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["row 7: value out of range, expected 3"]);
}
