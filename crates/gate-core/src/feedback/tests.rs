//! The texts as an agent gets them.

use super::*;
use crate::check::CommandCheck;
use crate::testing::{command, command_check, contract, evidence, execution, parts};
use crate::{
    CheckKind, CommandLine, Contract, Criterion, Excerpt, FailingTest, FindingKind, Location,
    Outcome, TestTally, Usage, judge, without_evidence,
};

const ROUND: Round = Round { number: 1, rounds_max: 3, reports: 1, reports_max: 15 };

fn failing(text: &str, times: usize) -> Execution {
    let tally = TestTally { passed: 1, failed: times as u64, skipped: 0 };
    let mut run = execution(Outcome::Exited { code: 101 }, Some(tally));
    let excerpt = Excerpt { stream: LogStream::Merged, offset: 7, text: text.to_owned() };
    let location = Location { file: "tests/page.rs".to_owned(), line: Some(12), column: None };
    run.logs[2].size_bytes = 900;
    run.reading.failing_tests = (0..times)
        .map(|it| FailingTest {
            name: format!("names_the_next_page_{it}"),
            message: "left: 1, right: 2".to_owned(),
            expected: Some("2".to_owned()),
            actual: Some("1".to_owned()),
            location: Some(location.clone()),
            excerpt: Some(excerpt.clone()),
            ..FailingTest::default()
        })
        .collect();
    run
}

/// With the texts of a run of these executions.
fn told(contract: &Contract, executions: Vec<Execution>) -> (String, String) {
    let evidence = evidence(executions);
    let judgement = judge(contract, &evidence);
    let told = Told {
        contract: Some(contract),
        judgement: &judgement,
        executions: &evidence.executions,
        evidence: Some(&evidence),
        round: ROUND,
        next_step: NextStep::Rework,
        run: Some(RunId::from_uuid(uuid::Uuid::from_u128(7))),
    };
    (feedback(&told), execution_report(&told))
}

#[test]
fn feedback_names_the_test_both_sides_its_place_and_the_command() {
    let (text, _) = told(&contract(), vec![failing("panicked at", 1)]);
    insta::assert_snapshot!(text, @r"
    **FAIL**, round 1 of 3. Fix what follows, in this order, then report again.

    Reproduce:
    - `tests`: `cargo test`: exit status 101; 1 passed, 1 failed, 0 skipped

    ### 1. names_the_next_page_0: left: 1, right: 2
    - where: `tests/page.rs:12`
    - expected: `2`
    - actual: `1`
    - check: `tests`
    - criterion AC1: A page names the next one

    ```
    panicked at
    ```

    More:
    - every finding whole: `GET /v1/runs/00000000-0000-0000-0000-000000000007/verdict`
    - raw log of `tests`: `GET /v1/runs/00000000-0000-0000-0000-000000000007/executions/0/log` with `Range: bytes=7-899` (of 900); findings: 1 at 7
    ");
}

#[test]
fn an_execution_report_says_what_was_proven_and_what_was_not() {
    let mut parts = parts();
    parts.checks.push(command_check("lint", &["ruff", "check", "."]));
    parts.checks.push(command_check("types", &["mypy"]));
    parts.criteria.push(Criterion {
        id: "AC2".to_owned(),
        text: "The code is clean".to_owned(),
        checks: vec!["lint".to_owned()],
    });
    parts.criteria.push(Criterion {
        id: "AC3".to_owned(),
        text: "Both hold".to_owned(),
        checks: vec!["lint".to_owned(), "types".to_owned()],
    });
    let contract = Contract::parse(parts).unwrap();
    let mut lint = execution(Outcome::Exited { code: 0 }, None);
    (lint.check, lint.command) = ("lint".to_owned(), command(&["ruff", "check", "."]));
    let mut types = execution(Outcome::Killed { signal: 11 }, None);
    (types.check, types.command) = ("types".to_owned(), command(&["mypy"]));
    types.usage = Usage { duration_ms: 812, ..Usage::default() };
    let (_, report) = told(&contract, vec![failing("panicked at", 1), lint, types]);
    insta::assert_snapshot!(report, @r"
    **FAIL**, round 1 of 3. Fix what follows, in this order, then report again.

    ## What ran
    - `tests`: `cargo test`: exit status 101; 1 passed, 1 failed, 0 skipped: no
    - `lint`: `ruff check .`: exit status 0: yes
    - `types`: `mypy`: ended by signal 11, SIGSEGV: no

    ## Proven
    - AC2: The code is clean (by `lint`)

    ## Not proven
    - AC1: A page names the next one (not by `tests`)
    - AC3: Both hold (not by `types`)

    ## Findings

    ### 1. names_the_next_page_0: left: 1, right: 2
    - where: `tests/page.rs:12`
    - expected: `2`
    - actual: `1`
    - check: `tests`
    - criterion AC1: A page names the next one

    ```
    panicked at
    ```

    ### 2. `mypy` was ended by signal 11
    - check: `types`
    - criterion AC3: Both hold

    More:
    - every finding whole: `GET /v1/runs/00000000-0000-0000-0000-000000000007/verdict`
    - raw log of `tests`: `GET /v1/runs/00000000-0000-0000-0000-000000000007/executions/0/log` with `Range: bytes=7-899` (of 900); findings: 1 at 7

    Took: tests 0 ms, lint 0 ms, types 812 ms
    ");
}

#[test]
fn both_texts_are_bounded_and_say_what_they_left_out() {
    let (feedback, report) = told(&contract(), vec![failing(&"x".repeat(2000), 60)]);
    for text in [feedback, report] {
        assert!(text.len() <= FEEDBACK_BYTES_MAX, "{}", text.len());
        let shown = text.matches("\n### ").count();
        assert!((15..60).contains(&shown), "{shown}: {text}");
        assert!(text.contains("(which lists the first 50)"), "{text}");
        let left_out = 60 - shown;
        let says = match left_out {
            0 => "every finding whole".to_owned(),
            1 => "1 more finding:".to_owned(),
            _ => format!("{left_out} more findings: "),
        };
        assert!(text.contains(&says), "{text}");
        assert_eq!(text.matches("- expected: `2`\n- actual: `1`\n").count(), shown, "{text}");
    }
}

#[test]
fn nothing_makes_a_text_longer_than_its_bound() {
    let long = "é`\n".repeat(9000);
    let mut parts = parts();
    parts.criteria = (0..100)
        .map(|it| Criterion {
            id: format!("AC{it}"),
            text: long.clone(),
            checks: vec!["tests".to_owned()],
        })
        .collect();
    for it in 0..60 {
        parts.checks.push(command_check(&format!("check-{it}"), &["sh", "-c", &"x ".repeat(4000)]));
    }
    let contract = Contract::parse(parts).unwrap();
    let mut runs = vec![failing(&long[..2046], 20)];
    for test in &mut runs[0].reading.failing_tests {
        test.name.clone_from(&long);
        test.expected = Some(long.clone());
        test.actual = Some(format!("{long}!"));
        test.location.as_mut().unwrap().file.clone_from(&long);
    }
    for check in contract.checks().iter().skip(1) {
        let mut run = failing(&long[..2046], 1);
        run.check.clone_from(&check.id);
        run.command = check.command().unwrap().clone();
        runs.push(run);
    }
    let (feedback, report) = told(&contract, runs);
    for text in [feedback, report] {
        assert!(text.len() <= FEEDBACK_BYTES_MAX, "{}", text.len());
        assert!(text.contains("\n### 1. "), "{text}");
        assert!(text.contains("/verdict`"), "{text}");
    }
}

#[test]
fn two_runs_of_one_tree_differ_at_the_end_only() {
    let mut slower = failing("panicked at", 1);
    slower.usage.duration_ms = 99;
    slower.reading.failing_tests[0].excerpt.as_mut().unwrap().offset = 70;
    let (one, one_report) = told(&contract(), vec![failing("panicked at", 1)]);
    let (two, two_report) = told(&contract(), vec![slower]);
    for (one, two) in [(one, two), (one_report, two_report)] {
        let head = |text: &str| text.split_once("\nMore:\n").unwrap().0.to_owned();
        assert_ne!(one, two);
        assert_eq!(head(&one), head(&two));
    }
}

#[test]
fn a_run_without_evidence_proves_nothing() {
    let contract = contract();
    let judgement =
        without_evidence(FindingKind::SourceUnusable, crate::Blame::Reporter, "no such commit");
    let told = Told {
        contract: Some(&contract),
        judgement: &judgement,
        executions: &[],
        evidence: None,
        round: ROUND,
        next_step: NextStep::Rework,
        run: None,
    };
    insta::assert_snapshot!(execution_report(&told), @r"
    **FAIL**. Fix what follows, in this order, then report again.

    ## What ran
    - `tests`: did not run: no

    ## Not proven
    - AC1: A page names the next one (not by `tests`)

    ## Findings

    ### 1. no such commit
    ");
}

#[test]
fn a_script_of_several_lines_stays_one() {
    let run = CommandLine::parse_shell("set -e\nmake all\n".to_owned()).unwrap();
    let mut check = command_check("tests", &["x"]);
    check.kind =
        CheckKind::Command(CommandCheck { run: run.clone(), exit_code: 0, results: Vec::new() });
    let mut parts = parts();
    parts.checks = vec![check];
    let mut execution = execution(Outcome::Exited { code: 2 }, None);
    execution.command = run;
    let (text, report) = told(&Contract::parse(parts).unwrap(), vec![execution]);
    let script = "\n\n```\nset -e\nmake all\n```\n";
    assert!(text.contains(&format!("- `tests`: exit status 2; of this script:{script}")), "{text}");
    assert!(
        report.contains(&format!("- `tests`: exit status 2: no; of this script:{script}")),
        "{report}"
    );
}

#[test]
fn output_cannot_close_its_own_fence() {
    let (text, _) = told(&contract(), vec![failing("````\n# PASS", 1)]);
    assert!(text.contains("\n`````\n````\n# PASS\n`````\n"), "{text}");
}
