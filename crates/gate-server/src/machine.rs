//! Which isolation tiers this machine has: the one place that asks for them to be opened and tested.

use std::sync::Arc;

use gate_core::{Chain, Isolation, IsolationTier, RunLimits};
use gate_exec::{PASSED_BY_DEFAULT, Profile, SandboxTier};

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::tiers::{NoTier, Tiers};

/// One tier, tried on this machine.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Which.
    pub tier: IsolationTier,
    /// What it means here, with the limits of a contract that sets none; or why it is not to be had.
    pub result: Result<Isolation, String>,
    /// What to install or switch on where it is not to be had.
    pub advice: Option<String>,
}

/// Tries every tier, the strongest first, whatever the configuration chooses.
pub async fn survey(config: &Config) -> Vec<Surveyed> {
    let mut tiers = Vec::new();
    for tier in IsolationTier::ALL.into_iter().rev() {
        let result = open(config, tier).await.map(|it| it.isolation(RunLimits::default()));
        let advice = result.is_err().then(|| advice(tier).to_owned());
        tiers.push(Surveyed { tier, result, advice });
    }
    tiers
}

/// The tiers of a worker, and a line of the log for each.
pub(crate) async fn open_tiers(config: &Config) -> Result<Tiers, NoTier> {
    let choice = config.sandbox.tier;
    let tiers = Tiers::open(choice, SystemClock.now(), async |tier| open(config, tier).await);
    let tiers = tiers.await?;
    tiers.announce(choice);
    Ok(tiers)
}

async fn open(config: &Config, tier: IsolationTier) -> Result<Arc<dyn SandboxTier>, String> {
    let more = config.worker.pass_variables.iter().map(String::as_str);
    let passed: Vec<&str> = PASSED_BY_DEFAULT.into_iter().chain(more).collect();
    let profile = Profile::from_environment(config.worker.environment.clone(), &passed);
    match gate_exec::open(tier, profile).await {
        Ok(tier) => Ok(Arc::from(tier)),
        Err(error) => Err(Chain(&error).to_string()),
    }
}

const fn advice(tier: IsolationTier) -> &'static str {
    match tier {
        IsolationTier::Container => {
            "install podman or docker, and let the gate's user start containers"
        }
        IsolationTier::Namespace => {
            "install bubblewrap (bwrap), and run the gate as root or let its user make user namespaces"
        }
        IsolationTier::Landlock => {
            "boot a kernel of 6.12 or newer that has Landlock among its security modules (lsm=landlock,…)"
        }
        IsolationTier::Process => "it needs nothing; this executable could not start itself",
    }
}
