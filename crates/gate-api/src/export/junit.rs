//! JUnit XML: a suite for each check, a case for each of its failing tests.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    Status, Suite, clean, command_line, decision, details, line, name, outcome, status, suites,
};
use crate::{FindingBody, VerdictBody};

pub(super) fn write(verdict: &VerdictBody) -> String {
    let mut report = Report::new("donegate");
    report.set_timestamp(verdict.decided_at.fixed_offset());
    let took = verdict.executions.iter().map(|it| it.duration_ms).sum();
    report.set_time(Duration::from_millis(took));
    report.add_test_suites(suites(verdict).iter().map(suite));
    // Readers take a document without a case for a run that never was.
    if report.tests == 0 {
        let mut suite = TestSuite::new("verdict");
        suite.add_test_case(TestCase::new(decision(verdict), TestCaseStatus::success()));
        report.add_test_suite(suite);
    }
    if let Some(suite) = report.test_suites.first_mut() {
        suite.add_property(Property::new("decision", decision(verdict)));
        suite.add_property(Property::new("run", verdict.run_id.to_string()));
        suite.add_property(Property::new(
            "findings_left_out",
            verdict.findings_left_out.to_string(),
        ));
    }
    report.to_string().expect("a document without invalid characters can be written to memory")
}

fn suite(suite: &Suite<'_>) -> TestSuite {
    let mut written = TestSuite::new(clean(suite.name));
    if let Some(execution) = suite.execution {
        written.set_time(Duration::from_millis(execution.duration_ms));
        written.add_property(Property::new("command", command_line(execution)));
        written.add_property(Property::new("outcome", outcome(execution)));
        if let Some(tests) = execution.tests {
            let figures =
                [("passed", tests.passed), ("failed", tests.failed), ("skipped", tests.skipped)];
            for (name, figure) in figures {
                written.add_property(Property::new(format!("tests_{name}"), figure.to_string()));
            }
        }
    }
    if suite.findings.is_empty() {
        let mut case = TestCase::new(clean(suite.name), TestCaseStatus::success());
        case.set_classname(clean(suite.name));
        if let Some(execution) = suite.execution {
            case.set_time(Duration::from_millis(execution.duration_ms));
        }
        written.add_test_case(case);
    }
    written.add_test_cases(suite.findings.iter().map(|it| case(suite.name, it)));
    written
}

fn case(suite: &str, finding: &FindingBody) -> TestCase {
    let mut written = match status(finding) {
        Status::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        Status::Recorded => TestCaseStatus::skipped(),
    };
    written.set_message(clean(&finding.title)).set_type(finding.kind.clone());
    // The library drops tabs together with terminal escapes.
    let details = details(finding).replace('\t', "    ");
    if !details.is_empty() {
        written.set_description(details);
    }
    let mut case = TestCase::new(name(finding), written);
    case.set_classname(clean(suite));
    if let Some(location) = &finding.location {
        case.extra.insert("file".into(), clean(&location.file).into());
    }
    if let Some(line) = line(finding) {
        case.extra.insert("line".into(), line.to_string().into());
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{hostile, passed, verdict};

    #[test]
    fn a_check_is_a_suite_and_a_failing_test_is_a_case() {
        insta::assert_snapshot!(write(&verdict()), @r##"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="donegate" tests="4" skipped="1" failures="2" errors="0" timestamp="2026-11-30T12:00:00.000+00:00" time="2.880">
            <testsuite name="order-tests" tests="1" skipped="0" errors="0" failures="1" time="2.760">
                <properties>
                    <property name="command" value="pytest -q"/>
                    <property name="outcome" value="exited 1"/>
                    <property name="tests_passed" value="30"/>
                    <property name="tests_failed" value="1"/>
                    <property name="tests_skipped" value="0"/>
                    <property name="decision" value="FAIL"/>
                    <property name="run" value="01990000-0000-7000-8000-000000000002"/>
                    <property name="findings_left_out" value="0"/>
                </properties>
                <testcase name="test_page &gt; names the next" classname="order-tests" file="tests/test cursor.py" line="42">
                    <failure message="test_page &gt; names the next: assert None == &apos;o_101&apos;" type="test_failed">expected: &apos;o_101&apos;
        actual: None
        E    assert</failure>
                </testcase>
            </testsuite>
            <testsuite name="lint" tests="1" skipped="0" errors="0" failures="0" time="0.120">
                <properties>
                    <property name="command" value="ruff check ."/>
                    <property name="outcome" value="exited 0"/>
                </properties>
                <testcase name="lint" classname="lint" time="0.120"/>
            </testsuite>
            <testsuite name="guide" tests="1" skipped="0" errors="0" failures="1">
                <testcase name="`docs/a.md` does not exist" classname="guide" file="docs/a.md">
                    <failure message="`docs/a.md` does not exist" type="file_missing"/>
                </testcase>
            </testsuite>
            <testsuite name="run" tests="1" skipped="1" errors="0" failures="0">
                <testcase name="it was slow" classname="run">
                    <skipped message="it was slow" type="slow"/>
                </testcase>
            </testsuite>
        </testsuites>
        "##);
    }

    #[test]
    fn what_was_written_is_read_back_by_another_library() {
        let read = |text: &str| junit_parser::from_reader(text.as_bytes()).unwrap();
        let report = read(&write(&verdict()));
        let suites: Vec<_> = report
            .suites
            .iter()
            .map(|it| (&*it.name, it.tests, it.failures, it.errors, it.skipped))
            .collect();
        let expected = [
            ("order-tests", 1, 1, 0, 0),
            ("lint", 1, 0, 0, 0),
            ("guide", 1, 1, 0, 0),
            ("run", 1, 0, 0, 1),
        ];
        assert_eq!(suites, expected);
        let report = read(&write(&passed()));
        assert_eq!((report.suites[0].cases.len(), report.suites[0].failures), (1, 0));
        let hostile = read(&write(&hostile()));
        let case = &hostile.suites[0].cases[0];
        assert_eq!(case.original_name, "a <b> & \"c\" ]]> \u{fffd}[31m \u{fffd}\u{fffd} é");
    }
}
