//! The answer of a run.

use crate::{
    BaselineTests, Blame, Excerpt, Execution, Isolation, Sha256Digest, TaskState, TestPhase,
    TreeChange,
};

/// PASS, FAIL, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Every blocking check ran to its end and said yes.
    Pass,
    /// The work was judged, and is not done.
    Fail,
    /// The contract or the gate could not judge; the reporter loses no round.
    Inconclusive,
}

/// What the orchestrator does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NextStep {
    /// The task is done.
    Complete,
    /// The reporter fixes the findings and reports again.
    Rework,
    /// A person decides.
    NeedsHuman,
    /// The planner publishes a contract that can be judged.
    FixContract,
    /// The orchestrator resumes the agent, with the handle of its report.
    Resume,
    /// Somebody answers the agent's question.
    AnswerInput,
    /// The orchestrator starts the agent again later.
    RetryAfter,
    /// Nothing more is to be done.
    Stop,
    /// The contract is proven: the orchestrator starts an agent.
    Start,
}

/// Why a finding was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A command ended with an exit status that is not the expected one.
    CommandFailed,
    /// A signal ended a command.
    CommandKilled,
    /// A command took too long.
    TimedOut,
    /// A command printed too much.
    OutputLimit,
    /// A command used too much CPU time.
    CpuLimit,
    /// A command used too much memory.
    OutOfMemory,
    /// A command had no more room to write to.
    DiskLimit,
    /// The program of a command does not exist.
    CommandNotFound,
    /// The program of a command cannot be executed.
    CommandNotExecutable,
    /// The run's time was used up before the check's turn.
    NotRun,
    /// A test failed.
    TestFailed,
    /// No test was executed, or no runner's summary was seen.
    NoTestsRan,
    /// Fewer tests were executed than the contract asks for.
    TooFewTests,
    /// Fewer tests were executed than on the untouched baseline.
    FewerTestsThanBaseline,
    /// The exit status says yes and the summary says no, or a test binary never printed its summary.
    OutputContradictsExit,
    /// A file that the contract asks for is not there.
    FileMissing,
    /// A file that the contract asks for is empty.
    FileEmpty,
    /// A protected file differs from the contract's own, which was used.
    ProtectedFileChanged,
    /// The workspace could not be prepared from what the report names.
    SourceUnusable,
    /// The baseline could not be prepared from what the contract names.
    BaselineUnusable,
    /// A command of the contract names a path that its baseline does not have.
    PathMissing,
    /// A check that must fail on the untouched baseline says yes there.
    VacuousCheck,
    /// The tests of the baseline could not be counted.
    BaselineUncounted,
    /// A command that prepares the environment failed.
    SetupFailed,
    /// The contract asks for more isolation than this gate can give.
    IsolationUnavailable,
    /// The gate could not do its own work.
    GateFault,
}

/// A place in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Relative to the root of the workspace where the tool's output allows it.
    pub file: String,
    /// From 1.
    pub line: Option<u32>,
    /// From 1.
    pub column: Option<u32>,
}

/// One recorded reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The check that made it; none for what concerns the whole run.
    pub check: Option<String>,
    /// The criteria that rest on this check.
    pub criteria: Vec<String>,
    /// Why.
    pub kind: FindingKind,
    /// Whether it alone prevents a PASS.
    pub blocking: bool,
    /// Whose fault it is.
    pub blame: Blame,
    /// One line.
    pub title: String,
    /// Where to look.
    pub location: Option<Location>,
    /// The test that failed, where it is one.
    pub test: Option<FailedTest>,
    /// The lines that show it.
    pub excerpt: Option<Excerpt>,
}

/// The test that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTest {
    /// As the runner prints it.
    pub name: String,
    /// When it failed.
    pub phase: TestPhase,
    /// What it should have been, where the runner prints both sides of a comparison.
    pub expected: Option<String>,
    /// What it was.
    pub actual: Option<String>,
}

/// The whole answer of a run, ready to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// PASS, FAIL, or INCONCLUSIVE.
    pub decision: Decision,
    /// What the orchestrator does now.
    pub next_step: NextStep,
    /// Where the task goes.
    pub task_state: TaskState,
    /// Which of the reporter's rounds this was, from 1.
    pub round: u32,
    /// The contract's bound.
    pub rounds_max: u32,
    /// What to fix first comes first.
    pub findings: Vec<Finding>,
    /// Findings beyond the bound, which are not listed.
    pub findings_left_out: u32,
    /// What was run.
    pub executions: Vec<Execution>,
    /// The digest of the judged tree, where there was one.
    pub tree: Option<Sha256Digest>,
    /// How strongly the commands were walled in, where any ran.
    pub isolation: Option<Isolation>,
    /// How the reported tree differs from the baseline, by path; nothing without a baseline.
    pub changes: Vec<TreeChange>,
    /// Changes that are counted and not listed.
    pub changes_left_out: u64,
    /// What a preflight saw the tests do on the untouched baseline; nothing of a report's run.
    pub baseline_tests: Vec<BaselineTests>,
    /// Markdown for the next prompt: what to fix.
    pub feedback: String,
    /// Markdown for the next prompt: what ran, what that proved, and what to fix.
    pub execution_report: String,
}

impl Decision {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

impl NextStep {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Rework => "rework",
            Self::NeedsHuman => "needs_human",
            Self::FixContract => "fix_contract",
            Self::Resume => "resume",
            Self::AnswerInput => "answer_input",
            Self::RetryAfter => "retry_after",
            Self::Stop => "stop",
            Self::Start => "start",
        }
    }
}

impl FindingKind {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CommandFailed => "command_failed",
            Self::CommandKilled => "command_killed",
            Self::TimedOut => "timed_out",
            Self::OutputLimit => "output_limit",
            Self::CpuLimit => "cpu_limit",
            Self::OutOfMemory => "out_of_memory",
            Self::DiskLimit => "disk_limit",
            Self::CommandNotFound => "command_not_found",
            Self::CommandNotExecutable => "command_not_executable",
            Self::NotRun => "not_run",
            Self::TestFailed => "test_failed",
            Self::NoTestsRan => "no_tests_ran",
            Self::TooFewTests => "too_few_tests",
            Self::FewerTestsThanBaseline => "fewer_tests_than_baseline",
            Self::OutputContradictsExit => "output_contradicts_exit",
            Self::FileMissing => "file_missing",
            Self::FileEmpty => "file_empty",
            Self::ProtectedFileChanged => "protected_file_changed",
            Self::SourceUnusable => "source_unusable",
            Self::BaselineUnusable => "baseline_unusable",
            Self::PathMissing => "path_missing",
            Self::VacuousCheck => "vacuous_check",
            Self::BaselineUncounted => "baseline_uncounted",
            Self::SetupFailed => "setup_failed",
            Self::IsolationUnavailable => "isolation_unavailable",
            Self::GateFault => "gate_fault",
        }
    }
}
