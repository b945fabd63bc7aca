//! The routing table: what follows from a report that is not a success.

use crate::{NextStep, ReasonCode, ReportStatus, TaskState};

/// Each status has exactly one consequence. `None` is a success, which the gate judges.
#[must_use]
pub const fn route(
    status: ReportStatus,
    reason: Option<ReasonCode>,
) -> Option<(TaskState, NextStep)> {
    match status {
        ReportStatus::Success => None,
        ReportStatus::Partial => Some((TaskState::Paused, NextStep::Resume)),
        ReportStatus::Failed => match reason {
            Some(ReasonCode::ToolError) => Some((TaskState::Failed, NextStep::RetryAfter)),
            Some(_) | None => Some((TaskState::NeedsHuman, NextStep::NeedsHuman)),
        },
        ReportStatus::NeedsInput => Some((TaskState::NeedsInput, NextStep::AnswerInput)),
        ReportStatus::Aborted => Some((TaskState::Aborted, NextStep::Stop)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_reaches_the_gate() {
        assert_eq!(route(ReportStatus::Success, None), None);
        let partial = route(ReportStatus::Partial, Some(ReasonCode::BudgetExhausted));
        assert_eq!(partial, Some((TaskState::Paused, NextStep::Resume)));
        let tool = route(ReportStatus::Failed, Some(ReasonCode::ToolError));
        assert_eq!(tool, Some((TaskState::Failed, NextStep::RetryAfter)));
        let invalid = route(ReportStatus::Failed, Some(ReasonCode::ValidationFailed));
        assert_eq!(invalid, Some((TaskState::NeedsHuman, NextStep::NeedsHuman)));
        let aborted = route(ReportStatus::Aborted, Some(ReasonCode::Cancelled));
        assert_eq!(aborted, Some((TaskState::Aborted, NextStep::Stop)));
    }
}
