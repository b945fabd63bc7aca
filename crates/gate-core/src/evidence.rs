//! Everything that the gate itself saw. Nothing in here comes from a report.

use crate::{BaselineTests, CommandLine, Isolation, Reading, Sha256Digest, TreePath};

/// What one run saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The digest of the judged tree, protected files laid over.
    pub tree: Sha256Digest,
    /// How strongly the commands were walled in.
    pub isolation: Isolation,
    /// One for each acceptance command, in the contract's order.
    pub executions: Vec<Execution>,
    /// What stood at the paths that the contract asks for, before any command ran.
    pub files: Vec<(TreePath, FileFact)>,
    /// What the reporter had done to protected files before they were laid over.
    pub protected_changes: Vec<ProtectedChange>,
    /// How the reported tree, before anything was laid over, differs from the baseline, by path; nothing without a baseline.
    pub changes: Vec<TreeChange>,
    /// Changes beyond [`CHANGES_MAX`](crate::limits::CHANGES_MAX), which are counted and not listed.
    pub changes_left_out: u64,
    /// What the tests did on the untouched baseline, of the checks that were run there.
    pub baseline_tests: Vec<BaselineTests>,
}

/// One acceptance command, run once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The id of the check that owns it.
    pub check: String,
    /// What was run.
    pub command: CommandLine,
    /// How it ended.
    pub outcome: Outcome,
    /// What it used.
    pub usage: Usage,
    /// Processes that were still alive when it ended, and were killed.
    pub stragglers_killed: u32,
    /// The whole logs: stdout, stderr, merged.
    pub logs: [LogRef; 3],
    /// Whether it once could start no further process or thread: a bound that ends nothing by itself.
    pub process_limit_hit: bool,
    /// What was read in the merged log.
    pub reading: Reading,
}

/// How an acceptance command ended. Every variant is evidence; none is an `Err`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It ended by itself.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// A signal ended it that the gate had not sent.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// It took longer than its limit, or than what was left of the run's.
    TimedOut {
        /// The limit that was hit.
        limit_ms: u64,
    },
    /// It printed more than its limit.
    OutputLimitExceeded {
        /// The limit that was hit.
        limit_bytes: u64,
    },
    /// Its processes together used more CPU time than its limit.
    CpuLimitExceeded {
        /// The limit that was hit.
        limit_ms: u64,
    },
    /// Its processes together used more memory than its limit, and were ended.
    OutOfMemory {
        /// The limit that was hit.
        limit_bytes: u64,
    },
    /// It failed where there was no more room to write to.
    DiskLimitExceeded {
        /// The limit that was hit.
        limit_bytes: u64,
    },
    /// There is no such program.
    NotFound,
    /// The program is there, and cannot be executed.
    NotExecutable {
        /// The system's error number.
        errno: i32,
    },
    /// The run's time was used up before its turn.
    NotRun,
}

/// What an execution used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// From start to end.
    pub duration_ms: u64,
    /// User and system time of the command and the children it waited for.
    pub cpu_ms: u64,
    /// The largest resident set of one of its processes.
    pub memory_peak_bytes: u64,
}

/// A whole log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRef {
    /// Of the log in the form in which it is stored.
    pub sha256: Sha256Digest,
    /// Its raw length, as it was printed.
    pub size_bytes: u64,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFact {
    /// Nothing, or a link that leads nowhere.
    Missing,
    /// A regular file.
    File {
        /// Its length.
        size_bytes: u64,
    },
    /// A directory.
    Directory {
        /// Its direct entries.
        entries: u64,
    },
    /// A device, a socket, or the like.
    Other,
}

/// A protected file that was not as the baseline has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtectedChange {
    /// Its bytes or its mode differ.
    Changed(TreePath),
    /// It is gone.
    Deleted(TreePath),
    /// The baseline does not have it.
    Added(TreePath),
}

/// A file or link that is not as the baseline has it. Directories are not listed, only what is in them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeChange {
    /// Where.
    pub path: TreePath,
    /// How.
    pub kind: ChangeKind,
}

/// How a file or link differs from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The baseline does not have it.
    Added,
    /// Its bytes, its mode, its target, or its kind differ.
    Modified,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// As it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

impl Evidence {
    /// The execution that belongs to a check.
    #[must_use]
    pub fn execution(&self, check: &str) -> Option<&Execution> {
        self.executions.iter().find(|it| it.check == check)
    }

    /// What a check's tests did on the untouched baseline.
    #[must_use]
    pub fn baseline_of(&self, check: &str) -> Option<&BaselineTests> {
        self.baseline_tests.iter().find(|it| it.check == check)
    }

    /// What stood at a path; a path that was not asked for is missing.
    #[must_use]
    pub fn file(&self, path: &TreePath) -> FileFact {
        let fact = self.files.iter().find(|(it, _)| it == path);
        fact.map_or(FileFact::Missing, |(_, fact)| *fact)
    }
}
