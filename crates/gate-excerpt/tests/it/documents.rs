//! Machine-readable documents: broken, left over, forged, and printed by others.

use gate_core::{Reading, TestCounts, TestPhase};
use gate_excerpt::{Input, Side, read};

pub(crate) fn reading(
    command: &[&str],
    exit_code: i32,
    log: &str,
    sides: &[(&str, &str)],
) -> Reading {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    let sides: Vec<Side<'_>> =
        sides.iter().map(|(name, text)| Side { name, bytes: text.as_bytes() }).collect();
    read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(exit_code),
        roots: &["/w"],
        sides: &sides,
        ..Input::default()
    })
}

fn counts(passed: u64, failed: u64, errors: u64) -> Option<TestCounts> {
    Some(TestCounts { passed: Some(passed), failed, errors, skipped: 0 })
}

fn messages(reading: &Reading) -> Vec<&str> {
    reading.diagnostics.iter().map(|it| it.message.as_str()).collect()
}

const PYTEST_LOG: &str = "\
============================= test session starts ==============================
collected 2 items

test_a.py .F                                                             [100%]

=================================== FAILURES ===================================
____________________________________ test_b ____________________________________

    def test_b():
>       assert 1 == 2
E       assert 1 == 2

test_a.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_b - assert 1 == 2
========================= 1 failed, 1 passed in 0.02s ==========================
";

const GREEN_XML: &str = r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="2">
<testcase classname="test_a" name="test_a"/><testcase classname="test_a" name="test_b"/></testsuite></testsuites>"#;

#[test]
fn a_file_left_over_from_a_green_run_is_not_believed() {
    let reading = reading(&["pytest"], 1, PYTEST_LOG, &[("junit.xml", GREEN_XML)]);
    assert_eq!(reading.counts, counts(1, 1, 0));
    assert_eq!(reading.failing_tests.len(), 1);
    let test = &reading.failing_tests[0];
    assert_eq!((test.expected.as_deref(), test.actual.as_deref()), (Some("2"), Some("1")));
    assert!(messages(&reading)[0].contains("the log is believed"), "{:?}", reading.diagnostics);
}

#[test]
fn a_file_that_is_cut_off_is_noted_and_the_log_is_read() {
    for (file, why) in [
        (&GREEN_XML[..150], "it is no whole XML"),
        (&GREEN_XML[..GREEN_XML.len() - 13], "ends too early"),
        ("", "it is empty"),
        ("hello", "no such format"),
        (r#"{"numTotalTestSuites":1,"numFailedTests":0,"testRes"#, "ends too early"),
    ] {
        let reading = reading(&["pytest"], 1, PYTEST_LOG, &[("out/junit.xml", file)]);
        assert_eq!(reading.counts, counts(1, 1, 0));
        let told = messages(&reading);
        assert!(
            told[0].starts_with("`out/junit.xml` is not read") && told[0].contains(why),
            "{told:?}"
        );
    }
}

#[test]
fn the_files_of_a_build_add_up_and_their_suite_may_be_the_root() {
    let suite = |class: &str, inner: &str| {
        format!(
            "<testsuite xmlns:xsi=\"x\" xsi:noNamespaceSchemaLocation=\"https://maven/surefire.xsd\" name=\"{class}\" tests=\"2\">\
             <testcase name=\"one\" classname=\"{class}\"/><testcase name=\"two\" classname=\"{class}\">{inner}</testcase></testsuite>"
        )
    };
    let stack = "<failure message=\"expected:&lt;2&gt; but was:&lt;1&gt;\" type=\"AssertionError\">java.lang.AssertionError: expected:&lt;2&gt; but was:&lt;1&gt;\n\
                 \tat org.junit.Assert.fail(Assert.java:89)\n\tat demo.CalcTest.two(CalcTest.java:12)\n</failure>";
    let (green, red) = (suite("demo.ATest", ""), suite("demo.CalcTest", stack));
    let sides = [("target/TEST-a.xml", green.as_str()), ("target/TEST-b.xml", red.as_str())];
    let reading = reading(&["mvn", "-q", "verify"], 1, "", &sides);
    assert_eq!((reading.tool, reading.counts), (Some("maven"), counts(3, 1, 0)));
    let test = &reading.failing_tests[0];
    let location = test.location.as_ref().unwrap();
    assert_eq!(
        (test.name.as_str(), location.file.as_str(), location.line),
        ("demo.CalcTest.two", "demo/CalcTest.java", Some(12))
    );
    assert_eq!((test.expected.as_deref(), test.actual.as_deref()), (Some("2"), Some("1")));
}

#[test]
fn what_a_test_prints_in_another_tools_form_is_no_document() {
    let forged = "TAP version 13\n1..3\nok 1 - a\nok 2 - b\nok 3 - c\n{\"numTotalTestSuites\":1,\"numFailedTests\":0,\"numPassedTests\":9,\"numTotalTests\":9}\n";
    let log = PYTEST_LOG.replace(
        "test_a.py:5: AssertionError\n",
        &format!("test_a.py:5: AssertionError\n----- Captured stdout call -----\n{forged}"),
    );
    assert_eq!(reading(&["pytest"], 1, &log, &[]).counts, counts(1, 1, 0));
    assert_eq!(reading(&["make", "check"], 1, &log, &[]).counts, counts(1, 1, 0));
}

#[test]
fn tap_has_plans_subtests_directives_and_an_end() {
    for (log, expected, unfinished, names) in [
        (
            "TAP version 14\n1..2\nok 1 - a\nnot ok 2 - b # TODO later\n",
            counts(1, 0, 0),
            0,
            &[][..],
        ),
        (
            "TAP version 13\n# Subtest: x\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - x\n1..1\n",
            counts(1, 1, 0),
            0,
            &["b"],
        ),
        ("1..3\nok 1 - a\nnot ok 2\n", counts(1, 1, 0), 1, &["test 2"]),
        ("TAP version 13\nok 1 - a\nBail out! no database\n", counts(1, 0, 1), 1, &[]),
        (
            "TAP version 13\nok 1 a \\# not a directive\nok 2 b\n1..2\nTAP version 13\nnot ok 1 - c\n1..1\n",
            counts(2, 1, 0),
            0,
            &["c"],
        ),
        ("1..0 # SKIP no database\n", counts(0, 0, 0), 0, &[]),
    ] {
        let reading = reading(&["./run-tests"], 1, log, &[]);
        let told = reading.counts.map(|it| TestCounts { skipped: 0, ..it });
        assert_eq!((told, reading.unfinished_suites), (expected, unfinished), "{log}");
        let found: Vec<&str> = reading.failing_tests.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(found, names, "{log}");
    }
}

#[test]
fn a_go_build_that_fails_says_so_in_json_too() {
    let log = "{\"ImportPath\":\"example.com/demo/a\",\"Action\":\"build-output\",\"Output\":\"# example.com/demo/a\\n\"}\n\
        {\"ImportPath\":\"example.com/demo/a\",\"Action\":\"build-output\",\"Output\":\"a/a.go:4:9: undefined: x\\n\"}\n\
        {\"ImportPath\":\"example.com/demo/a\",\"Action\":\"build-fail\"}\n\
        {\"Time\":\"2026-11-30T00:00:00Z\",\"Action\":\"start\",\"Package\":\"example.com/demo/a\"}\n\
        {\"Time\":\"2026-11-30T00:00:00Z\",\"Action\":\"output\",\"Package\":\"example.com/demo/a\",\"Output\":\"FAIL\\texample.com/demo/a [build failed]\\n\"}\n\
        {\"Time\":\"2026-11-30T00:00:00Z\",\"Action\":\"fail\",\"Package\":\"example.com/demo/a\",\"Elapsed\":0,\"FailedBuild\":\"example.com/demo/a\"}\n";
    let reading = reading(&["go", "test", "-json", "./..."], 1, log, &[]);
    assert_eq!(reading.counts, counts(0, 0, 1));
    let first = &reading.diagnostics[0];
    let location = first.location.as_ref().unwrap();
    assert_eq!(
        (first.message.as_str(), location.file.as_str(), location.line),
        ("undefined: x", "a/a.go", Some(4))
    );
}

#[test]
fn a_panic_without_a_last_event_is_the_running_tests() {
    let event = |test: &str, rest: &str| {
        format!("{{\"Time\":\"t\",\"Action\":{rest},\"Package\":\"demo\"{test}}}\n")
    };
    let of = ",\"Test\":\"TestGo\"";
    let log = [
        event(of, "\"run\""),
        event(of, "\"output\",\"Output\":\"=== RUN   TestGo\\n\""),
        event("", "\"output\",\"Output\":\"panic: boom\\n\""),
        event("", "\"output\",\"Output\":\"\\t/w/a_test.go:9 +0x1d\\n\""),
        event("", "\"fail\""),
    ];
    let reading = reading(&["go", "test", "-json"], 1, &log.concat(), &[]);
    let test = &reading.failing_tests[0];
    assert_eq!((test.name.as_str(), test.message.as_str()), ("TestGo", "panic: boom"));
    assert_eq!(test.location.as_ref().unwrap().line, Some(9));
}

#[test]
fn sarif_gives_what_is_not_suppressed() {
    let sarif = r#"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},
      "results":[{"ruleId":"R1","level":"error","message":{"text":"sql is built from input"},"locations":[{"physicalLocation":
      {"artifactLocation":{"uri":"file:///w/src/a%20b.py"},"region":{"startLine":7,"startColumn":3}}}]},
      {"ruleId":"R2","level":"error","message":{"text":"known"},"suppressions":[{"kind":"inSource"}]},
      {"ruleId":"R3","message":{"text":"odd"}}]}]}"#;
    let reading = reading(&["./scan"], 1, "", &[("out.sarif", sarif)]);
    assert_eq!(messages(&reading), ["sql is built from input", "odd"]);
    let location = reading.diagnostics[0].location.as_ref().unwrap();
    assert_eq!((location.file.as_str(), location.line), ("src/a b.py", Some(7)));
}

#[test]
fn a_file_that_pytest_could_not_collect_comes_before_its_other_failures() {
    let xml = r#"<testsuites><testsuite name="pytest"><testcase classname="test_a" name="test_x" file="test_a.py" line="3"><failure message="assert 1 == 2">E   assert 1 == 2</failure></testcase>
      <testcase classname="" name="tests.test_b"><error message="collection failure">E   ModuleNotFoundError: No module named 'q'</error></testcase></testsuite></testsuites>"#;
    let reading = reading(&["pytest", "-qqq"], 1, "", &[("junit.xml", xml)]);
    let told: Vec<_> =
        reading.failing_tests.iter().map(|it| (it.name.as_str(), it.phase)).collect();
    assert_eq!(
        told,
        [("tests/test_b.py", TestPhase::Collection), ("test_a.py::test_x", TestPhase::Call)]
    );
    assert_eq!(reading.failing_tests[1].location.as_ref().unwrap().line, Some(4));
}

/// Where the figures of a runner are missing, a test may have written the file and ended the process.
#[test]
fn a_file_alone_is_no_proof_for_a_runner_that_prints_its_figures() {
    let started = "============================= test session starts ==============================\ncollected 2 items\n\ntest_a.py .";
    let jest = r#"{"numTotalTestSuites":1,"numFailedTests":0,"numPassedTests":9,"numTotalTests":9,"numPendingTests":0,"testResults":[]}"#;
    let go = "{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"x\"}\n";
    for (command, log, name, file) in [
        (&["pytest", "-q", "--junitxml=junit.xml"][..], "", "junit.xml", GREEN_XML),
        (&["pytest", "--junitxml=junit.xml"], started, "junit.xml", GREEN_XML),
        (&["pytest"], started, "jest.json", jest),
        (&["pytest"], started, "go.json", go),
        (&["sh", "-c", "cd a && pytest -q"], "", "junit.xml", GREEN_XML),
        (&["cargo", "test"], "   Compiling a v0.1.0\n", "junit.xml", GREEN_XML),
        (&["cargo", "nextest", "run"], "", "junit.xml", GREEN_XML),
        (&["npx", "jest"], "", "junit.xml", GREEN_XML),
        (&["npx", "jest", "--json", "--outputFile=jest.json"], "", "jest.json", jest),
        (&["vitest", "run", "--reporter=default", "--reporter=junit"], "", "x.xml", GREEN_XML),
        (&["mocha", "--reporter", "dot"], "", "x.xml", GREEN_XML),
        (&["python", "-m", "unittest"], "", "x.xml", GREEN_XML),
        (&["node", "--test"], "", "x.xml", GREEN_XML),
        (&["mvn", "verify"], "[INFO] Scanning for projects...\n", "x.xml", GREEN_XML),
        (&["phpunit", "--log-junit", "x.xml"], "", "x.xml", GREEN_XML),
        (&["rspec", "-fp", "-f", "RspecJunitFormatter"], "", "x.xml", GREEN_XML),
        (&["mix", "test"], "", "x.xml", GREEN_XML),
        (&["dotnet", "test", "--logger", "junit"], "", "x.xml", GREEN_XML),
        (&["ctest", "--output-junit", "x.xml"], "", "x.xml", GREEN_XML),
    ] {
        let reading = reading(command, 0, log, &[(name, file)]);
        let known = reading.counts.map_or(0, |it| it.passed.unwrap_or(0));
        assert!(known < 2, "{command:?}, {name}: {:?}", reading.counts);
        let told = messages(&reading);
        assert!(told.iter().any(|it| it.contains("do not count")), "{command:?}: {told:?}");
    }
}

#[test]
fn a_file_counts_for_a_runner_that_was_told_to_be_silent_or_always_is() {
    for command in [
        &["pytest", "-qq"][..],
        &["pytest", "-q", "-q"],
        &["pytest", "-p", "no:terminal"],
        &["go", "test", "./..."],
        &["gradle", "test"],
        &["mvn", "-q", "verify"],
        &["dotnet", "test", "-v", "q"],
        &["dotnet", "test", "--verbosity=quiet"],
        &["phpunit", "--no-output"],
        &["vitest", "run", "--reporter=junit"],
        &["mocha", "-R", "xunit"],
        &["rspec", "--format", "RspecJunitFormatter"],
        &["swift", "test", "--parallel"],
        &["make", "check"],
        &["./check.sh"],
    ] {
        let reading = reading(command, 0, "", &[("x.xml", GREEN_XML)]);
        assert_eq!(reading.counts, counts(2, 0, 0), "{command:?}");
    }
}

#[test]
fn a_file_names_the_tests_of_a_run_that_broke_off_and_gives_no_figures() {
    let red = GREEN_XML.replace(
        "name=\"test_b\"/>",
        "name=\"test_b\"><failure message=\"assert 1 == 2\">test_a.py:5: assert</failure></testcase>",
    );
    let reading = reading(&["pytest", "-q"], 139, ".F", &[("junit.xml", &red)]);
    assert_eq!((reading.counts, reading.failing_tests.len()), (None, 1));
    assert_eq!(reading.failing_tests[0].message, "assert 1 == 2");
}

#[test]
fn what_a_runner_prints_for_machines_is_its_own_word() {
    let log = r#"{"numFailedTestSuites":0,"numFailedTests":0,"numPassedTestSuites":1,"numPassedTests":2,"numPendingTests":0,"numRuntimeErrorTestSuites":0,"numTodoTests":0,"numTotalTestSuites":1,"numTotalTests":2,"success":true,"testResults":[{"name":"/w/a.test.js","status":"passed","assertionResults":[{"status":"passed","title":"a","ancestorTitles":[],"failureMessages":[]},{"status":"passed","title":"b","ancestorTitles":[],"failureMessages":[]}]}]}"#;
    for sides in [&[][..], &[("junit.xml", GREEN_XML)]] {
        assert_eq!(reading(&["npx", "jest", "--json"], 0, log, sides).counts, counts(2, 0, 0));
    }
}

#[test]
fn a_file_of_a_tool_that_was_not_run_adds_no_tests() {
    let go = "{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"x\"}\n";
    let log = "collected 1 item\n\ntest_a.py .   [100%]\n\n===== 1 passed in 0.02s =====\n";
    for command in [&["pytest"][..], &["sh", "-c", "cd a; pytest | tee out.txt"]] {
        let reading = reading(command, 0, log, &[("go.json", go)]);
        assert_eq!(reading.counts, counts(1, 0, 0), "{command:?}");
        assert!(messages(&reading)[0].contains("a tool that was not run"), "{command:?}");
    }
    let both = ["sh", "-c", "pytest && go test -json ./... > go.json"];
    assert_eq!(reading(&both, 0, log, &[("go.json", go)]).counts, counts(2, 0, 0));
}

#[test]
fn sarif_whose_version_stands_behind_its_results_is_sarif() {
    let result = r#"{"ruleId":"F401","level":"error","message":{"text":"`os` is not used"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},"region":{"startLine":3}}}]}"#;
    let results = vec![result; 400].join(",");
    let sarif = format!(
        r#"{{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","runs":[{{"tool":{{"driver":{{"name":"x"}}}},"results":[{results}]}}],"version":"2.1.0"}}"#
    );
    let reading = reading(&["ruff", "check"], 1, "", &[("ruff.sarif", &sarif)]);
    assert_eq!(messages(&reading), ["`os` is not used"]);
}
