//! Events: every change of state, in order.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// One change of state. Events are never changed and never removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventBody {
    /// Rises by one with every event of the project; within a task it rises with gaps.
    pub sequence: u64,
    /// The task that it concerns; none for what concerns the project.
    #[schema(required)]
    pub task_id: Option<Uuid>,
    /// The run that it concerns.
    #[schema(required)]
    pub run_id: Option<Uuid>,
    /// `task.registered`, `contract.amended`, `report.accepted`, `report.routed`, `run.retried`, `verdict.decided`, `preflight.decided`, `task.escalated`, `task.cancelled`, …
    #[schema(example = "verdict.decided")]
    pub kind: String,
    /// Who: the name of an API key, or `gate`.
    pub actor: String,
    /// Why, and what else belongs to it.
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
    /// The trace that the change belongs to (W3C `traceparent`).
    #[schema(required)]
    pub traceparent: Option<String>,
    /// The request that caused it.
    #[schema(required)]
    pub request_id: Option<String>,
    /// When it was committed.
    pub at: DateTime<Utc>,
}

/// One page of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// The oldest first.
    pub items: Vec<EventBody>,
    /// Where the next page starts, now or later; none while there is no event at all.
    #[schema(required)]
    pub next_cursor: Option<String>,
}
