//! The verdict as the next prompt wants it: what ran, what that proved, what it did not, then what to fix.

use super::markdown::{clean_line, code, list};
use super::section::sections;
use super::{
    FETCH_BYTES_MAX, Told, WORDS_BYTES_MAX, check_of, ended, fetch, headline, line, named,
};
use crate::limits::FEEDBACK_BYTES_MAX;
use crate::{Check, CheckKind, Criterion, Execution};

/// What ran, check by check.
const RAN_BYTES_MAX: usize = 1600;
/// The criteria that were proven; and again, those that were not.
const PROVEN_BYTES_MAX: usize = 700;
/// How long each command took.
const TOOK_BYTES_MAX: usize = 300;

/// Writes the execution report of one verdict; never longer than [`FEEDBACK_BYTES_MAX`].
#[must_use]
pub fn execution_report(told: &Told<'_>) -> String {
    let mut text = headline(told);
    text.push_str("\n## What ran\n");
    let ran = ran(told);
    text.push_str(&if ran.is_empty() {
        "- nothing\n".to_owned()
    } else {
        list(ran, RAN_BYTES_MAX)
    });
    let (proven, not_proven) = criteria(told);
    for (title, items) in [("Proven", proven), ("Not proven", not_proven)] {
        if !items.is_empty() {
            text.extend(["\n## ", title, "\n", &list(items, PROVEN_BYTES_MAX)]);
        }
    }
    let closing = FETCH_BYTES_MAX + TOOK_BYTES_MAX;
    let room = FEEDBACK_BYTES_MAX.saturating_sub(text.len() + closing + 32);
    let (findings, left_out) = sections(told, room);
    if !findings.is_empty() {
        text.extend(["\n## Findings\n", &findings]);
    }
    text.push_str(&fetch(told, left_out, FETCH_BYTES_MAX));
    text.push_str(&took(told.executions));
    text
}

/// Each check with what became of it, in the contract's order.
fn ran(told: &Told<'_>) -> Vec<String> {
    let Some(contract) = told.contract else {
        let ran = |it: &Execution| format!("{}: {}", named(&it.check), ended(it, ""));
        return told.executions.iter().map(ran).collect();
    };
    contract.checks().iter().map(|it| row(told, it)).collect()
}

fn row(told: &Told<'_>, check: &Check) -> String {
    let note = if check.blocking { "" } else { " (does not block)" };
    let answer = if says_yes(told, &check.id) { ": yes" } else { ": no" };
    let execution = told.executions.iter().find(|it| it.check == check.id);
    let what = match (&check.kind, execution) {
        (_, Some(execution)) => ended(execution, answer),
        (CheckKind::Files(files), None) => {
            let paths: Vec<String> = files.paths.iter().map(|it| code(it.as_str())).collect();
            format!("files {}{answer}", super::shorten(&paths.join(", "), WORDS_BYTES_MAX))
        }
        (CheckKind::Command(_) | CheckKind::Tests(_), None) => format!("did not run{answer}"),
    };
    format!("{}{note}: {what}", named(&check.id))
}

/// Whether the check looked, and had nothing to say. Asked again, because a verdict lists its first findings only.
fn says_yes(told: &Told<'_>, check: &str) -> bool {
    match (check_of(told, check), told.evidence) {
        (Some(check), Some(evidence)) => check.apply(evidence).is_empty(),
        (_, _) => false,
    }
}

fn criteria(told: &Told<'_>) -> (Vec<String>, Vec<String>) {
    let criteria = told.contract.map(crate::Contract::criteria).unwrap_or_default();
    let words = |it: &Criterion| line(&format!("{}: {}", it.id, clean_line(&it.text)));
    let (mut proven, mut not_proven) = (Vec::new(), Vec::new());
    for criterion in criteria {
        let against: Vec<&String> =
            criterion.checks.iter().filter(|it| !says_yes(told, it)).collect();
        let names = |of: &[&String]| {
            let names: Vec<String> = of.iter().map(|it| named(it)).collect();
            super::shorten(&names.join(", "), WORDS_BYTES_MAX)
        };
        if criterion.checks.is_empty() {
            not_proven.push(format!("{} (no check shows it)", words(criterion)));
        } else if against.is_empty() {
            let by: Vec<&String> = criterion.checks.iter().collect();
            proven.push(format!("{} (by {})", words(criterion), names(&by)));
        } else {
            not_proven.push(format!("{} (not by {})", words(criterion), names(&against)));
        }
    }
    (proven, not_proven)
}

/// At the end: it is never twice the same.
fn took(executions: &[Execution]) -> String {
    if executions.is_empty() {
        return String::new();
    }
    let items = executions.iter().map(|it| format!("{} {} ms", it.check, it.usage.duration_ms));
    let text = items.collect::<Vec<_>>().join(", ");
    format!("\nTook: {}\n", super::shorten(&clean_line(&text), TOOK_BYTES_MAX - 64))
}
