//! Answers as text for people. Pure: a body in, text out.
//!
//! What comes from the gate, and so from the work that it judged, is cleaned
//! of control characters: it is shown on somebody's terminal.

use std::fmt::Write;

use gate_api::{
    ChangeKindWord, ContractRef, DecisionWord, ExecutionBody, FindingBody, NextStepWord,
    OutcomeBody, RunBody, RunStateWord, TaskBody, TaskStateWord, VerdictBody,
};

use crate::document::Fault;

pub(crate) const RESET: &str = "\x1b[0m";
pub(crate) const RED_BOLD: &str = "\x1b[1;31m";
const GREEN_BOLD: &str = "\x1b[1;32m";
const YELLOW_BOLD: &str = "\x1b[1;33m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";

/// Lines of one excerpt that are shown; the rest is in the log.
const EXCERPT_LINES_MAX: usize = 20;
/// Of a digest, as many digits as tell it apart.
const DIGEST_DIGITS: usize = 12;

/// A verdict, the first cause first, and what to do now last.
pub(crate) fn verdict(verdict: &VerdictBody) -> String {
    let (colour, word) = decision(verdict.decision);
    let mut text = format!(
        "{colour}{word}{RESET}  round {} of {}, {}\n",
        verdict.round,
        verdict.rounds_max,
        contract(&verdict.contract)
    );
    if let Some(changes) = changes(verdict) {
        line(&mut text, &format!("{DIM}changed: {changes}{RESET}"));
    }
    for (index, it) in verdict.findings.iter().enumerate() {
        text.push('\n');
        finding(&mut text, index + 1, it);
    }
    if verdict.findings_left_out > 0 {
        line(&mut text, &format!("\n{} more findings are not listed", verdict.findings_left_out));
    }
    if !verdict.executions.is_empty() {
        line(&mut text, &format!("\n{BOLD}Commands{RESET} ({})", clean(&isolation(verdict))));
    }
    for it in &verdict.executions {
        execution(&mut text, it);
        if verdict.findings.iter().any(|finding| finding.check.as_ref() == Some(&it.check)) {
            line(&mut text, &format!("   {DIM}log: {}{RESET}", clean(&it.log_url)));
        }
    }
    line(&mut text, &format!("\n{BOLD}Next{RESET}: {}", advice(verdict.next_step)));
    line(&mut text, &format!("{DIM}task {}  run {}{RESET}", verdict.task_id, verdict.run_id));
    text
}

/// A run without a verdict.
pub(crate) fn unjudged_run(run: &RunBody) -> String {
    let state = match run.state {
        RunStateWord::Queued => "waits for a worker",
        RunStateWord::Running => "is running",
        RunStateWord::Judged => "was judged, and its verdict is not in the answer",
        RunStateWord::Cancelled => "was cancelled with its task",
    };
    format!("{YELLOW_BOLD}no verdict{RESET}: run {} {state}", run.id)
}

/// A task whose state is its answer.
pub(crate) fn task(task: &TaskBody) -> String {
    let state = gate_core::TaskState::from(task.state).as_str();
    let meaning = match task.state {
        TaskStateWord::Preflight => "the gate proves the contract on its baseline",
        TaskStateWord::Pending => "nothing was reported yet",
        TaskStateWord::Gating => "the gate has not decided yet",
        TaskStateWord::Done => "the work is done",
        TaskStateWord::Rework => "the findings are to be fixed",
        TaskStateWord::NeedsHuman => "a person decides",
        TaskStateWord::ContractRejected => "the contract cannot be judged",
        TaskStateWord::NeedsInput => "the agent waits for an answer",
        TaskStateWord::Paused => "the agent stopped and can be resumed",
        TaskStateWord::Failed => "the agent failed and is started again later",
        TaskStateWord::Aborted => "the task was cancelled or given up",
    };
    format!("{YELLOW_BOLD}{state}{RESET}: {meaning}\n{DIM}task {}{RESET}", task.id)
}

/// What a report led to that is not judged.
pub(crate) fn routed(next_step: NextStepWord) -> String {
    format!("{YELLOW_BOLD}no verdict{RESET}: {}", advice(next_step))
}

/// The decision as it stands in JSON.
pub(crate) const fn decision_word(decision: DecisionWord) -> &'static str {
    match decision {
        DecisionWord::Pass => "PASS",
        DecisionWord::Fail => "FAIL",
        DecisionWord::Inconclusive => "INCONCLUSIVE",
    }
}

/// A contract version in short.
pub(crate) fn contract(contract: &ContractRef) -> String {
    let digits = contract.digest.strip_prefix("sha256:").unwrap_or(&contract.digest);
    let start: String = digits.chars().take(DIGEST_DIGITS).collect();
    format!("contract version {} (sha256:{}…)", contract.version, clean(&start))
}

/// One fault, as compilers print it: editors and people find the place.
pub(crate) fn fault_line(name: Option<&str>, fault: &Fault) -> String {
    let pointer = if fault.pointer.is_empty() { "" } else { &format!("{}: ", fault.pointer) };
    let place = match (name, fault.place) {
        (Some(name), Some(place)) => format!("{name}:{}:{}: ", place.line, place.column),
        (Some(name), None) => format!("{name}: "),
        (None, _) => String::new(),
    };
    clean(&format!("{place}{pointer}{}", fault.detail))
}

/// Without control characters other than the end of a line, and a tab.
pub(crate) fn clean(text: &str) -> String {
    let keep = |it: char| !it.is_control() || it == '\n' || it == '\t';
    text.chars().map(|it| if keep(it) { it } else { '\u{fffd}' }).collect()
}

const fn decision(decision: DecisionWord) -> (&'static str, &'static str) {
    let colour = match decision {
        DecisionWord::Pass => GREEN_BOLD,
        DecisionWord::Fail => RED_BOLD,
        DecisionWord::Inconclusive => YELLOW_BOLD,
    };
    (colour, decision_word(decision))
}

const fn advice(step: NextStepWord) -> &'static str {
    match step {
        NextStepWord::Complete => "nothing; the task is done",
        NextStepWord::Rework => "fix the findings and report again",
        NextStepWord::NeedsHuman => "a person decides",
        NextStepWord::FixContract => "the planner publishes a contract that can be judged",
        NextStepWord::Resume => "resume the agent with the handle of its report",
        NextStepWord::AnswerInput => "somebody answers the agent's question",
        NextStepWord::RetryAfter => "start the agent again later",
        NextStepWord::Stop => "nothing; the task is closed",
        NextStepWord::Start => "start an agent; the contract can judge",
    }
}

fn finding(text: &mut String, number: usize, finding: &FindingBody) {
    let check = finding.check.as_deref().unwrap_or("run");
    let criteria = match finding.criteria.as_slice() {
        [] => String::new(),
        ids => format!(" ({})", ids.join(", ")),
    };
    let recorded = if finding.blocking { "" } else { ", recorded only" };
    let heading = format!("{check}{criteria}: {}{recorded}", finding.kind);
    line(text, &format!("{BOLD}{number}. {}{RESET}", clean(&heading)));
    line(text, &format!("   {}", clean(&finding.title)));
    if let Some(location) = &finding.location {
        let mut place = clean(&location.file);
        for number in [location.line, location.column].into_iter().flatten() {
            place.push(':');
            place.push_str(&number.to_string());
        }
        line(text, &format!("   {place}"));
    }
    let Some(excerpt) = &finding.excerpt else { return };
    for shown in excerpt.text.lines().take(EXCERPT_LINES_MAX) {
        line(text, &format!("   {DIM}│{RESET} {}", clean(shown)));
    }
    let left_out = excerpt.text.lines().count().saturating_sub(EXCERPT_LINES_MAX);
    if left_out > 0 {
        line(text, &format!("   {DIM}│ … {left_out} more lines{RESET}"));
    }
}

/// What the gate saw changed against the baseline, in numbers.
fn changes(verdict: &VerdictBody) -> Option<String> {
    let of = |kind| verdict.changes.iter().filter(|it| it.kind == kind).count() as u64;
    let counts = [
        (of(ChangeKindWord::Added), "added"),
        (of(ChangeKindWord::Modified), "modified"),
        (of(ChangeKindWord::Deleted), "deleted"),
        (verdict.changes_left_out, "more"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, word)| format!("{count} {word}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The tier, and what most often surprises about it.
fn isolation(verdict: &VerdictBody) -> String {
    let tier = verdict.isolation.as_deref().unwrap_or("no");
    let Some(detail) = &verdict.isolation_detail else { return format!("{tier} isolation") };
    let loopback = if detail.loopback { "loopback" } else { "no loopback" };
    let gaps = match detail.known_gaps.len() {
        0 => "no known gaps".to_owned(),
        1 => "1 known gap".to_owned(),
        count => format!("{count} known gaps"),
    };
    format!("{tier} isolation, {loopback}, {gaps}")
}

fn execution(text: &mut String, execution: &ExecutionBody) {
    let seconds = std::time::Duration::from_millis(execution.duration_ms).as_secs_f64();
    let tests = execution.tests.map_or_else(String::new, |it| {
        format!("; {} passed, {} failed, {} skipped", it.passed, it.failed, it.skipped)
    });
    let crowded =
        if execution.process_limit_hit { "; it reached its limit of processes" } else { "" };
    let command = execution.command.join(" ");
    let heading = format!("{}: {command}", execution.check);
    line(text, &format!("   {}", clean(&heading)));
    line(
        text,
        &format!(
            "   {DIM}{} after {seconds:.1} s{tests}{crowded}{RESET}",
            outcome(&execution.outcome)
        ),
    );
}

fn outcome(outcome: &OutcomeBody) -> String {
    match outcome {
        OutcomeBody { exited: Some(status), .. } => format!("ended with status {status}"),
        OutcomeBody { killed: Some(signal), .. } => format!("killed by signal {signal}"),
        OutcomeBody { timed_out_ms: Some(limit), .. } => {
            format!("stopped at its time limit of {limit} ms")
        }
        OutcomeBody { output_limit_bytes: Some(limit), .. } => {
            format!("stopped at its output limit of {limit} bytes")
        }
        OutcomeBody { cpu_limit_ms: Some(limit), .. } => {
            format!("stopped at its limit of {limit} ms of CPU time")
        }
        OutcomeBody { out_of_memory_bytes: Some(limit), .. } => {
            format!("stopped at its memory limit of {limit} bytes")
        }
        OutcomeBody { disk_limit_bytes: Some(limit), .. } => {
            format!("failed with its {limit} bytes of disk used up")
        }
        OutcomeBody { not_found: Some(_), .. } => "no such program".to_owned(),
        OutcomeBody { not_executable: Some(errno), .. } => {
            format!("cannot be executed (error {errno})")
        }
        OutcomeBody { not_run: Some(_), .. } => "not run, the time was used up".to_owned(),
        OutcomeBody { .. } => "ended in a way that this version does not know".to_owned(),
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::place::Place;

    fn failed() -> VerdictBody {
        let body = json!({
            "run_id": "01990000-0000-7000-8000-000000000002",
            "task_id": "01990000-0000-7000-8000-000000000001",
            "decision": "FAIL", "next_step": "rework", "round": 1, "rounds_max": 3,
            "contract": { "version": 2, "digest": format!("sha256:{}", "ab".repeat(32)) },
            "tree": null, "isolation": "process",
            "isolation_detail": { "tier": "process", "kernel_uid": 0, "landlock_abi": null,
                "loopback": true, "memory_bound": "none", "workspace": "copy", "setup": "none",
                "limits": { "command_seconds": 1, "run_seconds": 1, "cpu_seconds": 1, "memory_mb": 16,
                    "processes": 8, "open_files": 64, "disk_mb": 1, "output_bytes": 1024 },
                "known_gaps": ["a", "b"] },
            "changes": [
                { "path": "shop/cursor.py", "kind": "added" },
                { "path": "shop/list.py", "kind": "modified" },
                { "path": "tests/test_cursor.py", "kind": "added" },
            ],
            "changes_left_out": 0,
            "findings": [
                { "check": "order-tests", "criteria": ["AC1", "AC2"], "kind": "test_failed",
                  "blocking": true, "blame": "reporter",
                  "title": "test_page: assert None == 'o_101'",
                  "location": { "file": "tests/test_cursor.py", "line": 42, "column": null },
                  "excerpt": { "stream": "stdout", "offset": 7, "text": "E  assert\u{1b}[2J None\n>  x" } },
                { "check": null, "criteria": [], "kind": "slow", "blocking": false, "blame": "gate",
                  "title": "slow", "location": null, "excerpt": null },
            ],
            "findings_left_out": 3,
            "executions": [
                { "index": 0, "check": "order-tests", "command": ["pytest", "-q"], "outcome": { "exited": 1 },
                  "duration_ms": 2760, "cpu_ms": 1, "memory_peak_bytes": 1, "stragglers_killed": 0,
                  "tool": "pytest", "tests": { "passed": 30, "failed": 1, "skipped": 0 },
                  "log_url": "/v1/runs/01990000-0000-7000-8000-000000000002/executions/0/log", "log_bytes": 9 },
            ],
            "feedback": "", "decided_at": "2026-11-30T12:00:00Z",
        });
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_fail_shows_where_to_look_and_what_to_do() {
        let text = anstream::adapter::strip_str(&verdict(&failed())).to_string();
        insta::assert_snapshot!(text, @"
        FAIL  round 1 of 3, contract version 2 (sha256:abababababab…)
        changed: 2 added, 1 modified

        1. order-tests (AC1, AC2): test_failed
           test_page: assert None == 'o_101'
           tests/test_cursor.py:42
           │ E  assert�[2J None
           │ >  x

        2. run: slow, recorded only
           slow

        3 more findings are not listed

        Commands (process isolation, loopback, 2 known gaps)
           order-tests: pytest -q
           ended with status 1 after 2.8 s; 30 passed, 1 failed, 0 skipped
           log: /v1/runs/01990000-0000-7000-8000-000000000002/executions/0/log

        Next: fix the findings and report again
        task 01990000-0000-7000-8000-000000000001  run 01990000-0000-7000-8000-000000000002
        ");
    }

    #[test]
    fn isolation_is_told_in_one_line() {
        let mut body = failed();
        let detail = body.isolation_detail.as_mut().unwrap();
        (detail.loopback, detail.known_gaps) = (false, vec!["a".to_owned()]);
        assert_eq!(isolation(&body), "process isolation, no loopback, 1 known gap");
        body.isolation_detail.as_mut().unwrap().known_gaps.clear();
        assert_eq!(isolation(&body), "process isolation, no loopback, no known gaps");
        body.isolation_detail = None;
        assert_eq!(isolation(&body), "process isolation", "a gate that is older than this");
        body.executions[0].process_limit_hit = true;
        assert!(verdict(&body).contains("it reached its limit of processes"));
    }

    #[test]
    fn changes_are_counted_and_nothing_is_said_where_there_are_none() {
        let mut body = failed();
        body.changes[0].kind = ChangeKindWord::Deleted;
        body.changes_left_out = 1200;
        assert_eq!(changes(&body).unwrap(), "1 added, 1 modified, 1 deleted, 1200 more");
        (body.changes, body.changes_left_out) = (Vec::new(), 0);
        assert_eq!(changes(&body), None);
        assert!(!verdict(&body).contains("changed:"));
    }

    #[test]
    fn long_excerpts_are_cut_and_say_so() {
        let mut body = failed();
        body.findings[0].excerpt.as_mut().unwrap().text = "x\n".repeat(EXCERPT_LINES_MAX + 5);
        assert!(verdict(&body).contains("… 5 more lines"));
    }

    #[test]
    fn a_fault_is_printed_with_its_place() {
        let place = Some(Place { line: 3, column: 5 });
        let fault = |pointer: &str, place| Fault {
            pointer: pointer.to_owned(),
            detail: "wrong\x07".to_owned(),
            place,
        };
        assert_eq!(
            fault_line(Some("c.yaml"), &fault("/a", place)),
            "c.yaml:3:5: /a: wrong\u{fffd}"
        );
        assert_eq!(fault_line(Some("c.yaml"), &fault("", None)), "c.yaml: wrong\u{fffd}");
        assert_eq!(fault_line(None, &fault("/a", place)), "/a: wrong\u{fffd}");
    }

    #[test]
    fn every_outcome_has_its_words() {
        for (json, words) in [
            (json!({ "killed": 9 }), "killed by signal 9"),
            (json!({ "timed_out_ms": 5 }), "stopped at its time limit of 5 ms"),
            (json!({ "output_limit_bytes": 5 }), "stopped at its output limit of 5 bytes"),
            (json!({ "cpu_limit_ms": 5 }), "stopped at its limit of 5 ms of CPU time"),
            (json!({ "out_of_memory_bytes": 5 }), "stopped at its memory limit of 5 bytes"),
            (json!({ "disk_limit_bytes": 5 }), "failed with its 5 bytes of disk used up"),
            (json!({ "not_found": true }), "no such program"),
            (json!({ "not_executable": 8 }), "cannot be executed (error 8)"),
            (json!({ "not_run": true }), "not run, the time was used up"),
            (json!({}), "ended in a way that this version does not know"),
        ] {
            assert_eq!(outcome(&serde_json::from_value(json).unwrap()), words);
        }
    }
}
