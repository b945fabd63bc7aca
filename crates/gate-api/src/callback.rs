//! Callbacks: the body that is posted, and the log of its delivery.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{DecisionWord, FindingBody, NextStepWord, TaskStateWord};

/// What is posted to the contract's callback URL, signed as Standard Webhooks 1.0.0 says.
///
/// Below 20 KiB: full evidence is fetched from `data.verdict_url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackPayload {
    /// `verdict.decided`, `preflight.decided`, `report.routed`, or `task.cancelled`.
    #[serde(rename = "type")]
    #[schema(example = "verdict.decided")]
    pub kind: String,
    /// When it happened.
    pub timestamp: DateTime<Utc>,
    /// What happened.
    pub data: CallbackBody,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackBody {
    /// The project's slug.
    pub project: String,
    /// The task.
    pub task_id: Uuid,
    /// Where the task stands now.
    pub task_state: TaskStateWord,
    /// Rises strictly within a task; callbacks of one task arrive in this order.
    pub sequence: u64,
    /// The run; none where none was made.
    #[schema(required)]
    pub run_id: Option<Uuid>,
    /// The report; none of a preflight, and of a cancelled task without one.
    #[schema(required)]
    pub report_id: Option<Uuid>,
    /// The verdict's decision; none where there is no verdict on a report.
    #[schema(required)]
    pub decision: Option<DecisionWord>,
    /// What the orchestrator does now.
    pub next_step: NextStepWord,
    /// The round of the verdict; none where there is no verdict on a report.
    #[schema(required)]
    pub round: Option<u32>,
    /// The contract's bound on rounds.
    pub rounds_max: u32,
    /// The first findings, without excerpts; all of them are in the verdict.
    pub findings: Vec<FindingBody>,
    /// The path of the verdict in this API.
    #[schema(required)]
    pub verdict_url: Option<String>,
    /// The handle of a `partial` report, given back.
    #[schema(required)]
    pub resumable_handle: Option<String>,
    /// The trace of the request that led here (W3C Trace Context); also a header of the callback.
    #[schema(required)]
    pub traceparent: Option<String>,
    /// The request that led here.
    #[schema(required)]
    pub request_id: Option<String>,
}

/// Where a callback stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallbackState {
    /// It is due, now or later.
    Due,
    /// The receiver answered 2xx.
    Delivered,
    /// The schedule is used up, or the receiver answered 410. It can be redelivered.
    Dead,
}

/// A callback with its delivery log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackPage {
    /// The oldest first; at most the last 200.
    pub items: Vec<CallbackDelivery>,
}

/// One callback of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackDelivery {
    /// Its `webhook-id`, the same on every attempt.
    pub id: Uuid,
    /// What it tells.
    pub kind: String,
    /// Where it goes.
    pub url: String,
    /// Where it stands.
    pub state: CallbackState,
    /// When it is tried next; none unless it is due.
    #[schema(required)]
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// Every attempt, the oldest first; at most the last 50.
    pub attempts: Vec<CallbackAttemptBody>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// One attempt to deliver a callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackAttemptBody {
    /// When it started.
    pub at: DateTime<Utc>,
    /// How long it took.
    pub duration_ms: u64,
    /// What the receiver answered; none where it did not.
    #[schema(required)]
    pub status: Option<u16>,
    /// Why it counts as failed; none where it was delivered.
    #[schema(required)]
    pub error: Option<String>,
}
