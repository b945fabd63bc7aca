//! Isolation as contracts ask for it.

use gate_core::{IsolationTier, NetworkAccess};
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
