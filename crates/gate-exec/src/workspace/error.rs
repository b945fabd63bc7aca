//! Why a workspace could not be prepared, and whose fault that is.

use std::io;

use gate_core::Blame;

/// Which of a run's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRole {
    /// What the report hands in.
    Report,
    /// What the contract starts from.
    Baseline,
    /// What the contract brings along.
    Acceptance,
}

impl SourceRole {
    const fn noun(self) -> &'static str {
        match self {
            Self::Report => "the reported workspace",
            Self::Baseline => "the contract's baseline",
            Self::Acceptance => "the contract's acceptance files",
        }
    }
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Somebody wanted it to end.
    #[error("the preparation was cancelled")]
    Cancelled,
    /// A source cannot be had as it is.
    #[error("{} could not be prepared", role.noun())]
    Source {
        /// Which one.
        role: SourceRole,
        /// What is wrong with it.
        source: SourceError,
    },
    /// A protected pattern is no glob.
    #[error("the protected pattern `{pattern}` is not a valid glob")]
    Pattern {
        /// As the contract has it.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// The gate's own disk or threads.
    #[error("{stage} failed")]
    System {
        /// What was being done.
        stage: &'static str,
        /// What went wrong.
        source: io::Error,
    },
}

impl PrepareError {
    /// What is the reporter's fault in a report is the contract's in what it names itself.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Source { role, source } => match (role, source.is_of_the_sender()) {
                (SourceRole::Report, true) => Blame::Reporter,
                (SourceRole::Baseline | SourceRole::Acceptance, true) => Blame::Contract,
                (SourceRole::Report | SourceRole::Baseline | SourceRole::Acceptance, false) => {
                    Blame::Gate
                }
            },
            Self::Pattern { .. } => Blame::Contract,
            Self::Cancelled | Self::System { .. } => Blame::Gate,
        }
    }
}

/// What is wrong with one source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The repository answers, and does not have the commit.
    #[error("the repository {url} has no commit {commit}; push it before you report it")]
    UnknownCommit {
        /// Without credentials.
        url: String,
        /// The full id.
        commit: String,
    },
    /// The id names a tag, a tree, or a file.
    #[error("{id} is a {kind}, not a commit; name the commit")]
    NotACommit {
        /// The full id.
        id: String,
        /// What it is.
        kind: String,
    },
    /// The operator switched `file://` off.
    #[error("this gate does not fetch from file:// urls; use https or ssh")]
    FileUrlsOff,
    /// The repository has parts elsewhere.
    #[error(
        "the files of the submodule `{path}` are missing, and this gate does not fetch them; upload an archive that has them (`git submodule update --init --recursive`, then pack the directory)"
    )]
    Submodule {
        /// Where.
        path: String,
    },
    /// The file's bytes are elsewhere.
    #[error(
        "`{path}` is a Git LFS pointer and not the file itself, and this gate does not fetch it; upload an archive that has the file (`git lfs pull`, then pack the directory)"
    )]
    LfsPointer {
        /// Where.
        path: String,
    },
    /// The directory that is to be the workspace.
    #[error("there is no directory `{path}` in it")]
    NoSubdirectory {
        /// As it was asked for.
        path: String,
    },
    /// One entry is refused.
    #[error("entry `{name}`: {fault}")]
    Entry {
        /// As the source has it, printable.
        name: String,
        /// What is wrong with it.
        fault: EntryFault,
    },
    /// A bound was hit.
    #[error("it has more than {limit} {unit}")]
    TooLarge {
        /// The bound.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
    /// It grows too much while it is unpacked.
    #[error("it unpacks to more than {ratio} times its size")]
    Bomb {
        /// The bound.
        ratio: u64,
    },
    /// Not one of the four formats.
    #[error("it is none of tar, tar.gz, tar.zst, and zip")]
    UnknownFormat,
    /// It ends too early, or its bytes make no sense.
    #[error("the archive is damaged or cut off: {detail}")]
    Damaged {
        /// What the reader says.
        detail: String,
    },
    /// The repository could not be reached, or would not answer.
    #[error("the repository {url} could not be fetched: {detail}")]
    Unavailable {
        /// Without credentials.
        url: String,
        /// The last words of git.
        detail: String,
    },
    /// The repository wants credentials that the gate does not have.
    #[error("the gate may not read the repository {url}: {detail}")]
    NoAccess {
        /// Without credentials.
        url: String,
        /// The last words of git.
        detail: String,
    },
    /// The diff is no diff, or does not fit.
    #[error("the patch does not apply: {detail}")]
    Patch {
        /// Where, and why.
        detail: String,
    },
    /// There is nothing to apply it to.
    #[error(
        "a patch is applied to the contract's baseline, and there is none; name git, archive, files, or directory"
    )]
    PatchAlone,
    /// The operator allows no shared directories.
    #[error(
        "this gate takes no directories; its operator allows some by naming their roots in DONEGATE_WORKSPACE_DIRECTORY_ROOTS"
    )]
    DirectoriesOff,
    /// Not below a root that the operator allows.
    #[error(
        "`{path}` is below none of the directories that the operator of this gate allows in DONEGATE_WORKSPACE_DIRECTORY_ROOTS"
    )]
    DirectoryElsewhere {
        /// As the report has it.
        path: String,
    },
    /// Below an allowed root there is nothing of that name.
    #[error("there is no directory `{path}` on the gate's host, or a part of it is a link")]
    NoDirectory {
        /// As the report has it.
        path: String,
    },
    /// Somebody writes where the gate reads.
    #[error(
        "it kept changing while it was copied: {path}; report when nothing writes to it any more"
    )]
    Changed {
        /// What was seen to change, relative to the directory; empty for the directory itself.
        path: String,
    },
    /// The archive's file is not what its name says, or was not given.
    #[error("the stored archive is missing or not the one that was named")]
    WrongArchive,
    /// The gate's own disk or programs.
    #[error("{stage} failed")]
    System {
        /// What was being done.
        stage: &'static str,
        /// What went wrong.
        source: io::Error,
    },
    /// Somebody wanted it to end.
    #[error("it was cancelled")]
    Cancelled,
}

impl SourceError {
    /// Whether it is the fault of whoever named the source.
    const fn is_of_the_sender(&self) -> bool {
        match self {
            Self::UnknownCommit { .. }
            | Self::NotACommit { .. }
            | Self::FileUrlsOff
            | Self::Submodule { .. }
            | Self::LfsPointer { .. }
            | Self::NoSubdirectory { .. }
            | Self::Entry { .. }
            | Self::TooLarge { .. }
            | Self::Bomb { .. }
            | Self::UnknownFormat
            | Self::Damaged { .. }
            | Self::Patch { .. }
            | Self::PatchAlone
            | Self::DirectoriesOff
            | Self::DirectoryElsewhere { .. }
            | Self::NoDirectory { .. }
            | Self::Changed { .. } => true,
            Self::Unavailable { .. }
            | Self::NoAccess { .. }
            | Self::WrongArchive
            | Self::System { .. }
            | Self::Cancelled => false,
        }
    }

    pub(super) fn system(stage: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { stage, source }
    }

    pub(super) fn entry(name: impl AsRef<[u8]>, fault: EntryFault) -> Self {
        let name = String::from_utf8_lossy(name.as_ref());
        let name = name.chars().take(300).flat_map(char::escape_default).collect();
        Self::Entry { name, fault }
    }
}

/// Why one entry of a source is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// `/etc/passwd`.
    #[error("its path is absolute")]
    Absolute,
    /// `a/../../b`.
    #[error("its path has a part `..`")]
    Climbs,
    /// No name at all, or a character in it that no path of ours has.
    #[error("its path is empty or has a NUL or a backslash")]
    Name,
    /// Not text.
    #[error("its path is not UTF-8")]
    NotUtf8,
    /// Longer than the gate or the file system takes.
    #[error("its path is too long")]
    TooLong,
    /// There is one of that name already.
    #[error("it is there twice")]
    Duplicate,
    /// A part of its path is a file or a link.
    #[error("a directory on its path is a file or a link")]
    Through,
    /// A symbolic link to elsewhere.
    #[error("it is a link to `{target}`, outside of the workspace")]
    LinkLeaves {
        /// Where it leads.
        target: String,
    },
    /// A hard link to something that is no file of the same source before it.
    #[error("it is a hard link to `{target}`, which is no file before it")]
    HardLink {
        /// Where it leads.
        target: String,
    },
    /// A device, a pipe, a socket, a sparse file, …
    #[error("it is a {0}, and only files, directories, and links are taken")]
    Kind(&'static str),
    /// Encrypted, or compressed in another way than deflate.
    #[error("it is encrypted, or compressed in a way that is not taken")]
    Packing,
    /// Its mode forbids it.
    #[error("the gate may not read it; give others the right to")]
    Unreadable,
    /// A repository inside of the tree.
    #[error("it is or has a part `.git`")]
    Git,
}
