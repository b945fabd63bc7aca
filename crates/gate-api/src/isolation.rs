//! Isolation as contracts ask for it, and as verdicts tell it.

use gate_core::{Isolation, IsolationTier, NetworkAccess, RunLimits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How strongly commands are walled in, from the weakest tier to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IsolationTierWord {
    /// Own process group, clean environment, own home; nothing is hidden.
    Process,
    /// Files, signals, and sockets fenced off by the kernel, on the host's own file system.
    Landlock,
    /// A file system, a process table, and a network of its own.
    Namespace,
    /// The contract's image, run by a container engine.
    Container,
}

/// What commands may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccessWord {
    /// Nothing but, where the tier has it, a loopback of their own.
    None,
    /// HTTP and HTTPS through the gate's proxy, which `http_proxy` and `https_proxy` name: public hosts, never the gate, its host, private networks, or cloud metadata.
    Full,
}

/// How the commands were walled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IsolationBody {
    /// How strongly.
    pub tier: IsolationTierWord,
    /// The user that the kernel saw, outside of any user namespace.
    pub kernel_uid: u32,
    /// The version of Landlock that was enforced; none where it was not.
    #[schema(required)]
    pub landlock_abi: Option<u32>,
    /// Whether a command could use 127.0.0.1.
    pub loopback: bool,
    /// Who counted the memory: `none`, `watched` (the gate, a few times a second), `cgroup_v1`, `cgroup_v2`, or `engine`.
    #[schema(example = "cgroup_v2")]
    pub memory_bound: String,
    /// What the workspace lay on: `copy`, or `overlay` (a layer in memory over a shared tree).
    #[schema(example = "overlay")]
    pub workspace: String,
    /// What became of the contract's setup commands: `none` (there are none), `run`, or `cached` (what they left in an earlier run of the same tree was laid under this one).
    #[schema(example = "cached")]
    pub setup: String,
    /// The bounds that held.
    pub limits: LimitsBody,
    /// What this tier does not keep from a command on this machine, in words.
    pub known_gaps: Vec<String>,
}

/// The bounds that held for one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsBody {
    /// For one command.
    pub command_seconds: u32,
    /// For all commands together.
    pub run_seconds: u32,
    /// CPU time of one command, all its processes together.
    pub cpu_seconds: u32,
    /// Memory of all processes of a command together, in MiB.
    pub memory_mb: u32,
    /// Processes and threads of a command at once.
    pub processes: u32,
    /// Files that one process may have open.
    pub open_files: u32,
    /// What the run may write, in MiB.
    pub disk_mb: u32,
    /// What one command may print.
    pub output_bytes: u64,
}

impl From<Isolation> for IsolationBody {
    fn from(isolation: Isolation) -> Self {
        Self {
            tier: isolation.tier.into(),
            kernel_uid: isolation.kernel_uid,
            landlock_abi: isolation.landlock_abi,
            loopback: isolation.loopback,
            memory_bound: isolation.memory_bound.as_str().to_owned(),
            workspace: isolation.workspace.as_str().to_owned(),
            setup: isolation.setup.as_str().to_owned(),
            limits: isolation.limits.into(),
            known_gaps: isolation.known_gaps,
        }
    }
}

impl From<RunLimits> for LimitsBody {
    fn from(limits: RunLimits) -> Self {
        Self {
            command_seconds: limits.command_seconds,
            run_seconds: limits.run_seconds,
            cpu_seconds: limits.cpu_seconds,
            memory_mb: limits.memory_mb,
            processes: limits.processes,
            open_files: limits.open_files,
            disk_mb: limits.disk_mb,
            output_bytes: limits.output_bytes,
        }
    }
}

impl From<IsolationTierWord> for IsolationTier {
    fn from(word: IsolationTierWord) -> Self {
        match word {
            IsolationTierWord::Process => Self::Process,
            IsolationTierWord::Landlock => Self::Landlock,
            IsolationTierWord::Namespace => Self::Namespace,
            IsolationTierWord::Container => Self::Container,
        }
    }
}

impl From<IsolationTier> for IsolationTierWord {
    fn from(tier: IsolationTier) -> Self {
        match tier {
            IsolationTier::Process => Self::Process,
            IsolationTier::Landlock => Self::Landlock,
            IsolationTier::Namespace => Self::Namespace,
            IsolationTier::Container => Self::Container,
        }
    }
}

impl From<NetworkAccessWord> for NetworkAccess {
    fn from(word: NetworkAccessWord) -> Self {
        match word {
            NetworkAccessWord::None => Self::None,
            NetworkAccessWord::Full => Self::Full,
        }
    }
}
