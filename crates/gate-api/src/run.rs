//! Gate runs and their executions.

use chrono::{DateTime, Utc};
use gate_core::Outcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::VerdictBody;

/// One pass of the gate over one report, or over a contract on its untouched baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunBody {
    /// Names it in paths.
    pub id: Uuid,
    /// The task that it concerns.
    pub task_id: Uuid,
    /// What it is about.
    #[serde(default)]
    #[schema(required)]
    pub kind: RunKindWord,
    /// The report that it judges; none of a preflight.
    #[schema(required)]
    pub report_id: Option<Uuid>,
    /// Where it stands.
    pub state: RunStateWord,
    /// Tries of the gate so far; more than one after a fault of the gate.
    pub attempts: u32,
    /// The contract version that it judges by.
    pub contract_version: u32,
    /// When it was queued.
    pub created_at: DateTime<Utc>,
    /// When it was judged or cancelled.
    #[schema(required)]
    pub finished_at: Option<DateTime<Utc>>,
    /// The answer, once there is one.
    #[schema(required)]
    pub verdict: Option<VerdictBody>,
}

/// What a run is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKindWord {
    /// It judges a report.
    #[default]
    Report,
    /// It proves on the untouched baseline that the contract can judge: PASS says that it can, and nothing of any work.
    Preflight,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStateWord {
    /// It waits for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// There is a verdict.
    Judged,
    /// It was cancelled with its task; there is no verdict.
    Cancelled,
}

/// One page of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunPage {
    /// The newest first.
    pub items: Vec<RunBody>,
    /// Where the next page starts; none on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// One acceptance command, run once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionBody {
    /// Names it in paths, from 0.
    pub index: u32,
    /// The check that owns it.
    pub check: String,
    /// The words that were executed.
    pub command: Vec<String>,
    /// How it ended.
    pub outcome: OutcomeBody,
    /// From start to end.
    pub duration_ms: u64,
    /// User and system time.
    pub cpu_ms: u64,
    /// The largest resident set of one of its processes.
    pub memory_peak_bytes: u64,
    /// Processes that were still alive when it ended, and were killed.
    pub stragglers_killed: u32,
    /// Whether it once could start no further process or thread, because its limit was reached. It ends nothing by itself.
    #[serde(default)]
    #[schema(required)]
    pub process_limit_hit: bool,
    /// The tool whose output was read, where one was known.
    #[schema(required)]
    pub tool: Option<String>,
    /// The runner's own summary, where one was seen.
    #[schema(required)]
    pub tests: Option<TestCounts>,
    /// Where the whole log is; `?stream=stdout|stderr|merged`, by byte range.
    pub log_url: String,
    /// Length of the merged log.
    pub log_bytes: u64,
}

/// How a command ended. Exactly one of the fields is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutcomeBody {
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exited: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed: Option<i32>,
    /// The time limit that it hit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out_ms: Option<u64>,
    /// The output limit that it hit, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit_bytes: Option<u64>,
    /// The limit of CPU time that it hit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit_ms: Option<u64>,
    /// The memory limit that it hit, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_memory_bytes: Option<u64>,
    /// The disk limit with which it failed, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_limit_bytes: Option<u64>,
    /// There is no such program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_found: Option<bool>,
    /// The program cannot be executed; the system's error number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_executable: Option<i32>,
    /// The run's time was used up before its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<bool>,
}

/// A runner's own summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestCounts {
    /// Executed and passed.
    pub passed: u64,
    /// Executed and failed.
    pub failed: u64,
    /// Not executed.
    pub skipped: u64,
}

impl From<Outcome> for OutcomeBody {
    fn from(outcome: Outcome) -> Self {
        let none = Self::default();
        match outcome {
            Outcome::Exited { code } => Self { exited: Some(code), ..none },
            Outcome::Killed { signal } => Self { killed: Some(signal), ..none },
            Outcome::TimedOut { limit_ms } => Self { timed_out_ms: Some(limit_ms), ..none },
            Outcome::OutputLimitExceeded { limit_bytes } => {
                Self { output_limit_bytes: Some(limit_bytes), ..none }
            }
            Outcome::CpuLimitExceeded { limit_ms } => Self { cpu_limit_ms: Some(limit_ms), ..none },
            Outcome::OutOfMemory { limit_bytes } => {
                Self { out_of_memory_bytes: Some(limit_bytes), ..none }
            }
            Outcome::DiskLimitExceeded { limit_bytes } => {
                Self { disk_limit_bytes: Some(limit_bytes), ..none }
            }
            Outcome::NotFound => Self { not_found: Some(true), ..none },
            Outcome::NotExecutable { errno } => Self { not_executable: Some(errno), ..none },
            Outcome::NotRun => Self { not_run: Some(true), ..none },
        }
    }
}
