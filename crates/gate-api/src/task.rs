//! Tasks: a contract, and where its work stands.

use chrono::{DateTime, Utc};
use gate_core::TaskState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{DecisionWord, NextStepWord};

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskBody {
    /// Names it in paths.
    pub id: Uuid,
    /// The project that it belongs to.
    pub project: String,
    /// The contract's title.
    pub title: String,
    /// Where it stands.
    pub state: TaskStateWord,
    /// The contract version in force.
    pub contract: ContractRef,
    /// FAILs so far.
    pub rounds: u32,
    /// FAILs before a person is called.
    pub rounds_max: u32,
    /// Reports so far.
    pub reports: u32,
    /// Reports before a person is called.
    pub reports_max: u32,
    /// The run that is queued or running.
    #[schema(required)]
    pub current_run_id: Option<Uuid>,
    /// The run that proved the newest contract version which has a baseline, or rejected it; none before its end.
    #[serde(default)]
    #[schema(required)]
    pub preflight_run_id: Option<Uuid>,
    /// The newest verdict of a report.
    #[schema(required)]
    pub last_verdict: Option<VerdictRef>,
    /// Counts the changes of the task; its `ETag` is made of it.
    pub version: u64,
    /// When its contract was published.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A contract version by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContractRef {
    /// From 1.
    pub version: u32,
    /// The SHA-256 of its text.
    pub digest: String,
}

/// The newest verdict of a task, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictRef {
    /// The run that it belongs to.
    pub run_id: Uuid,
    /// PASS, FAIL, or INCONCLUSIVE.
    pub decision: DecisionWord,
    /// What the orchestrator does now.
    pub next_step: NextStepWord,
}

/// One page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The newest first.
    pub items: Vec<TaskBody>,
    /// Where the next page starts; none on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// Why a task is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelTask {
    /// Kept in the event.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStateWord {
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

impl From<TaskState> for TaskStateWord {
    fn from(state: TaskState) -> Self {
        match state {
            TaskState::Preflight => Self::Preflight,
            TaskState::Pending => Self::Pending,
            TaskState::Gating => Self::Gating,
            TaskState::Done => Self::Done,
            TaskState::Rework => Self::Rework,
            TaskState::NeedsHuman => Self::NeedsHuman,
            TaskState::ContractRejected => Self::ContractRejected,
            TaskState::NeedsInput => Self::NeedsInput,
            TaskState::Paused => Self::Paused,
            TaskState::Failed => Self::Failed,
            TaskState::Aborted => Self::Aborted,
        }
    }
}

impl From<TaskStateWord> for TaskState {
    fn from(word: TaskStateWord) -> Self {
        match word {
            TaskStateWord::Preflight => Self::Preflight,
            TaskStateWord::Pending => Self::Pending,
            TaskStateWord::Gating => Self::Gating,
            TaskStateWord::Done => Self::Done,
            TaskStateWord::Rework => Self::Rework,
            TaskStateWord::NeedsHuman => Self::NeedsHuman,
            TaskStateWord::ContractRejected => Self::ContractRejected,
            TaskStateWord::NeedsInput => Self::NeedsInput,
            TaskStateWord::Paused => Self::Paused,
            TaskStateWord::Failed => Self::Failed,
            TaskStateWord::Aborted => Self::Aborted,
        }
    }
}
