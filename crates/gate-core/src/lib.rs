//! Decides whether evidence meets a contract, and what follows from it.
//!
//! This crate never does I/O, never reads a clock, never spawns, never
//! serializes, and is never async: the same input gives the same verdict, for
//! ever. Every other crate only fetches what is decided on here, or carries
//! away what was decided.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![warn(clippy::wildcard_enum_match_arm)]

mod chain;
pub mod check;
mod command;
mod contract;
mod digest;
mod evidence;
mod fault;
mod feedback;
mod id;
mod isolation;
mod judge;
pub mod limits;
mod outcome;
mod output;
mod path;
pub mod pointer;
mod preflight;
mod report;
pub mod retry;
mod round;
mod route;
mod source;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod verdict;

pub use chain::Chain;
pub use check::{Check, CheckKind};
pub use command::{CommandLine, CommandLineError};
pub use contract::{Contract, ContractFault, ContractParts, Criterion, Environment, RunLimits};
pub use digest::{DigestError, Sha256Digest};
pub use evidence::{
    ChangeKind, Evidence, Execution, FileFact, LogRef, Outcome, ProtectedChange, TreeChange, Usage,
};
pub use fault::Blame;
pub use feedback::{Told, execution_report, feedback, preflight_feedback, shorten_pair};
pub use id::{
    CallbackId, EventId, Id, IdParseError, KeyId, Kind, LeaseToken, ReportId, RunId, TaskId,
};
pub use isolation::{
    Isolation, IsolationTier, MemoryBound, NetworkAccess, SetupUse, WorkspaceKind,
};
pub use judge::{Judgement, judge, judge_alone, without_evidence};
pub use outcome::{exit_meaning, signal_name};
pub use output::{
    Captured, Diagnostic, Excerpt, FailingTest, LogStream, Reading, Severity, TestCounts,
    TestPhase, TestTally,
};
pub use path::{PathError, PathPattern, TreePath};
pub use preflight::{
    BaselineTests, Wanted, WantedKind, baseline_tests, conclude_preflight, preflight, wanted,
};
pub use report::{
    Claim, ClaimEvidence, ClaimStatus, CompletionReport, ReasonCode, ReportFault, ReportStatus,
};
pub use round::{Round, conclude};
pub use route::route;
pub use source::{
    ArchiveFormat, GitSource, GitSourceError, InlineFile, SharedPath, SharedPathError,
    WorkspaceSource,
};
pub use task::TaskState;
pub use verdict::{Decision, FailedTest, Finding, FindingKind, Location, NextStep, Verdict};
