//! The Markdown that goes into the agent's next prompt: what failed, first cause first, and where.
//!
//! The same judgement of the same evidence gives the same text, so that a prompt with it can be cached: what differs
//! between two runs of one tree (ids, offsets, times) stands at the end.

mod execution_report;
mod markdown;
mod pair;
mod preflight;
mod section;

use crate::limits::{FEEDBACK_BYTES_MAX, FINDINGS_MAX};
use crate::{
    Check, Contract, Decision, Evidence, Execution, Finding, Judgement, LogStream, NextStep, Round,
    RunId,
};
use markdown::{block, clean_line, code, list, shorten};
use section::sections;

pub use execution_report::execution_report;
pub use pair::shorten_pair;
pub use preflight::preflight_feedback;

/// The commands that reproduce what failed.
const REPRODUCE_BYTES_MAX: usize = 1000;
/// One of them.
const COMMAND_BYTES_MAX: usize = 400;
/// What was left out, and how to fetch it.
const FETCH_BYTES_MAX: usize = 900;
/// A check's id, a path, a criterion's text.
const WORDS_BYTES_MAX: usize = 200;
/// Of a raw log, what the text proposes to fetch at once.
const SLICE_BYTES: u64 = 8 * 1024;
/// Findings of one log whose offsets are named.
const OFFSETS_MAX: usize = 8;

/// All that a verdict's texts are made of.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// For its words, where it could be read.
    pub contract: Option<&'a Contract>,
    /// What was decided, and why.
    pub judgement: &'a Judgement,
    /// What was run, where anything was.
    pub executions: &'a [Execution],
    /// What the gate saw, where it could look.
    pub evidence: Option<&'a Evidence>,
    /// Of how many.
    pub round: Round,
    /// What follows.
    pub next_step: NextStep,
    /// Where more can be fetched; nowhere for a log that was read outside of a run.
    pub run: Option<RunId>,
}

/// Writes the feedback of one verdict; never longer than [`FEEDBACK_BYTES_MAX`].
#[must_use]
pub fn feedback(told: &Told<'_>) -> String {
    let mut text = headline(told);
    text.push_str(&reproduce(told));
    let room = FEEDBACK_BYTES_MAX.saturating_sub(text.len() + FETCH_BYTES_MAX);
    let (sections, left_out) = sections(told, room);
    text.push_str(&sections);
    text.push_str(&fetch(told, left_out, FETCH_BYTES_MAX));
    text
}

fn headline(told: &Told<'_>) -> String {
    let Round { number, rounds_max, .. } = told.round;
    let mut text = match told.judgement.decision {
        Decision::Pass => "**PASS**: every blocking check ran and said yes.\n".to_owned(),
        Decision::Fail if told.run.is_none() => "**FAIL**. ".to_owned(),
        Decision::Fail => format!("**FAIL**, round {number} of {rounds_max}. "),
        Decision::Inconclusive => {
            "**INCONCLUSIVE**: the work could not be judged; this cost no round. ".to_owned()
        }
    };
    text.push_str(match told.next_step {
        NextStep::Rework => "Fix what follows, in this order, then report again.\n",
        NextStep::NeedsHuman => "A person decides what happens next.\n",
        NextStep::FixContract => "The contract goes back to its planner.\n",
        NextStep::Complete
        | NextStep::Resume
        | NextStep::AnswerInput
        | NextStep::RetryAfter
        | NextStep::Stop
        | NextStep::Start => "",
    });
    text
}

/// The commands of the checks that said no, in the order in which their findings stand.
fn reproduce(told: &Told<'_>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for finding in &told.judgement.findings {
        let Some(execution) = execution_of(told, finding) else { continue };
        if seen.contains(&execution.check.as_str()) {
            continue;
        }
        seen.push(&execution.check);
        lines.push(format!("{}: {}", named(&execution.check), ended(execution, "")));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\nReproduce:\n{}", list(lines, REPRODUCE_BYTES_MAX))
}

/// The command and how it ended, without what differs from run to run. A script of several lines stays one.
fn ended(execution: &Execution, note: &str) -> String {
    let command = shorten(execution.command.to_string().trim(), COMMAND_BYTES_MAX);
    let tests = match execution.reading.tally {
        Some(it) => {
            format!("; {} passed, {} failed, {} skipped", it.passed, it.failed, it.skipped)
        }
        None => String::new(),
    };
    let how = format!("{}{tests}{note}", execution.outcome);
    if command.contains('\n') {
        return format!("{how}; of this script:\n\n{}", block(&command));
    }
    format!("{}: {how}", code(&command))
}

/// What was left out, and where it is.
fn fetch(told: &Told<'_>, left_out: u32, bytes_max: usize) -> String {
    let Some(run) = told.run else {
        return match left_out {
            0 => String::new(),
            left_out => format!("\nLeft out: {left_out} more findings.\n"),
        };
    };
    let findings = match left_out {
        0 => "every finding whole".to_owned(),
        1 => "1 more finding".to_owned(),
        left_out => format!("{left_out} more findings"),
    };
    let bound = match told.judgement.findings_left_out {
        0 => String::new(),
        _ => format!(" (which lists the first {FINDINGS_MAX})"),
    };
    let mut lines = vec![format!("{findings}: `GET /v1/runs/{run}/verdict`{bound}")];
    for (index, execution) in told.executions.iter().enumerate() {
        let offsets = offsets(told, execution);
        let Some((_, first)) = offsets.first().copied() else { continue };
        let size = execution.logs[2].size_bytes;
        let last = (first + SLICE_BYTES).min(size).saturating_sub(1).max(first);
        let starts: Vec<String> =
            offsets.iter().map(|(number, offset)| format!("{number} at {offset}")).collect();
        lines.push(format!(
            "raw log of {}: `GET /v1/runs/{run}/executions/{index}/log` with `Range: bytes={first}-{last}` (of {size}); findings: {}",
            named(&execution.check),
            starts.join(", ")
        ));
    }
    format!("\nMore:\n{}", list(lines, bytes_max))
}

/// The findings with lines of this execution's merged log, by number, with where they start.
fn offsets(told: &Told<'_>, execution: &Execution) -> Vec<(usize, u64)> {
    let numbered = told.judgement.findings.iter().enumerate();
    let of_this = numbered.filter(|(_, it)| it.check.as_deref() == Some(&execution.check));
    of_this
        .filter_map(|(index, it)| it.excerpt.as_ref().map(|excerpt| (index, excerpt)))
        .filter(|(_, excerpt)| excerpt.stream == LogStream::Merged)
        .map(|(index, excerpt)| (index + 1, excerpt.offset))
        .take(OFFSETS_MAX)
        .collect()
}

fn named(check: &str) -> String {
    code(&shorten(check, WORDS_BYTES_MAX))
}

fn execution_of<'a>(told: &Told<'a>, finding: &Finding) -> Option<&'a Execution> {
    let check = finding.check.as_deref()?;
    told.executions.iter().find(|it| it.check == check)
}

fn check_of<'a>(told: &Told<'a>, id: &str) -> Option<&'a Check> {
    told.contract?.checks().iter().find(|it| it.id == id)
}

/// One line of unknown origin, bounded.
fn line(text: &str) -> String {
    shorten(&clean_line(text), WORDS_BYTES_MAX)
}

#[cfg(test)]
mod tests;
