//! Which isolation tiers this machine has: the one place that asks for them to be opened and tested.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use gate_core::{Isolation, IsolationTier, RunLimits};
use gate_exec::{PASSED_BY_DEFAULT, Profile, TierSettings, open_tier};

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::egress::{EgressLimits, EgressProxy};
use crate::tiers::{NoTier, Tiers};

/// One tier, tried on this machine.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Which.
    pub tier: IsolationTier,
    /// What it means here, with the limits of a contract that sets none; or why it is not to be had.
    pub result: Result<Isolation, String>,
    /// What to install or switch on where it is not to be had.
    pub advice: Option<&'static str>,
}

/// Tries every tier, the strongest first, whatever the configuration chooses.
pub async fn survey(config: &Config) -> Vec<Surveyed> {
    let mut settings = settings(config);
    // A mere question makes no data directory, and leaves nothing in another user's, which its gate could not use.
    let elsewhere = if is_ours(&config.data_dir) { None } else { elsewhere(&config.data_dir) };
    if let Some(elsewhere) = &elsewhere {
        elsewhere.path().clone_into(&mut settings.data_dir);
    }
    let found = gate_exec::survey(&settings).await;
    let told = found.into_iter().map(|it| Surveyed {
        tier: it.tier,
        result: it.result.map(|it| it.isolation(RunLimits::default())),
        advice: it.advice,
    });
    told.collect()
}

/// The tiers of a worker, and a line of the log for each.
pub(crate) async fn open_tiers(config: &Config) -> Result<Tiers, NoTier> {
    let (choice, settings) = (config.sandbox.tier, settings(config));
    let open = async |tier| open_tier(tier, &settings).await;
    let tiers = Tiers::open(choice, SystemClock.now(), open).await?;
    tiers.announce(choice);
    Ok(tiers)
}

/// On the same file system where that can be: what can be laid over a tree depends on it.
fn elsewhere(data_dir: &Path) -> Option<tempfile::TempDir> {
    let mut named = tempfile::Builder::new();
    let named = named.prefix("donegate-doctor-");
    named.tempdir_in(data_dir).or_else(|_| named.tempdir()).ok()
}

fn is_ours(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    directory.metadata().is_ok_and(|it| it.is_dir() && it.uid() == user)
}

fn settings(config: &Config) -> TierSettings {
    let more = config.worker.pass_variables.iter().map(String::as_str);
    let passed: Vec<&str> = PASSED_BY_DEFAULT.into_iter().chain(more).collect();
    let proxy = EgressProxy::new(config.sandbox.allowed_networks.clone(), EgressLimits::default());
    TierSettings {
        profile: Profile::from_environment(config.worker.environment.clone(), &passed),
        read_only_paths: config.sandbox.read_only_paths.clone().unwrap_or_default(),
        uid_base: config.sandbox.uid_base,
        egress: Some(Arc::new(proxy)),
        data_dir: config.data_dir.clone(),
        container_engine: config.sandbox.container_engine.clone(),
        engine_environment: config.worker.environment.clone().into_iter().collect(),
    }
}
