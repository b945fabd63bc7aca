//! `command`: does a command end with the expected exit status?

use super::Reason;
use crate::{
    Blame, CommandLine, Diagnostic, Execution, FindingKind, Location, Outcome, PathPattern,
    Severity,
};

/// Other places that one finding names.
const ALSO_AT_MAX: usize = 3;

/// The parameters of a `command` check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCheck {
    /// What is run.
    pub run: CommandLine,
    /// The exit status that means yes.
    pub exit_code: i32,
    /// Files that it writes for machines to read.
    pub results: Vec<PathPattern>,
}

impl CommandCheck {
    pub(super) fn apply(&self, execution: Option<&Execution>) -> Vec<Reason> {
        let Some(execution) = execution else { return vec![did_not_run()] };
        match ended(execution) {
            Ok(code) if code == self.exit_code => Vec::new(),
            Ok(code) => failed(execution, code),
            Err(reason) => with_known(reason, execution, errors(execution)),
        }
    }
}

/// The exit status, or why there is none.
pub(super) fn ended(execution: &Execution) -> Result<i32, Reason> {
    use FindingKind as Kind;
    let command = &execution.command;
    let tail = || execution.reading.tail.clone();
    let (kind, title) = match execution.outcome {
        Outcome::Exited { code } => return Ok(code),
        Outcome::Killed { signal } if execution.process_limit_hit => {
            let why = "it had as many processes as it may";
            (Kind::CommandKilled, format!("`{command}` was ended by signal {signal}: {why}"))
        }
        Outcome::Killed { signal } => {
            (Kind::CommandKilled, format!("`{command}` was ended by signal {signal}"))
        }
        Outcome::TimedOut { limit_ms } => {
            (Kind::TimedOut, format!("`{command}` ran longer than {limit_ms} ms"))
        }
        Outcome::OutputLimitExceeded { limit_bytes } => {
            (Kind::OutputLimit, format!("`{command}` printed more than {limit_bytes} bytes"))
        }
        Outcome::CpuLimitExceeded { limit_ms } => {
            (Kind::CpuLimit, format!("`{command}` used more than {limit_ms} ms of CPU time"))
        }
        Outcome::OutOfMemory { limit_bytes } => {
            (Kind::OutOfMemory, format!("`{command}` used more than {limit_bytes} bytes of memory"))
        }
        Outcome::DiskLimitExceeded { limit_bytes } => {
            let title = format!(
                "`{command}` failed with its disk used up: {limit_bytes} bytes, and 256 files for each MiB"
            );
            (Kind::DiskLimit, title)
        }
        Outcome::NotRun => {
            let title = format!("`{command}` did not run: the run's time was used up before");
            (Kind::NotRun, title)
        }
        Outcome::NotFound => {
            let program = command.program();
            return Err(missing_program(execution, format!("there is no program `{program}`")));
        }
        Outcome::NotExecutable { errno } => {
            let title = format!("`{}` cannot be executed (errno {errno})", command.program());
            let reason = Reason::new(Kind::CommandNotExecutable, title);
            return Err(reason.blame(whose_program(execution)));
        }
    };
    Err(Reason::new(kind, title).show(tail()))
}

/// A command that was ended, and what it had told by then: that comes after the end. The errors of one that hit a bound
/// of memory, disk, or output are what the bound led to.
pub(super) fn with_known(reason: Reason, execution: &Execution, known: Vec<Reason>) -> Vec<Reason> {
    let tells = |it: &Reason| match execution.outcome {
        Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut { .. } => true,
        Outcome::OutputLimitExceeded { .. }
        | Outcome::CpuLimitExceeded { .. }
        | Outcome::OutOfMemory { .. }
        | Outcome::DiskLimitExceeded { .. } => it.kind == FindingKind::TestFailed,
        Outcome::NotFound | Outcome::NotExecutable { .. } | Outcome::NotRun => false,
    };
    let mut reasons = vec![reason];
    reasons.extend(known.into_iter().filter(tells));
    reasons
}

/// What failed, first cause first: the log's errors, or its last lines.
pub(super) fn failed(execution: &Execution, code: i32) -> Vec<Reason> {
    let mut reasons = errors(execution);
    if reasons.is_empty() {
        let title = format!("`{}` exited with {code}", execution.command);
        let tail = execution.reading.tail.clone();
        reasons.push(Reason::new(FindingKind::CommandFailed, title).show(tail));
    }
    reasons
}

/// The log's errors.
pub(super) fn errors(execution: &Execution) -> Vec<Reason> {
    let errors = execution.reading.diagnostics.iter().filter(|it| it.severity == Severity::Error);
    errors
        .map(|it| {
            // Some tools say the code in their message.
            let code = it.code.as_ref().filter(|code| !it.message.contains(code.as_str()));
            let code = code.map(|it| format!("{it}: ")).unwrap_or_default();
            let title = format!("{code}{}{}", it.message, elsewhere(it));
            Reason::new(FindingKind::CommandFailed, title)
                .at(it.location.clone())
                .show(it.excerpt.clone())
        })
        .collect()
}

/// How often it was said, and where else; nothing of what was said once.
fn elsewhere(it: &Diagnostic) -> String {
    let place = |it: &Location| match it.line {
        Some(line) => format!("{}:{line}", it.file),
        None => it.file.clone(),
    };
    let others: Vec<String> = it.also_at.iter().take(ALSO_AT_MAX).map(place).collect();
    match (it.times, others.is_empty()) {
        (0 | 1, true) => String::new(),
        (times, true) => format!(" (said {times} times)"),
        (times, false) => format!(" (said {times} times, also at {})", others.join(", ")),
    }
}

pub(super) fn did_not_run() -> Reason {
    Reason::new(FindingKind::NotRun, "the check's command was never started").blame(Blame::Gate)
}

fn missing_program(execution: &Execution, title: String) -> Reason {
    Reason::new(FindingKind::CommandNotFound, title).blame(whose_program(execution))
}

/// A program with a path inside the workspace is the reporter's to deliver; any other is the contract's to choose.
fn whose_program(execution: &Execution) -> Blame {
    if execution.command.is_in_workspace() { Blame::Reporter } else { Blame::Contract }
}
