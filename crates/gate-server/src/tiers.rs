//! The isolation tiers of this worker, and the one that a contract is run in: never a weaker one than was asked for.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use gate_api::{UnavailableTier, WorkerIsolation};
use gate_core::{Contract, IsolationTier, RunLimits};
use gate_exec::SandboxTier;
use tracing::{info, warn};

use crate::config::TierChoice;

/// What this worker can do.
#[derive(Debug)]
pub(crate) struct Tiers {
    /// For every contract that names no image.
    pub(crate) default: Arc<dyn SandboxTier>,
    /// For those that name one.
    pub(crate) container: Option<Arc<dyn SandboxTier>>,
    /// The tiers above the default one that are not to be had, the strongest first, and why.
    pub(crate) unavailable: Vec<(IsolationTier, String)>,
    /// When the self-tests were run.
    pub(crate) tested_at: DateTime<Utc>,
}

/// What a contract asks for, and what this worker has instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the contract {asked}, and this worker {has}")]
pub(crate) struct Unavailable {
    asked: String,
    has: String,
}

/// No tier that would do works on this machine; one line for each that was tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no isolation tier that may be taken works on this machine ({0}); `donegate doctor` says what to install, and DONEGATE_SANDBOX_TIER=process runs commands with nothing hidden from them"
)]
pub struct NoTier(String);

impl Tiers {
    /// Opens what the choice allows: the strongest that works, and beside it the tier of images.
    ///
    /// # Errors
    /// When none works.
    pub(crate) async fn open(
        choice: TierChoice,
        tested_at: DateTime<Utc>,
        open: impl AsyncFn(IsolationTier) -> Result<Arc<dyn SandboxTier>, String>,
    ) -> Result<Self, NoTier> {
        let mut unavailable = Vec::new();
        let container = match open(IsolationTier::Container).await {
            Ok(tier) => Some(tier),
            Err(reason) => {
                unavailable.push((IsolationTier::Container, reason));
                None
            }
        };
        for tier in [IsolationTier::Namespace, IsolationTier::Landlock, IsolationTier::Process] {
            let reason = match passed_over(choice, tier) {
                Some(reason) => reason,
                None => match open(tier).await {
                    Ok(default) => return Ok(Self { default, container, unavailable, tested_at }),
                    Err(reason) => reason,
                },
            };
            unavailable.push((tier, reason));
        }
        let tried = unavailable.iter().filter(|(tier, _)| *tier != IsolationTier::Container);
        let tried: Vec<_> =
            tried.map(|(tier, reason)| format!("{}: {reason}", tier.as_str())).collect();
        Err(NoTier(tried.join("; ")))
    }

    /// The tier in which this contract's commands are run.
    ///
    /// # Errors
    /// When this worker has none that is what the contract asks for.
    pub(crate) fn for_contract(
        &self,
        contract: &Contract,
    ) -> Result<Arc<dyn SandboxTier>, Unavailable> {
        let environment = contract.environment();
        let tier = match (&environment.image, &self.container) {
            (None, _) => &self.default,
            (Some(_), Some(container)) => container,
            (Some(image), None) => {
                let asked = format!("names the image `{image}`");
                let has = format!("runs no containers{}", self.why_not(IsolationTier::Container));
                return Err(Unavailable { asked, has });
            }
        };
        if let Some(min) = environment.isolation_min.filter(|it| *it > tier.tier()) {
            let asked = format!("asks for isolation of at least `{}`", min.as_str());
            let has = format!("has `{}`{}", tier.tier().as_str(), self.why_not(min));
            return Err(Unavailable { asked, has });
        }
        if environment.loopback && !tier.isolation(contract.limits()).loopback {
            let has = format!("has `{}`, where there is none", tier.tier().as_str());
            return Err(Unavailable { asked: "needs a loopback (127.0.0.1)".to_owned(), has });
        }
        Ok(Arc::clone(tier))
    }

    /// What the API tells of this worker.
    pub(crate) fn told(&self) -> WorkerIsolation {
        let unavailable = self
            .unavailable
            .iter()
            .map(|(tier, reason)| UnavailableTier { tier: (*tier).into(), reason: reason.clone() });
        WorkerIsolation {
            tier: self.default.tier().into(),
            detail: self.default.isolation(RunLimits::default()).into(),
            unavailable: unavailable.collect(),
            tested_at: self.tested_at,
        }
    }

    /// One line for the tier, and one for each stronger one that is not to be had.
    pub(crate) fn announce(&self, choice: TierChoice) {
        let tier = self.default.tier().as_str();
        info!(sandbox.tier = tier, "commands are walled in by the tier {tier}");
        for (tier, reason) in &self.unavailable {
            let (tier, is_wanted) = (tier.as_str(), *tier != IsolationTier::Container);
            if is_wanted && !matches!(choice, TierChoice::Exactly(_)) {
                warn!(sandbox.tier = tier, reason, "the stronger tier {tier} is not to be had");
            } else {
                info!(sandbox.tier = tier, reason, "the tier {tier} is not to be had");
            }
        }
    }

    fn why_not(&self, tier: IsolationTier) -> String {
        let found = self.unavailable.iter().find(|(it, _)| *it == tier);
        found.map_or_else(String::new, |(_, reason)| format!(" ({}: {reason})", tier.as_str()))
    }
}

/// Why a tier is not even tried.
fn passed_over(choice: TierChoice, tier: IsolationTier) -> Option<String> {
    match choice {
        TierChoice::Auto if tier == IsolationTier::Process => {
            Some("it hides nothing, and is taken only when it is asked for".to_owned())
        }
        TierChoice::Exactly(exactly) if tier != exactly => {
            Some(format!("DONEGATE_SANDBOX_TIER asks for `{}`", exactly.as_str()))
        }
        TierChoice::Auto | TierChoice::AutoOrProcess | TierChoice::Exactly(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use gate_core::{Isolation, testing};
    use gate_exec::{Room, Sandbox, SandboxError};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[derive(Debug)]
    struct FakeTier(IsolationTier);

    #[async_trait]
    impl SandboxTier for FakeTier {
        fn tier(&self) -> IsolationTier {
            self.0
        }

        fn isolation(&self, limits: RunLimits) -> Isolation {
            let loopback = self.0 != Landlock;
            Isolation { tier: self.0, loopback, limits, ..testing::isolation() }
        }

        fn keeps_layers(&self) -> bool {
            false
        }

        async fn open(
            &self,
            _room: &Room<'_>,
            _cancel: &CancellationToken,
        ) -> Result<Box<dyn Sandbox>, SandboxError> {
            Err(SandboxError::Cancelled)
        }
    }

    async fn open(choice: TierChoice, works: &[IsolationTier]) -> Result<Tiers, NoTier> {
        let open = async |tier: IsolationTier| {
            let tier: Arc<dyn SandboxTier> = Arc::new(FakeTier(tier));
            if works.contains(&tier.tier()) { Ok(tier) } else { Err("it is broken".to_owned()) }
        };
        Tiers::open(choice, DateTime::UNIX_EPOCH, open).await
    }

    fn asking(change: impl FnOnce(&mut gate_core::Environment)) -> Contract {
        let mut parts = testing::parts();
        change(&mut parts.environment);
        Contract::parse(parts).unwrap()
    }

    use IsolationTier::{Container, Landlock, Namespace, Process};

    #[tokio::test]
    async fn the_strongest_tier_that_works_is_taken() {
        for (works, taken) in [
            (&[Process, Landlock, Namespace][..], Namespace),
            (&[Process, Landlock], Landlock),
            (&[Process, Landlock, Container], Landlock),
        ] {
            let tiers = open(TierChoice::Auto, works).await.unwrap();
            assert_eq!(tiers.default.tier(), taken);
            assert_eq!(tiers.container.is_some(), works.contains(&Container));
            assert!(tiers.unavailable.iter().all(|(tier, _)| *tier > taken), "{tiers:?}");
        }
    }

    #[tokio::test]
    async fn what_hides_nothing_is_never_taken_by_itself() {
        let error = open(TierChoice::Auto, &[Process, Container]).await.unwrap_err().to_string();
        for words in ["namespace: it is broken", "landlock: it is broken", "donegate doctor"] {
            assert!(error.contains(words), "{error}");
        }
        for choice in [TierChoice::AutoOrProcess, TierChoice::Exactly(Process)] {
            let tiers = open(choice, &[Process]).await.unwrap();
            assert_eq!(tiers.default.tier(), Process);
        }
    }

    #[tokio::test]
    async fn a_tier_that_is_named_is_taken_and_no_other() {
        let tiers = open(TierChoice::Exactly(Landlock), &[Process, Landlock, Namespace]).await;
        let tiers = tiers.unwrap();
        assert_eq!(tiers.default.tier(), Landlock);
        let why = tiers.unavailable.iter().find(|(it, _)| *it == Namespace).unwrap();
        assert_eq!(why.1, "DONEGATE_SANDBOX_TIER asks for `landlock`");
        assert!(open(TierChoice::Exactly(Namespace), &[Process, Landlock]).await.is_err());
    }

    #[tokio::test]
    async fn a_contract_gets_what_it_asks_for_or_nothing() {
        let tiers = open(TierChoice::Auto, &[Process, Landlock]).await.unwrap();
        let refused = |contract: &Contract| tiers.for_contract(contract).unwrap_err().to_string();
        assert_eq!(tiers.for_contract(&asking(|_| {})).unwrap().tier(), Landlock);
        let weaker = asking(|it| it.isolation_min = Some(Process));
        assert_eq!(tiers.for_contract(&weaker).unwrap().tier(), Landlock);
        assert_eq!(
            refused(&asking(|it| it.isolation_min = Some(Namespace))),
            "the contract asks for isolation of at least `namespace`, and this worker has \
             `landlock` (namespace: it is broken)"
        );
        assert_eq!(
            refused(&asking(|it| it.loopback = true)),
            "the contract needs a loopback (127.0.0.1), and this worker has `landlock`, where \
             there is none"
        );
        assert_eq!(
            refused(&asking(|it| it.image = Some("python".to_owned()))),
            "the contract names the image `python`, and this worker runs no containers \
             (container: it is broken)"
        );
    }

    #[tokio::test]
    async fn an_image_is_run_in_a_container_and_nothing_else_is() {
        let tiers = open(TierChoice::Auto, &[Landlock, Container]).await.unwrap();
        let image = asking(|it| {
            it.image = Some("python".to_owned());
            it.isolation_min = Some(Container);
            it.loopback = true;
        });
        assert_eq!(tiers.for_contract(&image).unwrap().tier(), Container);
        assert_eq!(tiers.for_contract(&asking(|_| {})).unwrap().tier(), Landlock);
    }

    #[tokio::test]
    async fn a_worker_tells_its_tier_and_why_it_has_no_stronger_one() {
        let tiers = open(TierChoice::Auto, &[Landlock]).await.unwrap();
        let told = serde_json::to_value(tiers.told()).unwrap();
        assert_eq!(told["tier"], "landlock");
        assert_eq!(told["detail"]["limits"]["memory_mb"], 2048);
        assert_eq!(told["unavailable"][0]["tier"], "container");
        assert_eq!(told["unavailable"][1]["reason"], "it is broken");
    }
}
