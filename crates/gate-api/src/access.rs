//! Projects, and the API keys that may touch them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A new project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Its name in paths; unique.
    #[schema(min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$", example = "shop")]
    pub slug: String,
    /// Its share of the workers when several projects wait; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub weight: Option<u32>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectBody {
    /// Its name in paths.
    pub slug: String,
    /// Its share of the workers.
    pub weight: u32,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// A new project, with what is shown only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedProject {
    /// The project.
    pub project: ProjectBody,
    /// Verifies the signature of its callbacks (Standard Webhooks). Shown once.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    pub callback_secret: String,
}

/// A new callback secret. The one before stays valid beside it for a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RotatedSecret {
    /// Shown once.
    pub callback_secret: String,
    /// Until then every callback carries a signature by the secret before, too.
    pub previous_valid_until: DateTime<Utc>,
}

/// One page of projects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectPage {
    /// By slug.
    pub items: Vec<ProjectBody>,
    /// Where the next page starts; none on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Publishes contracts.
    Planner,
    /// Uploads workspaces, posts completion reports, and reads.
    Reporter,
    /// Reads; reviews come with a later version.
    Reviewer,
    /// Planner, reporter, cancel, and callbacks.
    Orchestrator,
    /// Everything, in every project when the key belongs to none.
    Admin,
}

/// A new API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    /// Says whose it is.
    #[schema(min_length = 1, max_length = 100, example = "coder-7")]
    pub name: String,
    /// At least one.
    #[schema(min_items = 1, max_items = 5)]
    pub roles: Vec<Role>,
    /// When it stops to work; never by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// An API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyBody {
    /// Names it in paths.
    pub id: Uuid,
    /// The project that it belongs to; none for an admin key of the whole gate.
    #[schema(required)]
    pub project: Option<String>,
    /// Says whose it is.
    pub name: String,
    /// Its first characters, to tell keys apart.
    pub prefix: String,
    /// What it may do.
    pub roles: Vec<Role>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it stops to work.
    #[schema(required)]
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    #[schema(required)]
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A new API key with its secret, which is shown only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiKey {
    /// The key.
    pub key: ApiKeyBody,
    /// Sent as `Authorization: Bearer …`. Shown once, stored hashed.
    #[schema(example = "dg_0123456789abcdefghijABCDEFGHIJ01abcdef")]
    pub secret: String,
}

/// All keys of a project, revoked ones included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyPage {
    /// The oldest first.
    pub items: Vec<ApiKeyBody>,
    /// Where the next page starts; none on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Planner, Self::Reporter, Self::Reviewer, Self::Orchestrator, Self::Admin];

    /// The word for it in JSON, tables, and arguments.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Reporter => "reporter",
            Self::Reviewer => "reviewer",
            Self::Orchestrator => "orchestrator",
            Self::Admin => "admin",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
