//! How strongly a command is walled in, and what exactly that meant for one run.

use crate::RunLimits;

/// The isolation tiers, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsolationTier {
    /// Own process group, clean environment, own home and temporary directory; nothing is hidden.
    Process,
    /// Files, signals, and sockets fenced off by Landlock and seccomp, on the host's own file system.
    Landlock,
    /// A file system, a process table, and a network of its own, by the kernel's namespaces.
    Namespace,
    /// An image of the contract's, run by a container engine.
    Container,
}

/// What a command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkAccess {
    /// Nothing but, where the tier has it, a loopback of its own.
    None,
    /// Hosts outside, through the gate's proxy: never the gate, its host, or cloud metadata.
    Full,
}

/// Who counts the memory of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryBound {
    /// Nobody.
    None,
    /// The kernel for each process, and the gate for all together, a few times a second.
    Watched,
    /// The kernel for all together, in a cgroup of version 1.
    CgroupV1,
    /// The kernel for all together, in a cgroup of version 2.
    CgroupV2,
    /// The container engine.
    Engine,
}

/// What the workspace lay on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// A copy of the tree.
    Copy,
    /// A layer in memory over a tree that is shared and never written.
    Overlay,
}

/// What became of the commands that prepare the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupUse {
    /// The contract has none.
    None,
    /// They were run.
    Run,
    /// What they left in an earlier run, of the same tree and by the same words, was laid under this one.
    Cached,
}

/// How the commands of one run were walled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// How strongly.
    pub tier: IsolationTier,
    /// The user that the kernel saw, outside of any user namespace.
    pub kernel_uid: u32,
    /// The version of Landlock that was enforced.
    pub landlock_abi: Option<u32>,
    /// Whether a command could use 127.0.0.1.
    pub loopback: bool,
    /// Who counted the memory.
    pub memory_bound: MemoryBound,
    /// What the workspace lay on.
    pub workspace: WorkspaceKind,
    /// What became of the commands that prepare the environment.
    pub setup: SetupUse,
    /// The bounds that held.
    pub limits: RunLimits,
    /// What this tier does not keep from a command on this machine, in words.
    pub known_gaps: Vec<String>,
}

impl IsolationTier {
    /// All of them, from the weakest to the strongest.
    pub const ALL: [Self; 4] = [Self::Process, Self::Landlock, Self::Namespace, Self::Container];

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Landlock => "landlock",
            Self::Namespace => "namespace",
            Self::Container => "container",
        }
    }

    /// The tier of that name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

impl NetworkAccess {
    /// The word for it in JSON and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Full => "full",
        }
    }
}

impl MemoryBound {
    const ALL: [Self; 5] =
        [Self::None, Self::Watched, Self::CgroupV1, Self::CgroupV2, Self::Engine];

    /// The bound of that name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Watched => "watched",
            Self::CgroupV1 => "cgroup_v1",
            Self::CgroupV2 => "cgroup_v2",
            Self::Engine => "engine",
        }
    }
}

impl SetupUse {
    const ALL: [Self; 3] = [Self::None, Self::Run, Self::Cached];

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Run => "run",
            Self::Cached => "cached",
        }
    }

    /// The use of that name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

impl WorkspaceKind {
    /// The kind of that name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Copy, Self::Overlay].into_iter().find(|it| it.as_str() == word)
    }

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Overlay => "overlay",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_ordered_by_strength_and_found_by_their_words() {
        assert!(IsolationTier::ALL.is_sorted());
        for tier in IsolationTier::ALL {
            assert_eq!(IsolationTier::from_word(tier.as_str()), Some(tier));
        }
        assert_eq!(IsolationTier::from_word("vm"), None);
    }
}
