//! What can go wrong on this side of the wire, and what the gate refused.

use std::io;

use gate_api::{ProblemBody, ProblemKind};

use crate::api_key::KeyError;
use crate::demo::DemoError;
use crate::document::{Document, Fault};
use crate::exit::Exit;
use crate::pack::PackError;

/// Why a command did not get its answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("cannot read {name}")]
    Read { name: String, source: io::Error },
    #[error("{name} is there already: give another file with --out, or write over it with --force")]
    Exists { name: String },
    #[error(transparent)]
    Walk(#[from] gate_detect::WalkError),
    #[error(
        "{dir} shows neither tests nor a build{seen}. Known are {known}; for others write the contract by hand"
    )]
    NothingDetected { dir: String, seen: String, known: String },
    #[error(
        "the draft is no contract, so {name} was not written: give another --title, or write it by hand"
    )]
    Draft { name: String, faults: Vec<Fault> },
    #[error("cannot write {name}")]
    Write { name: String, source: io::Error },
    #[error("the matchers of {name} cannot be used")]
    Matchers { name: String, faults: Vec<Fault> },
    #[error("{name} is larger than the {bytes_max} bytes that are taken")]
    TooLarge { name: String, bytes_max: u64 },
    #[error(
        "cannot tell whether {name} is YAML or JSON: say it with --format, or name it .yaml or .json"
    )]
    Format { name: String },
    #[error("the report in {name} does not have its form")]
    Report { name: String, faults: Vec<Fault> },
    #[error(
        "the report in {name} names a workspace already: leave it out there, or give no --git, --archive, or --dir"
    )]
    WorkspaceTwice { name: String },
    #[error("an idempotency key is 1 to 255 visible ASCII characters")]
    IdempotencyKey,
    #[error("`{url}` is not the address of a gate: {expected}")]
    Url { url: String, expected: &'static str },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Pack(#[from] PackError),
    #[error("cannot set up HTTPS: is there a file of certificate authorities on this machine?")]
    Tls { source: reqwest::Error },
    #[error("cannot reach the gate at {url}")]
    Unreachable { url: String, source: reqwest::Error },
    #[error("{url} sends us on to {to}: give that address with --url if it is the gate's")]
    SentOn { url: String, to: String },
    #[error("{url} answered with status {status}, and not as a gate does: {start}")]
    NotAGate { url: String, status: u16, start: String },
    #[error(transparent)]
    Config(#[from] gate_server::ConfigError),
    #[error("DATABASE_URL is not set, and a private cluster is migrated by `donegate serve`")]
    NoDatabase,
    #[error("the private PostgreSQL cluster cannot be used")]
    Postgres(#[source] gate_postgres::PostgresError),
    #[error("the gate did not start")]
    Start(#[from] gate_server::StartError),
    #[error("cannot wait for signals")]
    Signal { source: io::Error },
    #[error("the demo was not told to its end")]
    Demo(#[from] DemoError),
    #[error("{}: {}", .0.problem.title, .0.problem.detail)]
    Refused(Box<Refusal>),
}

/// A request that the gate refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// As the gate answered.
    pub(crate) problem: ProblemBody,
    /// The document that its faults are in, where there is one.
    pub(crate) name: Option<String>,
    /// Its faults, with their lines where they are known.
    pub(crate) faults: Vec<Fault>,
}

impl CliError {
    /// A refusal that belongs to no document.
    pub(crate) fn refused(problem: ProblemBody) -> Self {
        let faults = problem.errors.iter().cloned().map(Into::into).collect();
        Self::Refused(Box::new(Refusal { problem, name: None, faults }))
    }

    /// Adds the document's name and lines to the faults that the gate found in it.
    pub(crate) fn in_document(self, document: &Document) -> Self {
        let Self::Refused(mut refusal) = self else { return self };
        refusal.name = Some(document.name.clone());
        refusal.faults = document.located(refusal.problem.errors.clone());
        Self::Refused(refusal)
    }

    /// How the executable ends on it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Read { .. }
            | Self::Exists { .. }
            | Self::Walk(_)
            | Self::NothingDetected { .. }
            | Self::Draft { .. }
            | Self::Write { .. }
            | Self::Matchers { .. }
            | Self::TooLarge { .. }
            | Self::Format { .. }
            | Self::Report { .. }
            | Self::WorkspaceTwice { .. }
            | Self::IdempotencyKey
            | Self::Url { .. }
            | Self::Key(_)
            | Self::Pack(_)
            | Self::SentOn { .. }
            | Self::Config(_)
            | Self::NoDatabase => Exit::Usage,
            Self::Postgres(_) | Self::Start(_) | Self::Signal { .. } | Self::Demo(_) => {
                Exit::Unreachable
            }
            Self::Tls { .. } | Self::Unreachable { .. } | Self::NotAGate { .. } => {
                Exit::Unreachable
            }
            Self::Refused(refusal) => Exit::of_problem(refusal.problem.code),
        }
    }

    /// For programs; a refusal has the gate's own code.
    pub(crate) fn code(&self) -> String {
        let code = match self {
            Self::Read { .. } | Self::TooLarge { .. } | Self::Walk(_) => "file_unreadable",
            Self::Exists { .. } => "file_exists",
            Self::NothingDetected { .. } => "nothing_detected",
            Self::Draft { .. } => "draft_invalid",
            Self::Write { .. } => "file_unwritable",
            Self::Matchers { .. } => "matchers_invalid",
            Self::Format { .. } => "format_unknown",
            Self::Report { .. } | Self::WorkspaceTwice { .. } => "report_invalid",
            Self::IdempotencyKey => "idempotency_key_invalid",
            Self::Url { .. } | Self::SentOn { .. } => "url_invalid",
            Self::Key(_) => "key_missing",
            Self::Pack(_) => "workspace_unpackable",
            Self::Tls { .. } | Self::Unreachable { .. } => "unreachable",
            Self::NotAGate { .. } => "not_a_gate",
            Self::Config(_) | Self::NoDatabase => "configuration_invalid",
            Self::Postgres(_) | Self::Start(_) | Self::Signal { .. } => "gate_not_started",
            Self::Demo(_) => "demo_failed",
            Self::Refused(refusal) => return refusal.problem.code.code(),
        };
        code.to_owned()
    }

    /// Whether the same request may succeed in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            // What stands in front of a gate answers for it while it starts again.
            Self::NotAGate { status, .. } => matches!(status, 502..=504),
            Self::Refused(refusal) => matches!(
                refusal.problem.code,
                ProblemKind::IdempotencyKeyInFlight
                    | ProblemKind::RequestTimeout
                    | ProblemKind::Unavailable
            ),
            Self::Read { .. }
            | Self::Exists { .. }
            | Self::Walk(_)
            | Self::NothingDetected { .. }
            | Self::Draft { .. }
            | Self::Write { .. }
            | Self::Matchers { .. }
            | Self::TooLarge { .. }
            | Self::Format { .. }
            | Self::Report { .. }
            | Self::WorkspaceTwice { .. }
            | Self::IdempotencyKey
            | Self::Url { .. }
            | Self::Key(_)
            | Self::Pack(_)
            | Self::Tls { .. }
            | Self::SentOn { .. }
            | Self::Config(_)
            | Self::NoDatabase
            | Self::Postgres(_)
            | Self::Start(_)
            | Self::Signal { .. }
            | Self::Demo(_) => false,
        }
    }

    /// The faults that it lists, with the document that they are in.
    pub(crate) fn faults(&self) -> (Option<&str>, &[Fault]) {
        match self {
            Self::Report { name, faults }
            | Self::Draft { name, faults }
            | Self::Matchers { name, faults } => (Some(name), faults),
            Self::Refused(refusal) => (refusal.name.as_deref(), &refusal.faults),
            Self::Read { .. }
            | Self::Exists { .. }
            | Self::Walk(_)
            | Self::NothingDetected { .. }
            | Self::Write { .. }
            | Self::TooLarge { .. }
            | Self::Format { .. }
            | Self::WorkspaceTwice { .. }
            | Self::IdempotencyKey
            | Self::Url { .. }
            | Self::Key(_)
            | Self::Pack(_)
            | Self::Tls { .. }
            | Self::Unreachable { .. }
            | Self::SentOn { .. }
            | Self::NotAGate { .. }
            | Self::Config(_)
            | Self::NoDatabase
            | Self::Postgres(_)
            | Self::Start(_)
            | Self::Signal { .. }
            | Self::Demo(_) => (None, &[]),
        }
    }
}
