//! What a planner reads of a preflight: whether the contract can judge, what its checks did on the baseline, what to mend.

use super::markdown::list;
use super::section::sections;
use super::{FETCH_BYTES_MAX, Told, ended, fetch, named};
use crate::NextStep;
use crate::limits::FEEDBACK_BYTES_MAX;

/// What ran on the baseline, check by check.
const RAN_BYTES_MAX: usize = 1600;

/// Writes the text of one preflight; never longer than [`FEEDBACK_BYTES_MAX`].
#[must_use]
pub fn preflight_feedback(told: &Told<'_>) -> String {
    let headline = match told.next_step {
        NextStep::Start => {
            "**The contract can judge**: whatever must fail on the untouched baseline failed there, and all that its commands name is there.\n"
        }
        NextStep::FixContract => {
            "**The contract cannot judge**, and no agent gets it. Mend what follows, and publish the next version.\n"
        }
        NextStep::Complete
        | NextStep::Rework
        | NextStep::NeedsHuman
        | NextStep::Resume
        | NextStep::AnswerInput
        | NextStep::RetryAfter
        | NextStep::Stop => {
            "**The gate could not find out whether the contract can judge.** A person decides what happens next.\n"
        }
    };
    let mut text = headline.to_owned();
    let ran: Vec<String> = told
        .executions
        .iter()
        .map(|it| format!("{}: {}", named(&it.check), ended(it, "")))
        .collect();
    if !ran.is_empty() {
        text.push_str("\nOn the untouched baseline:\n");
        text.push_str(&list(ran, RAN_BYTES_MAX));
    }
    let room = FEEDBACK_BYTES_MAX.saturating_sub(text.len() + FETCH_BYTES_MAX);
    let (sections, left_out) = sections(told, room);
    text.push_str(&sections);
    text.push_str(&fetch(told, left_out, FETCH_BYTES_MAX));
    text
}
