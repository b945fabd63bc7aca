//! Which tiers this machine has, each proven by its self-test, and what is missing for the others.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use gate_core::{Chain, IsolationTier, WorkspaceKind};
use rustix::process::geteuid;
use tracing::warn;

use super::container::{ContainerSettings, ContainerTier, EMPTY_IMAGE};
use super::local::{Host, LocalTier};
use super::self_test::Probe;
use super::uids::Uids;
use super::{Egress, Profile, SandboxTier, self_test};
use crate::cgroup::Cgroups;
use crate::nursery::Nursery;
use crate::workspace::Scratch;

/// What the operator says of sandboxes.
#[derive(Debug, Clone)]
pub struct TierSettings {
    /// What commands find in their environment.
    pub profile: Profile,
    /// Directories and files of the host, beside its programs, that commands may read.
    pub read_only_paths: Vec<PathBuf>,
    /// The first of the kernel's users that sandboxes have, where the gate is root.
    pub uid_base: u32,
    /// Lets commands out; without it, `network: full` is none.
    pub egress: Option<Arc<dyn Egress>>,
    /// Where the gate keeps its files: workspaces are below it, and the self-test puts its own there.
    ///
    /// In the tier `landlock`, as root, users of sandboxes are let pass through it.
    pub data_dir: PathBuf,
    /// What runs images; `None`: the first of `podman` and `docker` that answers.
    pub container_engine: Option<PathBuf>,
    /// The gate's own environment, of which an engine gets what it needs to find its store, its daemon, and its logins.
    pub engine_environment: Vec<(OsString, OsString)>,
}

/// A tier, and whether this machine has it.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Which.
    pub tier: IsolationTier,
    /// The tier, or why this machine does not have it.
    pub result: Result<Arc<dyn SandboxTier>, String>,
    /// What to install or to allow, where that is known.
    pub advice: Option<&'static str>,
}

/// Tries every tier, from the strongest to the weakest.
pub async fn survey(settings: &TierSettings) -> Vec<Surveyed> {
    let mut all = Vec::new();
    for tier in IsolationTier::ALL.into_iter().rev() {
        let result = open_tier(tier, settings).await;
        let advice = result.is_err().then(|| advice(tier)).flatten();
        all.push(Surveyed { tier, result, advice });
    }
    all
}

/// Opens one tier, proven by its self-test.
///
/// # Errors
/// In words: why this machine does not have it.
pub async fn open_tier(
    tier: IsolationTier,
    settings: &TierSettings,
) -> Result<Arc<dyn SandboxTier>, String> {
    if tier == IsolationTier::Container {
        return open_containers(settings).await;
    }
    let mut readable = settings.profile.places();
    readable.extend(settings.read_only_paths.iter().cloned());
    let host = Arc::new(Host {
        profile: settings.profile.clone(),
        readable,
        uids: geteuid().is_root().then_some(Uids(settings.uid_base)),
        cgroups: Cgroups::find().ok(),
        egress: settings.egress.clone(),
        nursery: Nursery::default(),
        data_dir: settings.data_dir.clone(),
    });
    find(tier, &host, settings).await
}

/// Proven in an image that holds nothing.
async fn open_containers(settings: &TierSettings) -> Result<Arc<dyn SandboxTier>, String> {
    let scratch = Arc::new(scratch(settings)?);
    let (own, image_place) = (settings.clone(), Arc::clone(&scratch));
    let find = move || {
        let tier = ContainerTier::find(&ContainerSettings {
            engine: own.container_engine.as_deref(),
            environment: &own.engine_environment,
            uids: geteuid().is_root().then_some(Uids(own.uid_base)),
            egress: own.egress.clone(),
            data_dir: &own.data_dir,
        })?;
        tier.have_empty_image(image_place.path())?;
        Ok(tier)
    };
    let found = tokio::task::spawn_blocking(find).await;
    let tier: ContainerTier = found.map_err(|it| it.to_string()).flatten()?;
    let probe = Probe { program: Some(tier.own_program()), image: Some(EMPTY_IMAGE) };
    let proven = self_test::prove(&tier, scratch.path(), &probe).await;
    if let Some(scratch) = Arc::into_inner(scratch) {
        clear(scratch).await;
    }
    proven.map(|_| Arc::new(tier) as Arc<dyn SandboxTier>)
}

async fn find(
    tier: IsolationTier,
    host: &Arc<Host>,
    settings: &TierSettings,
) -> Result<Arc<dyn SandboxTier>, String> {
    // An overlay is not on every file system; a copy is as good a workspace, and slower.
    let kinds: &[WorkspaceKind] = match tier {
        IsolationTier::Namespace => &[WorkspaceKind::Overlay, WorkspaceKind::Copy],
        IsolationTier::Process | IsolationTier::Landlock | IsolationTier::Container => {
            &[WorkspaceKind::Copy]
        }
    };
    let mut refused = String::new();
    for kind in kinds {
        let local = |landlock_abi| LocalTier {
            tier,
            host: Arc::clone(host),
            workspace: *kind,
            landlock_abi,
        };
        match prove(local, settings).await {
            Ok(found) => return Ok(Arc::new(found)),
            Err(error) if refused.is_empty() => refused = error,
            Err(error) if error == refused => {}
            Err(error) => refused = format!("{refused}; with a copied workspace: {error}"),
        }
    }
    Err(refused)
}

async fn prove(
    local: impl Fn(Option<u32>) -> LocalTier,
    settings: &TierSettings,
) -> Result<LocalTier, String> {
    let scratch = scratch(settings)?;
    let tier = local(None);
    let proven = self_test::prove(&tier, scratch.path(), &Probe::default()).await;
    clear(scratch).await;
    proven.map(local)
}

fn scratch(settings: &TierSettings) -> Result<Scratch, String> {
    let scratch = Scratch::alone(&settings.data_dir.join("self-test"));
    scratch.map_err(|it| format!("the self-test: {}", Chain(&it)))
}

async fn clear(scratch: Scratch) {
    if let Err(error) = scratch.dispose().await {
        warn!(error = %error, "the self-test left a directory; the next start sweeps it");
    }
}

/// What an operator can do about it.
const fn advice(tier: IsolationTier) -> Option<&'static str> {
    match tier {
        IsolationTier::Namespace => Some(
            "run the gate where it may make namespaces: as an ordinary user of a host that allows user namespaces (kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), in a container with seccomp=unconfined and systempaths=unconfined, or as root with CAP_SYS_ADMIN and CAP_NET_ADMIN and without a seccomp profile that forbids `unshare`, `mount`, and `pivot_root`",
        ),
        IsolationTier::Landlock => Some(
            "use a kernel of 6.12 or newer with Landlock among its security modules (`lsm=landlock,…` on the kernel's command line)",
        ),
        IsolationTier::Container => Some(
            "install podman or docker, or mend the one that is there, and let the gate's user start containers with bounds",
        ),
        IsolationTier::Process => None,
    }
}
