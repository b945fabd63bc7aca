//! Verdicts as they are answered.

use chrono::{DateTime, Utc};
use gate_core::{Blame, Decision, FailedTest, NextStep, TestPhase};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{ContractRef, ExecutionBody, IsolationBody};

/// The answer of a run. Nothing in it depends on a model, or on the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictBody {
    /// The run that it belongs to.
    pub run_id: Uuid,
    /// The task that it concerns.
    pub task_id: Uuid,
    /// PASS, FAIL, or INCONCLUSIVE.
    pub decision: DecisionWord,
    /// What the orchestrator does now.
    pub next_step: NextStepWord,
    /// Which of the reporter's rounds this was, from 1. Only a FAIL uses one up.
    pub round: u32,
    /// The contract's bound.
    pub rounds_max: u32,
    /// The contract version that was judged by.
    pub contract: ContractRef,
    /// The digest of the judged tree, protected files laid over; none where no tree could be prepared.
    #[schema(required)]
    pub tree: Option<String>,
    /// The isolation tier of the commands; none where none ran.
    #[schema(required)]
    pub isolation: Option<String>,
    /// What that meant on the machine that ran them; none where none ran.
    #[serde(default)]
    #[schema(required)]
    pub isolation_detail: Option<IsolationBody>,
    /// What the gate itself saw changed against the contract's baseline, before protected files were laid over, by path; at most 1,000, and none without a baseline.
    #[serde(default)]
    #[schema(required)]
    pub changes: Vec<ChangeBody>,
    /// Changes beyond the bound.
    #[serde(default)]
    #[schema(required)]
    pub changes_left_out: u64,
    /// What to fix first comes first; at most 50.
    pub findings: Vec<FindingBody>,
    /// Findings beyond the bound.
    pub findings_left_out: u32,
    /// What was run, in the contract's order.
    pub executions: Vec<ExecutionBody>,
    /// Markdown for the next prompt, within 8 KiB.
    pub feedback: String,
    /// When it was recorded.
    pub decided_at: DateTime<Utc>,
}

/// One recorded reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingBody {
    /// The check that made it; none for what concerns the whole run.
    #[schema(required)]
    pub check: Option<String>,
    /// The criteria that rest on this check.
    pub criteria: Vec<String>,
    /// Why: `test_failed`, `no_tests_ran`, `command_failed`, `file_missing`, … New kinds may come.
    #[schema(example = "test_failed")]
    pub kind: String,
    /// Whether it alone prevents a PASS.
    pub blocking: bool,
    /// Whose fault it is.
    pub blame: BlameWord,
    /// One line.
    pub title: String,
    /// Where to look.
    #[schema(required)]
    pub location: Option<LocationBody>,
    /// The test that failed, where it is one.
    #[serde(default)]
    #[schema(required)]
    pub test: Option<FailedTestBody>,
    /// The lines that show it.
    #[schema(required)]
    pub excerpt: Option<ExcerptBody>,
}

/// A failing test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedTestBody {
    /// As the runner prints it.
    #[schema(example = "tests/test_cursor.py::test_page_names_the_next_order")]
    pub name: String,
    /// When it failed.
    pub phase: TestPhaseWord,
    /// What it should have been, where the runner prints both sides of a comparison; shortened around the difference.
    #[schema(required)]
    pub expected: Option<String>,
    /// What it was.
    #[schema(required)]
    pub actual: Option<String>,
}

/// When a test failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestPhaseWord {
    /// Its file could not be loaded.
    Collection,
    /// What it needs could not be made.
    Setup,
    /// In its own body.
    Call,
    /// When it was cleaned up after.
    Teardown,
}

/// A file or link that is not as the baseline has it. What is renamed is deleted there and added here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeBody {
    /// Relative to the root of the workspace.
    #[schema(example = "shop/orders/cursor.py")]
    pub path: String,
    /// How it differs.
    pub kind: ChangeKindWord,
}

/// How a file or link differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKindWord {
    /// The baseline does not have it.
    Added,
    /// Its bytes, its mode, its target, or its kind differ.
    Modified,
    /// It is gone.
    Deleted,
}

/// A place in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LocationBody {
    /// Relative to the root of the workspace.
    pub file: String,
    /// From 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// From 1.
    #[schema(required)]
    pub column: Option<u32>,
}

/// A bounded slice of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExcerptBody {
    /// `stdout`, `stderr`, or `merged`.
    pub stream: String,
    /// Where it starts in the raw log, in bytes.
    pub offset: u64,
    /// The lines, without colours; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// PASS, FAIL, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum DecisionWord {
    /// Every blocking check ran to its end and said yes.
    Pass,
    /// The work was judged, and is not done.
    Fail,
    /// The contract or the gate could not judge; the reporter loses no round.
    Inconclusive,
}

/// What the orchestrator does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextStepWord {
    /// The task is done.
    Complete,
    /// The reporter fixes the findings and reports again.
    Rework,
    /// A person decides.
    NeedsHuman,
    /// The planner publishes a contract that can be judged.
    FixContract,
    /// The agent is resumed with the handle of its report.
    Resume,
    /// Somebody answers the agent's question.
    AnswerInput,
    /// The agent is started again later.
    RetryAfter,
    /// The contract is proven on its baseline: an agent is started.
    Start,
    /// Nothing more is to be done.
    Stop,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlameWord {
    /// It costs a round.
    Reporter,
    /// It goes back to the planner.
    Contract,
    /// It was tried again before it was recorded.
    Gate,
}

impl From<&FailedTest> for FailedTestBody {
    fn from(test: &FailedTest) -> Self {
        Self {
            name: test.name.clone(),
            phase: test.phase.into(),
            expected: test.expected.clone(),
            actual: test.actual.clone(),
        }
    }
}

impl From<TestPhase> for TestPhaseWord {
    fn from(phase: TestPhase) -> Self {
        match phase {
            TestPhase::Collection => Self::Collection,
            TestPhase::Setup => Self::Setup,
            TestPhase::Call => Self::Call,
            TestPhase::Teardown => Self::Teardown,
        }
    }
}

impl From<Decision> for DecisionWord {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Pass => Self::Pass,
            Decision::Fail => Self::Fail,
            Decision::Inconclusive => Self::Inconclusive,
        }
    }
}

impl From<NextStep> for NextStepWord {
    fn from(step: NextStep) -> Self {
        match step {
            NextStep::Complete => Self::Complete,
            NextStep::Rework => Self::Rework,
            NextStep::NeedsHuman => Self::NeedsHuman,
            NextStep::FixContract => Self::FixContract,
            NextStep::Resume => Self::Resume,
            NextStep::AnswerInput => Self::AnswerInput,
            NextStep::RetryAfter => Self::RetryAfter,
            NextStep::Stop => Self::Stop,
            NextStep::Start => Self::Start,
        }
    }
}

impl From<Blame> for BlameWord {
    fn from(blame: Blame) -> Self {
        match blame {
            Blame::Reporter => Self::Reporter,
            Blame::Contract => Self::Contract,
            Blame::Gate => Self::Gate,
        }
    }
}
