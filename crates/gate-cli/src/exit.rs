//! Exit statuses: what the executable says to the program that called it.
//!
//! [`TABLE`] is the documentation of them, and part of `donegate --help`.
//! Which answer of the gate leads to which status is decided here and nowhere else.

use std::process::ExitCode;

use gate_api::{DecisionWord, NextStepWord, ProblemKind, TaskStateWord, VerdictBody};

/// What every status means, for people.
pub(crate) const TABLE: &str = "\
Exit status:
   0  PASS; also: the contract is drafted, valid, or published, the report is accepted (submit without --wait)
   1  FAIL, with rounds left; also: the contract has faults, nothing walls commands in (doctor)
   3  a person is needed: rounds or reports are used up, an answer is missing, the gate could not tell
   4  undecided: the time is up, the contract cannot be judged, or there is nothing to judge
  64  the arguments, a file, or the request is at fault: correct it and repeat
  69  the gate cannot be reached, or failed: repeat later";

/// How the executable ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The gate said PASS; for a command that asks for no verdict: it was done.
    Pass,
    /// The gate said FAIL, or the contract has faults.
    Fail,
    /// Nothing goes on until a person decides or answers.
    NeedsPerson,
    /// There is no verdict about the work.
    Undecided,
    /// What was asked cannot be done as it was asked.
    Usage,
    /// There is no gate at the address, or it failed.
    Unreachable,
}

impl Exit {
    /// All of them, so that the table can be checked.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Pass,
        Self::Fail,
        Self::NeedsPerson,
        Self::Undecided,
        Self::Usage,
        Self::Unreachable,
    ];

    /// The number that the caller sees; 64 and 69 are those of `sysexits.h`.
    pub(crate) const fn status(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::NeedsPerson => 3,
            Self::Undecided => 4,
            Self::Usage => 64,
            Self::Unreachable => 69,
        }
    }

    /// Of a verdict. Only a PASS is a yes.
    pub(crate) const fn of_verdict(verdict: &VerdictBody) -> Self {
        match verdict.decision {
            // Of a preflight, which says nothing of any work.
            DecisionWord::Pass if matches!(verdict.next_step, NextStepWord::Start) => {
                Self::Undecided
            }
            DecisionWord::Pass => Self::Pass,
            DecisionWord::Fail | DecisionWord::Inconclusive
                if matches!(verdict.next_step, NextStepWord::NeedsHuman) =>
            {
                Self::NeedsPerson
            }
            DecisionWord::Fail => Self::Fail,
            DecisionWord::Inconclusive => Self::Undecided,
        }
    }

    /// Of a report that was not judged, because it does not claim success.
    pub(crate) const fn of_unjudged(next_step: Option<NextStepWord>) -> Self {
        match next_step {
            Some(NextStepWord::NeedsHuman | NextStepWord::AnswerInput) => Self::NeedsPerson,
            Some(
                NextStepWord::Complete
                | NextStepWord::Rework
                | NextStepWord::FixContract
                | NextStepWord::Resume
                | NextStepWord::RetryAfter
                | NextStepWord::Stop
                | NextStepWord::Start,
            )
            | None => Self::Undecided,
        }
    }

    /// Of a task whose newest verdict does not say where it stands.
    pub(crate) const fn of_state(state: TaskStateWord) -> Self {
        match state {
            TaskStateWord::Done => Self::Pass,
            TaskStateWord::Rework => Self::Fail,
            TaskStateWord::NeedsHuman | TaskStateWord::NeedsInput => Self::NeedsPerson,
            TaskStateWord::Preflight
            | TaskStateWord::Pending
            | TaskStateWord::Gating
            | TaskStateWord::ContractRejected
            | TaskStateWord::Paused
            | TaskStateWord::Failed
            | TaskStateWord::Aborted => Self::Undecided,
        }
    }

    /// Of a request that the gate refused.
    pub(crate) const fn of_problem(kind: ProblemKind) -> Self {
        match kind {
            ProblemKind::ContractInvalid => Self::Fail,
            ProblemKind::ReportsExhausted => Self::NeedsPerson,
            ProblemKind::IdempotencyKeyInFlight => Self::Undecided,
            ProblemKind::Internal | ProblemKind::Unavailable | ProblemKind::RequestTimeout => {
                Self::Unreachable
            }
            ProblemKind::MalformedBody
            | ProblemKind::InvalidParameter
            | ProblemKind::Unauthenticated
            | ProblemKind::Forbidden
            | ProblemKind::NotFound
            | ProblemKind::MethodNotAllowed
            | ProblemKind::SlugTaken
            | ProblemKind::TaskState
            | ProblemKind::PreconditionFailed
            | ProblemKind::PayloadTooLarge
            | ProblemKind::UnsupportedMediaType
            | ProblemKind::RangeNotSatisfiable
            | ProblemKind::InvalidBody
            | ProblemKind::ReportInvalid
            | ProblemKind::DigestMismatch
            | ProblemKind::ArchiveInvalid
            | ProblemKind::IdempotencyKeyReused
            | ProblemKind::PreconditionRequired => Self::Usage,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.status().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_status_and_no_other() {
        let rows = TABLE.lines().skip(1);
        let written = rows.map(|it| it.split_whitespace().next().unwrap().parse::<u8>().unwrap());
        assert_eq!(written.collect::<Vec<_>>(), Exit::ALL.map(Exit::status));
    }

    #[test]
    fn no_unjudged_report_is_a_pass() {
        let steps = ["complete", "rework", "needs_human", "fix_contract", "resume"];
        for step in steps.iter().chain(&["answer_input", "retry_after", "stop"]) {
            let step: NextStepWord = serde_json::from_value((*step).into()).unwrap();
            assert!(!matches!(Exit::of_unjudged(Some(step)), Exit::Pass | Exit::Fail), "{step:?}");
        }
    }

    #[test]
    fn only_done_is_a_pass_and_only_rework_is_a_fail() {
        for state in gate_core::TaskState::ALL {
            let exit = Exit::of_state(state.into());
            assert_eq!(exit == Exit::Pass, state == gate_core::TaskState::Done, "{state:?}");
            assert_eq!(exit == Exit::Fail, state == gate_core::TaskState::Rework, "{state:?}");
        }
    }
}
