//! The JSON of the gate: request and response bodies, contract documents, callbacks, problems.
//!
//! This is the only crate that knows how our values are written down. It
//! knows neither HTTP nor SQL; the server and the executable share it, and
//! `openapi/` is generated from it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod access;
pub mod body;
mod callback;
pub mod contract_document;
mod environment_document;
mod event;
pub mod export;
mod isolation;
mod page;
mod problem;
mod report;
mod run;
mod source;
mod strict_json;
mod system;
mod task;
mod verdict;

pub use access::{
    ApiKeyBody, ApiKeyPage, CreateApiKey, CreateProject, CreatedApiKey, CreatedProject,
    ProjectBody, ProjectPage, Role, RotatedSecret,
};
pub use callback::{
    CallbackAttemptBody, CallbackBody, CallbackDelivery, CallbackPage, CallbackPayload,
    CallbackState,
};
pub use contract_document::{
    CallbackDocument, CheckDocument, CheckKindWord, ContractBody, ContractDocument,
    CriterionDocument, DeliverableDocument,
};
pub use environment_document::{
    EnvironmentDocument, LimitsDocument, NetworkDocument, SetupDocument, ShellDocument,
};
pub use event::{EventBody, EventPage};
pub use isolation::{IsolationBody, IsolationTierWord, LimitsBody, NetworkAccessWord};
pub use page::Cursor;
pub use problem::{InvalidField, ProblemBody, ProblemKind};
pub use report::{
    AgentBody, ClaimBody, ClaimStatusWord, EvidenceBody, ReasonCodeWord, ReportAccepted,
    ReportStatusWord, SubmitReport,
};
pub use run::{
    ExecutionBody, OutcomeBody, RunBody, RunKindWord, RunPage, RunStateWord, TestCounts,
};
pub use source::{
    ArchiveBody, ArchiveSource, DirectorySource, FileEncoding, FileSource, GitSourceBody,
    PatchSource, SourceBody,
};
pub use system::{SystemBody, SystemIsolation, UnavailableTier, WorkerBody, WorkerIsolation};
pub use task::{CancelTask, ContractRef, TaskBody, TaskPage, TaskStateWord, VerdictRef};
pub use verdict::{
    BlameWord, ChangeBody, ChangeKindWord, DecisionWord, ExcerptBody, FailedTestBody, FindingBody,
    LocationBody, NextStepWord, TestPhaseWord, VerdictBody,
};
