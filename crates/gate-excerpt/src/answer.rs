//! A log outside of a run: what the gate would say of it, for people who report one that was misread.
//!
//! The judge is the gate's own, with one check around the log's command.

use gate_core::check::{CommandCheck, TestsCheck};
use gate_core::{
    Check, CheckKind, CommandLine, Decision, Execution, Judgement, Location, LogRef, NextStep,
    Outcome, Reading, Round, Severity, Sha256Digest, Told, Usage, feedback, judge_alone,
};
use serde_json::{Value, json};

use crate::Input;

/// Of the text that an agent gets for one command: more excerpts are added up to here.
const SHOWN_BYTES: usize = 1_200;
/// The id of the one check.
const CHECK: &str = "log";
/// What makes a command a script.
const SCRIPT_SIGNS: [char; 10] = ['|', ';', '&', '(', '$', '>', '<', '`', '"', '\''];

/// What the check around a log asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Did tests run, and did all pass?
    Tests,
    /// Did the command end with 0?
    Command,
}

/// What the gate would say of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The tool's name.
    pub tool: String,
    /// The first cause first.
    pub errors: Vec<AnswerError>,
    /// Names, as the runner prints them.
    pub failing_tests: Vec<String>,
    /// Passed and failed, without errors at set-up.
    pub counts: (u64, u64),
    /// The lines that an agent gets.
    pub excerpt: String,
    /// Whether the check passes.
    pub passes: bool,
    /// Markdown for the next prompt.
    pub feedback: String,
}

/// An error of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerError {
    /// What it says, as a verdict's finding says it.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
}

impl Answer {
    /// Judges what was read of a log.
    #[must_use]
    pub fn new(input: &Input<'_>, reading: &Reading, asked: Asked) -> Self {
        let execution = execution(input, reading);
        let judgement = judge(&execution, asked);
        let (errors, excerpt) = errors(reading);
        Self {
            tool: reading.tool.unwrap_or("generic").to_owned(),
            errors,
            failing_tests: reading.failing_tests.iter().map(|it| it.name.clone()).collect(),
            counts: reading.counts.map_or((0, 0), |it| (it.passed.unwrap_or(0), it.failed)),
            excerpt,
            passes: judgement.decision == Decision::Pass,
            feedback: told(&execution, &judgement),
        }
    }

    /// In the form in which extractors of failures are compared.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let errors = self.errors.iter().map(|it| {
            let file = it.location.as_ref().map(|it| it.file.clone());
            let line = it.location.as_ref().and_then(|it| it.line);
            json!({ "file": file, "line": line, "message": it.message })
        });
        json!({
            "tool": self.tool,
            "errors": errors.collect::<Vec<_>>(),
            "failing_tests": self.failing_tests,
            "counts": { "passed": self.counts.0, "failed": self.counts.1 },
            "excerpt": self.excerpt,
            "verdict": if self.passes { "PASS" } else { "FAIL" },
        })
    }
}

/// The words of a command as somebody typed it: a script for the shell, where it has signs of one.
#[must_use]
pub fn command_words(command: &str) -> Vec<String> {
    if command.contains(SCRIPT_SIGNS) {
        return vec!["bash".to_owned(), "-c".to_owned(), command.to_owned()];
    }
    command.split_whitespace().map(str::to_owned).collect()
}

fn errors(reading: &Reading) -> (Vec<AnswerError>, String) {
    let tests = reading.failing_tests.iter().map(|it| {
        let message = format!("{}: {}", it.name, it.message);
        (AnswerError { message, location: it.location.clone() }, it.excerpt.as_ref())
    });
    let mut diagnostics: Vec<_> = reading.diagnostics.iter().collect();
    diagnostics.sort_by_key(|it| it.severity != Severity::Error);
    let diagnostics = diagnostics.into_iter().map(|it| {
        let code = it.code.as_ref().filter(|code| !it.message.contains(code.as_str()));
        let code = code.map(|it| format!("{it}: ")).unwrap_or_default();
        let message = format!("{code}{}", it.message);
        (AnswerError { message, location: it.location.clone() }, it.excerpt.as_ref())
    });
    let mut excerpt = String::new();
    let mut errors = Vec::new();
    for (error, shown) in tests.chain(diagnostics) {
        let text = shown.map_or("", |it| it.text.as_str());
        let fits = excerpt.is_empty() || excerpt.len() + text.len() < SHOWN_BYTES;
        if fits && !text.is_empty() {
            excerpt.push_str(text);
            excerpt.push('\n');
        }
        errors.push(error);
    }
    if excerpt.is_empty() {
        excerpt = reading.tail.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    }
    (errors, excerpt)
}

fn execution(input: &Input<'_>, reading: &Reading) -> Execution {
    let outcome = match (input.timed_out, input.signal, input.exit_code) {
        (true, _, _) => Outcome::TimedOut { limit_ms: 1 },
        (false, Some(signal), _) => Outcome::Killed { signal },
        (false, None, code) => Outcome::Exited { code: code.unwrap_or(1) },
    };
    let log = |size_bytes| LogRef { sha256: Sha256Digest::from_bytes([0; 32]), size_bytes };
    Execution {
        check: CHECK.to_owned(),
        command: command(input),
        outcome,
        usage: Usage::default(),
        stragglers_killed: 0,
        logs: [log(0), log(0), log(input.bytes.len() as u64)],
        process_limit_hit: false,
        reading: reading.clone(),
    }
}

/// As it was typed: whether a contract would take it is no question of its log.
fn command(input: &Input<'_>) -> CommandLine {
    match input.command {
        [shell, flag, script] if shell == "bash" && flag == "-c" => {
            CommandLine::Shell(script.clone())
        }
        [program, args @ ..] => {
            CommandLine::Words { program: program.clone(), args: args.to_vec() }
        }
        [] => CommandLine::Words { program: String::new(), args: Vec::new() },
    }
}

fn judge(execution: &Execution, asked: Asked) -> Judgement {
    let run = execution.command.clone();
    let kind = match asked {
        Asked::Tests => CheckKind::Tests(TestsCheck::new(run)),
        Asked::Command => {
            CheckKind::Command(CommandCheck { run, exit_code: 0, results: Vec::new() })
        }
    };
    judge_alone(&Check::new(CHECK, kind), execution)
}

fn told(execution: &Execution, judgement: &Judgement) -> String {
    let next_step = match judgement.decision {
        Decision::Pass => NextStep::Complete,
        Decision::Fail => NextStep::Rework,
        Decision::Inconclusive => NextStep::FixContract,
    };
    feedback(&Told {
        contract: None,
        judgement,
        executions: std::slice::from_ref(execution),
        evidence: None,
        round: Round { number: 1, rounds_max: 1, reports: 1, reports_max: 1 },
        next_step,
        run: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn a_log_outside_of_a_run_is_judged_as_in_one() {
        let command = command_words("cargo test");
        let log = b"running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n\nthread 'a' panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let input =
            Input { bytes: log, command: &command, exit_code: Some(101), ..Input::default() };
        let answer = Answer::new(&input, &read(&input), Asked::Tests);
        assert!(!answer.passes);
        assert_eq!((&answer.failing_tests[..], answer.counts), (&["a".to_owned()][..], (0, 1)));
        let json = answer.to_json();
        assert_eq!(json["errors"][0]["file"], "src/lib.rs");
        assert_eq!((&json["verdict"], &json["errors"][0]["line"]), (&json!("FAIL"), &json!(3)));
        assert!(
            answer.feedback.contains("- `log`: `cargo test`: exit status 101; 0 passed, 1 failed")
        );
        assert!(
            answer.feedback.contains("- expected: `2`\n- actual: `1`\n"),
            "{}",
            answer.feedback
        );
        assert!(!answer.feedback.contains("GET "), "there is no run: {}", answer.feedback);
    }

    #[test]
    fn a_command_that_was_ended_tells_its_end_and_then_what_its_log_knows() {
        let told = |log: &str, command: &str, asked| {
            let command = command_words(command);
            let bytes = log.as_bytes();
            let (exit_code, timed_out) = (None, true);
            let input =
                Input { bytes, command: &command, exit_code, timed_out, ..Input::default() };
            let told = Answer::new(&input, &read(&input), asked).feedback;
            let titles = told.lines().filter_map(|it| it.strip_prefix("### "));
            titles.map(str::to_owned).collect::<Vec<_>>()
        };
        let ended = |command: &str| format!("1. `{command}` ran longer than 1 ms");
        let log = "running 2 tests\ntest a ... FAILED\ntest b ... ";
        let titles = told(log, "cargo test", Asked::Tests);
        assert_eq!(titles[0], ended("cargo test"));
        assert!(titles[1].starts_with("2. a") && titles[2].starts_with("3. b"), "{titles:?}");
        assert_eq!(told("before\n", "./run", Asked::Tests), [ended("./run")]);
        assert_eq!(told("before\n", "./run", Asked::Command), [ended("./run")]);
    }

    #[test]
    fn a_green_log_of_no_tests_passes_as_a_command_only() {
        let input = Input { bytes: b"all good\n", ..Input::default() };
        let passes = |asked| Answer::new(&input, &read(&input), asked).passes;
        assert!(passes(Asked::Command) && !passes(Asked::Tests));
    }

    #[test]
    fn a_command_with_signs_of_a_script_is_one() {
        assert_eq!(command_words("cargo  test -q"), ["cargo", "test", "-q"]);
        assert_eq!(command_words("make 'all x'"), ["bash", "-c", "make 'all x'"]);
    }
}
