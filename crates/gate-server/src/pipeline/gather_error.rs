//! Why there is no evidence of a run, whose fault that is, and what its verdict says of it.

use std::io;

use gate_api::body::BodyError;
use gate_blob::BlobError;
use gate_core::{Blame, Chain, FindingKind};
use gate_excerpt::redact;
use gate_exec::{ExecError, PrepareError, SourceRole};

use crate::logs::LogError;
use crate::tiers::Unavailable;

/// Why there is no evidence; each variant knows whose fault it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatherError {
    #[error("the run was stopped")]
    Cancelled,
    #[error("a stored document could not be read back")]
    Document(#[from] BodyError),
    #[error(
        "a report of status success was stored without a workspace, or a preflight was queued without a baseline"
    )]
    NoWorkspace,
    #[error(transparent)]
    Isolation(#[from] Unavailable),
    #[error(transparent)]
    Prepare(PrepareError),
    #[error("the {0} archive was never uploaded")]
    ArchiveUnknown(&'static str, SourceRole),
    #[error("the object store failed")]
    Blob(#[from] BlobError),
    #[error("the logs could not be kept")]
    Logs(#[from] LogError),
    #[error("the run's own files could not be written")]
    Scratch(#[source] io::Error),
    #[error("a command could not be run")]
    Exec(#[source] ExecError),
}

impl GatherError {
    pub(super) fn archive(error: BlobError, role: SourceRole) -> Self {
        let whose = match role {
            SourceRole::Report => "report's",
            SourceRole::Baseline => "baseline's",
            SourceRole::Acceptance => "acceptance files'",
        };
        match error {
            BlobError::NotFound { .. } => Self::ArchiveUnknown(whose, role),
            error => Self::Blob(error),
        }
    }

    pub(super) fn blame(&self) -> Blame {
        match self {
            Self::Prepare(error) => error.blame(),
            Self::Exec(error) => error.blame(),
            Self::ArchiveUnknown(_, SourceRole::Report) => Blame::Reporter,
            Self::ArchiveUnknown(_, SourceRole::Baseline | SourceRole::Acceptance) => {
                Blame::Contract
            }
            Self::Cancelled
            | Self::Document(_)
            | Self::NoWorkspace
            | Self::Isolation(_)
            | Self::Blob(_)
            | Self::Logs(_)
            | Self::Scratch(_) => Blame::Gate,
        }
    }

    pub(super) fn kind(&self) -> FindingKind {
        if matches!(self, Self::Isolation(_)) {
            return FindingKind::IsolationUnavailable;
        }
        if matches!(self, Self::Exec(ExecError::SetUpFailed(_))) {
            return FindingKind::SetupFailed;
        }
        match self.blame() {
            Blame::Reporter => FindingKind::SourceUnusable,
            Blame::Contract => FindingKind::BaselineUnusable,
            Blame::Gate => FindingKind::GateFault,
        }
    }

    /// What the verdict says.
    pub(super) fn told(&self) -> String {
        match self.blame() {
            Blame::Gate if matches!(self, Self::Isolation(_)) => self.to_string(),
            // The address of a repository may hold a password, and so may what git says of it.
            Blame::Reporter | Blame::Contract => redact(&Chain(self).to_string()).into_owned(),
            // Which check, and at which stage: the person who decides starts there.
            Blame::Gate => format!("the gate could not judge: {}", Chain(self)),
        }
    }
}

impl From<PrepareError> for GatherError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Cancelled => Self::Cancelled,
            error => Self::Prepare(error),
        }
    }
}

impl From<ExecError> for GatherError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Cancelled => Self::Cancelled,
            error => Self::Exec(error),
        }
    }
}
