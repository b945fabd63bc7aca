//! Where a task stands.

/// The states of a task, as in the design's picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// The contract is published, and the gate proves on its baseline that it can judge; nobody works on it yet.
    Preflight,
    /// The contract is published, nothing was reported yet.
    Pending,
    /// A run is queued or running.
    Gating,
    /// PASS.
    Done,
    /// FAIL, with rounds left.
    Rework,
    /// Rounds or reports are used up, or the gate could not tell.
    NeedsHuman,
    /// The contract cannot be judged; the planner publishes a better one.
    ContractRejected,
    /// The reporter needs an answer.
    NeedsInput,
    /// The reporter stopped and can be resumed.
    Paused,
    /// The reporter gave up.
    Failed,
    /// Cancelled, or given up for good.
    Aborted,
}

impl TaskState {
    /// All of them, for documents and tables.
    pub const ALL: [Self; 11] = [
        Self::Preflight,
        Self::Pending,
        Self::Gating,
        Self::Done,
        Self::Rework,
        Self::NeedsHuman,
        Self::ContractRejected,
        Self::NeedsInput,
        Self::Paused,
        Self::Failed,
        Self::Aborted,
    ];

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Pending => "pending",
            Self::Gating => "gating",
            Self::Done => "done",
            Self::Rework => "rework",
            Self::NeedsHuman => "needs_human",
            Self::ContractRejected => "contract_rejected",
            Self::NeedsInput => "needs_input",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Whether a completion report is taken now.
    #[must_use]
    pub const fn takes_reports(self) -> bool {
        match self {
            Self::Pending | Self::Rework | Self::NeedsInput | Self::Paused | Self::Failed => true,
            Self::Preflight
            | Self::Gating
            | Self::Done
            | Self::NeedsHuman
            | Self::ContractRejected
            | Self::Aborted => false,
        }
    }

    /// Whether a new contract version is taken now: while nothing runs and nothing is final.
    #[must_use]
    pub const fn takes_contracts(self) -> bool {
        match self {
            Self::Pending
            | Self::Rework
            | Self::NeedsHuman
            | Self::ContractRejected
            | Self::NeedsInput
            | Self::Paused
            | Self::Failed => true,
            Self::Preflight | Self::Gating | Self::Done | Self::Aborted => false,
        }
    }

    /// Whether nothing happens any more unless somebody acts.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Preflight | Self::Gating)
    }

    /// Whether the task is closed for good.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Aborted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_reads_back_what_it_prints() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::from_word(state.as_str()), Some(state));
        }
    }

    #[test]
    fn a_closed_task_takes_nothing() {
        for state in TaskState::ALL.into_iter().filter(|it| it.is_final()) {
            assert!(!state.takes_reports() && !state.takes_contracts());
        }
    }
}
