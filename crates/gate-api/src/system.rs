//! The gate itself: its version, and what its workers can do.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{IsolationBody, IsolationTierWord};

/// What the gate is, and what it can do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemBody {
    /// Of the process that answers.
    #[schema(example = "0.1.0")]
    pub version: String,
    /// How commands are walled in.
    pub isolation: SystemIsolation,
}

/// How commands are walled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemIsolation {
    /// The workers that live, the oldest first; at most 1,000.
    pub workers: Vec<WorkerBody>,
}

/// A worker, and what it proved at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerBody {
    /// Its host and process.
    #[schema(example = "build-7/4711")]
    pub node: String,
    /// What it can do.
    #[serde(flatten)]
    pub isolation: WorkerIsolation,
}

/// What the self-tests of a worker proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerIsolation {
    /// The tier of every contract that names no image.
    pub tier: IsolationTierWord,
    /// What that means on this machine, with the limits of a contract that sets none.
    pub detail: IsolationBody,
    /// The stronger tiers that it does not have, and `container` where it runs no images.
    pub unavailable: Vec<UnavailableTier>,
    /// When it was tested.
    pub tested_at: DateTime<Utc>,
}

/// A tier that a worker does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnavailableTier {
    /// Which.
    pub tier: IsolationTierWord,
    /// Why.
    pub reason: String,
}
