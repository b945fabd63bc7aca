//! Completion reports as they are posted.

use gate_core::{Claim, ClaimEvidence, ClaimStatus, CompletionReport, ReasonCode, ReportStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{InvalidField, NextStepWord, RunBody, SourceBody, TaskStateWord};

/// "The work is done": a revision and claims. Nothing in it can turn a FAIL into a PASS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitReport {
    /// How the work ended. Only a `success` is judged; each other status has one consequence.
    pub status: ReportStatusWord,
    /// Why it is not a success; required for, and scoped to, every other status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<ReasonCodeWord>,
    /// Given back with the next step `resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub resumable_handle: Option<String>,
    /// What was done, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 20000)]
    pub summary: Option<String>,
    /// The exact thing to judge; required for a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<SourceBody>,
    /// What the reporter says that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10000)]
    pub files_changed: Vec<String>,
    /// One claim for each criterion of the contract.
    #[serde(default)]
    #[schema(max_items = 200)]
    pub criteria: Vec<ClaimBody>,
    /// What the reporter says that it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub commands_run: Vec<EvidenceBody>,
    /// What was not verified. Required, and may be empty: silence is a fault, bad news has a place.
    #[schema(max_items = 1000)]
    pub not_verified: Vec<String>,
    /// Where the work differs from the contract. Required, and may be empty.
    #[schema(max_items = 1000)]
    pub deviations: Vec<String>,
    /// Who did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentBody>,
    /// The trace that the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub trace_id: Option<String>,
}

/// How the work ended, as the reporter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatusWord {
    /// "It is done": the gate judges.
    Success,
    /// Part of it is done; the next step is `resume`.
    Partial,
    /// It could not be done; the next step is `retry_after` or `needs_human`.
    Failed,
    /// An answer is needed; the next step is `answer_input`.
    NeedsInput,
    /// The task is given up; the next step is `stop`.
    Aborted,
}

/// Why a report is not a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCodeWord {
    /// partial: tokens, money, or turns are used up.
    BudgetExhausted,
    /// partial: time is used up.
    TimeExhausted,
    /// partial: waiting for something outside.
    Blocked,
    /// failed: a tool or the environment broke.
    ToolError,
    /// failed: the reporter's own validation failed.
    ValidationFailed,
    /// failed: the task cannot be done as asked.
    Infeasible,
    /// `needs_input`: a requirement can be read in more than one way.
    AmbiguousRequirement,
    /// `needs_input`: a credential or a permission is missing.
    MissingAccess,
    /// `needs_input`: a decision is somebody else's.
    DecisionNeeded,
    /// aborted: somebody told it to stop.
    Cancelled,
    /// aborted: another task took its place.
    Superseded,
}

/// One statement about one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// The criterion's id.
    #[schema(min_length = 1, max_length = 64)]
    pub id: String,
    /// What is claimed.
    pub status: ClaimStatusWord,
    /// Pasted output; it is kept, and never believed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub evidence: Vec<EvidenceBody>,
    /// A remark for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 5000)]
    pub note: Option<String>,
}

/// What is claimed of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatusWord {
    /// It is met.
    Met,
    /// It is not met, honestly said.
    NotMet,
    /// Nobody looked.
    NotVerified,
}

/// What the reporter says that it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBody {
    /// The words.
    #[schema(min_items = 1, max_items = 1000)]
    pub command: Vec<String>,
    /// The exit status that it says it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The output that it pasted.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    pub output: String,
}

/// Who did the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentBody {
    /// Such as `coder-7`.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The model behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub model: Option<String>,
    /// Tokens that the work took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReportAccepted {
    /// The report, as the gate names it.
    pub report_id: Uuid,
    /// The task that it answers.
    pub task_id: Uuid,
    /// Where the task stands now.
    pub task_state: TaskStateWord,
    /// The run that judges it, with its verdict once there is one; none for a report that is not a success.
    #[schema(required)]
    pub run: Option<RunBody>,
    /// What the orchestrator does now; none until there is a verdict.
    #[schema(required)]
    pub next_step: Option<NextStepWord>,
    /// The handle of a `partial` report, given back.
    #[schema(required)]
    pub resumable_handle: Option<String>,
}

impl TryFrom<SubmitReport> for CompletionReport {
    type Error = Vec<InvalidField>;

    fn try_from(body: SubmitReport) -> Result<Self, Vec<InvalidField>> {
        let mut faults = Vec::new();
        let workspace = body.workspace.and_then(|it| it.read("/workspace", &mut faults));
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            status: body.status.into(),
            reason_code: body.reason_code.map(Into::into),
            workspace,
            claims: body.criteria.into_iter().map(Into::into).collect(),
        })
    }
}

impl From<ClaimBody> for Claim {
    fn from(body: ClaimBody) -> Self {
        let evidence = body.evidence.into_iter();
        let evidence = evidence.map(|EvidenceBody { command, exit_code, output }| ClaimEvidence {
            command,
            exit_code,
            output,
        });
        Self { criterion: body.id, status: body.status.into(), evidence: evidence.collect() }
    }
}

impl From<ReportStatusWord> for ReportStatus {
    fn from(word: ReportStatusWord) -> Self {
        match word {
            ReportStatusWord::Success => Self::Success,
            ReportStatusWord::Partial => Self::Partial,
            ReportStatusWord::Failed => Self::Failed,
            ReportStatusWord::NeedsInput => Self::NeedsInput,
            ReportStatusWord::Aborted => Self::Aborted,
        }
    }
}

impl From<ClaimStatusWord> for ClaimStatus {
    fn from(word: ClaimStatusWord) -> Self {
        match word {
            ClaimStatusWord::Met => Self::Met,
            ClaimStatusWord::NotMet => Self::NotMet,
            ClaimStatusWord::NotVerified => Self::NotVerified,
        }
    }
}

impl From<ReasonCodeWord> for ReasonCode {
    fn from(word: ReasonCodeWord) -> Self {
        match word {
            ReasonCodeWord::BudgetExhausted => Self::BudgetExhausted,
            ReasonCodeWord::TimeExhausted => Self::TimeExhausted,
            ReasonCodeWord::Blocked => Self::Blocked,
            ReasonCodeWord::ToolError => Self::ToolError,
            ReasonCodeWord::ValidationFailed => Self::ValidationFailed,
            ReasonCodeWord::Infeasible => Self::Infeasible,
            ReasonCodeWord::AmbiguousRequirement => Self::AmbiguousRequirement,
            ReasonCodeWord::MissingAccess => Self::MissingAccess,
            ReasonCodeWord::DecisionNeeded => Self::DecisionNeeded,
            ReasonCodeWord::Cancelled => Self::Cancelled,
            ReasonCodeWord::Superseded => Self::Superseded,
        }
    }
}
