//! Settings of sandboxes and workspaces: how strongly commands are walled in, and what they may see.

use std::path::PathBuf;
use std::str::FromStr;

use gate_core::IsolationTier;

use super::reader::Reader;
use crate::callback::Networks;

/// Uids that other programs give a meaning to: nobody, and the error value of 16 bits.
const TAKEN_UIDS: [u32; 2] = [65_534, 65_535];
/// The most slots that a worker may have; each has a uid.
const SLOTS_MAX: u32 = 512;
/// Each run has its own in the tier `namespace`.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
const UID_BASE_DEFAULT: u32 = 61_000;
/// Below are the uids of the system and of people.
const UID_BASE_MIN: u32 = 1000;
const UID_BASE_MAX: u32 = 2_000_000_000;
const CACHE_BYTES_DEFAULT: u64 = 4 * 1024 * 1024 * 1024;

/// Which tier commands are walled in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierChoice {
    /// The strongest that hides the host and that this machine has.
    Auto,
    /// The strongest that this machine has, even if it hides nothing: for commands of our own.
    AutoOrProcess,
    /// This one and no other.
    Exactly(IsolationTier),
}

/// Settings of sandboxes.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// How strongly commands are walled in.
    pub tier: TierChoice,
    /// What commands may read beside the system's own programs; `None`: the toolchains that are found.
    pub read_only_paths: Option<Vec<PathBuf>>,
    /// The first of the kernel uids that sandboxes have when the gate is root.
    pub uid_base: u32,
    /// Private networks that commands with `network: full` may reach.
    pub allowed_networks: Networks,
    /// What runs images; `None`: the first that is found.
    pub container_engine: Option<PathBuf>,
}

/// Settings of workspaces.
#[derive(Debug, Clone)]
pub struct WorkspaceConfig {
    /// Where the source `directory` may lead.
    pub directory_roots: Vec<PathBuf>,
    /// What kept trees may take.
    pub cache_bytes: u64,
}

impl FromStr for TierChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match (text, IsolationTier::from_word(text)) {
            ("auto", _) => Ok(Self::Auto),
            (_, Some(IsolationTier::Container)) => {
                Err("contracts that name an image are run in containers, others never")
            }
            (_, Some(tier)) => Ok(Self::Exactly(tier)),
            (_, None) => Err("must be auto, namespace, landlock, or process"),
        }
    }
}

impl SandboxConfig {
    pub(super) fn read(reader: &mut Reader) -> Self {
        let tier = reader.value("DONEGATE_SANDBOX_TIER", TierChoice::Auto);
        Self {
            tier,
            read_only_paths: read_only_paths(reader, tier),
            uid_base: uid_base(reader),
            allowed_networks: reader.networks("DONEGATE_SANDBOX_ALLOWED_NETWORKS", ""),
            container_engine: reader.path("DONEGATE_SANDBOX_CONTAINER_ENGINE"),
        }
    }
}

impl WorkspaceConfig {
    pub(super) fn read(reader: &mut Reader) -> Self {
        Self {
            directory_roots: reader.paths("DONEGATE_WORKSPACE_DIRECTORY_ROOTS").unwrap_or_default(),
            cache_bytes: reader.value("DONEGATE_WORKSPACE_CACHE_BYTES", CACHE_BYTES_DEFAULT),
        }
    }
}

/// What commands could not see in the tier that they get is refused, not passed over.
fn read_only_paths(reader: &mut Reader, tier: TierChoice) -> Option<Vec<PathBuf>> {
    let name = "DONEGATE_SANDBOX_READ_ONLY_PATHS";
    let paths = reader.paths(name)?;
    let shows_all = [IsolationTier::Landlock, IsolationTier::Process].map(TierChoice::Exactly);
    let is_hidden = |it: &&PathBuf| TEMPORARY.iter().any(|temporary| it.starts_with(temporary));
    for path in paths.iter().filter(is_hidden).filter(|_| !shows_all.contains(&tier)) {
        reader.faults.push(format!(
            "{name}: {} lies in a temporary directory, of which commands in the tier `namespace` have one of their own; put it elsewhere, or set DONEGATE_SANDBOX_TIER=landlock",
            path.display()
        ));
    }
    Some(paths)
}

fn uid_base(reader: &mut Reader) -> u32 {
    let name = "DONEGATE_SANDBOX_UID_BASE";
    let base = reader.bounded(name, UID_BASE_DEFAULT, UID_BASE_MIN, UID_BASE_MAX);
    if let Some(taken) = TAKEN_UIDS.into_iter().find(|it| (base..base + SLOTS_MAX).contains(it)) {
        let fault = format!("{name}: the {SLOTS_MAX} uids from {base} on would meet {taken}");
        reader.faults.push(fault);
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (SandboxConfig, WorkspaceConfig, Vec<String>) {
        let variables = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut reader = Reader { variables, faults: Vec::new() };
        (SandboxConfig::read(&mut reader), WorkspaceConfig::read(&mut reader), reader.faults)
    }

    #[test]
    fn without_a_word_the_strongest_tier_is_taken_and_nothing_private_is_shown() {
        let (sandbox, workspace, faults) = read(&[]);
        assert_eq!(faults, [""; 0]);
        assert_eq!(sandbox.tier, TierChoice::Auto);
        assert_eq!((sandbox.read_only_paths, sandbox.uid_base), (None, 61_000));
        assert_eq!(sandbox.allowed_networks, Networks::default());
        assert!(workspace.directory_roots.is_empty());
        assert_eq!(workspace.cache_bytes, 4 << 30);
    }

    #[test]
    fn what_is_set_is_read() {
        let (sandbox, workspace, faults) = read(&[
            ("DONEGATE_SANDBOX_TIER", "process"),
            ("DONEGATE_SANDBOX_READ_ONLY_PATHS", "/opt/java:/srv/tools"),
            ("DONEGATE_SANDBOX_UID_BASE", "100000"),
            ("DONEGATE_SANDBOX_ALLOWED_NETWORKS", "10.1.0.0/16"),
            ("DONEGATE_SANDBOX_CONTAINER_ENGINE", "podman"),
            ("DONEGATE_WORKSPACE_DIRECTORY_ROOTS", "/srv/agents"),
            ("DONEGATE_WORKSPACE_CACHE_BYTES", "0"),
        ]);
        assert_eq!(faults, [""; 0]);
        assert_eq!(sandbox.tier, TierChoice::Exactly(IsolationTier::Process));
        assert_eq!(sandbox.read_only_paths.unwrap().len(), 2);
        assert_eq!(sandbox.uid_base, 100_000);
        assert_eq!(sandbox.container_engine, Some("podman".into()));
        assert_eq!(workspace.directory_roots, [PathBuf::from("/srv/agents")]);
        assert_eq!(workspace.cache_bytes, 0);
    }

    #[test]
    fn a_path_that_commands_would_not_see_is_refused() {
        let paths = ("DONEGATE_SANDBOX_READ_ONLY_PATHS", "/tmp/tools:/opt/tools");
        let (_, _, faults) = read(&[paths]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("/tmp/tools lies in a temporary directory"), "{faults:?}");
        let (_, _, faults) = read(&[paths, ("DONEGATE_SANDBOX_TIER", "landlock")]);
        assert_eq!(faults, [""; 0]);
    }

    #[test]
    fn a_tier_that_cannot_be_set_says_why() {
        for (word, why) in [("container", "name an image"), ("vm", "must be auto")] {
            let (_, _, faults) = read(&[("DONEGATE_SANDBOX_TIER", word)]);
            assert!(faults[0].contains(why), "{faults:?}");
        }
    }

    #[test]
    fn uids_with_another_meaning_are_refused() {
        for base in ["65534", "65030", "999", "root"] {
            let (_, _, faults) = read(&[("DONEGATE_SANDBOX_UID_BASE", base)]);
            assert_eq!(faults.len(), 1, "{base}: {faults:?}");
        }
        assert!(read(&[("DONEGATE_SANDBOX_UID_BASE", "65022")]).2.is_empty());
    }
}
