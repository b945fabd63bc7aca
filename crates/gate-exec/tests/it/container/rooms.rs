//! Runs in containers, for tests: the tier, if this machine has it, and a run with its workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gate_core::testing::command;
use gate_core::{IsolationTier, NetworkAccess, Outcome, RunLimits};
use gate_exec::{
    Egress, Ended, Job, LogPlace, Room, Sandbox, SandboxError, SandboxTier, TierSettings,
    Workspace, open_tier,
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::engine::{self, TEST_IMAGE};
use crate::fixture::{Gate, files, settings, text};

pub(super) const EXITED_0: Outcome = Outcome::Exited { code: 0 };

/// The tier, if this machine has it; says so where it has not, or fails where it must be.
pub(crate) async fn tier() -> Option<Arc<dyn SandboxTier>> {
    static TIER: OnceCell<Option<Arc<dyn SandboxTier>>> = OnceCell::const_new();
    let find = async || match open_tier(IsolationTier::Container, &own_settings()).await {
        Ok(tier) => {
            engine::have_test_image();
            Some(tier)
        }
        Err(error) => {
            let required = std::env::var_os("DONEGATE_TEST_REQUIRE_TIERS").unwrap_or_default();
            let required = text(required.as_encoded_bytes()).contains("container");
            assert!(!required, "the tier `container` is not to be had: {error}");
            println!("not run: the tier `container` is not to be had: {error}");
            None
        }
    };
    TIER.get_or_init(find).await.clone()
}

pub(super) fn own_settings() -> TierSettings {
    let data_dir = std::env::temp_dir().join(format!("donegate-test-{}", uid()));
    fs::create_dir_all(&data_dir).unwrap();
    TierSettings { data_dir, egress: Some(Arc::new(Greeter)), ..settings() }
}

fn uid() -> u32 {
    fs::metadata("/proc/self").unwrap().uid()
}

/// Who answers the proxy of these tests: says one line to everybody.
#[derive(Debug)]
pub(super) struct Greeter;

pub(super) struct Stop(Arc<AtomicBool>);

impl Egress for Greeter {
    fn serve(&self, listener: TcpListener) -> std::io::Result<Box<dyn Send>> {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopped);
        listener.set_nonblocking(true)?;
        std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((mut stream, _)) => stream.write_all(b"the way out\n").unwrap(),
                    Err(_) => std::thread::yield_now(),
                }
            }
        });
        Ok(Box::new(Stop(stopped)))
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run in a container: its commands share a workspace.
pub(super) struct Run {
    pub(super) gate: Gate,
    pub(super) workspace: Workspace,
    pub(super) sandbox: Box<dyn Sandbox>,
    pub(super) limits: RunLimits,
}

#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) image: &'a str,
    pub(super) network: NetworkAccess,
    pub(super) limits: RunLimits,
    pub(super) tree: &'a [(&'a str, &'a str)],
}

impl Default for Wish<'_> {
    fn default() -> Self {
        let limits = RunLimits { disk_mb: 64, memory_mb: 256, ..RunLimits::default() };
        Self { image: TEST_IMAGE, network: NetworkAccess::None, limits, tree: &[] }
    }
}

impl Run {
    pub(super) async fn open(wish: Wish<'_>) -> Option<Self> {
        let tier = tier().await?;
        Some(Self::try_open(tier.as_ref(), wish, &CancellationToken::new()).await.unwrap())
    }

    pub(super) async fn try_open(
        tier: &dyn SandboxTier,
        wish: Wish<'_>,
        cancel: &CancellationToken,
    ) -> Result<Self, SandboxError> {
        let gate = Gate::new();
        let workspace = gate.prepare(&files(wish.tree)).await.unwrap();
        let variables = BTreeMap::from([("PAGE".to_owned(), "100".to_owned())]);
        let room = Room {
            limits: wish.limits,
            network: wish.network,
            image: Some(wish.image),
            ..crate::fixture::room(&workspace, &variables)
        };
        let sandbox = tier.open(&room, cancel).await?;
        Ok(Self { gate, workspace, sandbox, limits: wish.limits })
    }

    pub(super) async fn run(&mut self, words: &[&str]) -> Ended {
        self.run_for(words, Duration::from_secs(60)).await
    }

    pub(super) async fn run_for(&mut self, words: &[&str], time_limit: Duration) -> Ended {
        self.try_run(words, time_limit, &CancellationToken::new()).await.unwrap()
    }

    pub(super) async fn try_run(
        &mut self,
        words: &[&str],
        time_limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let command = command(words);
        let job = Job {
            command: &command,
            time_limit,
            output_bytes_max: 1024 * 1024,
            limits: self.limits,
            logs: LogPlace { directory: self.gate.logs(), stem: "0".to_owned() },
        };
        self.sandbox.run(&job, cancel).await
    }

    pub(super) async fn sh(&mut self, script: &str) -> Ended {
        self.run(&["sh", "-c", script]).await
    }

    /// What it prints, of a command that must succeed.
    pub(super) async fn said(&mut self, script: &str) -> String {
        let ended = self.sh(script).await;
        let said = text(&ended.merged.head);
        assert_eq!(ended.outcome, EXITED_0, "{script}: {said}");
        said
    }

    pub(super) async fn close(self) {
        self.sandbox.close().await.unwrap();
        self.workspace.dispose().await.unwrap();
    }
}

pub(super) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}: not within 30 s");
        std::thread::yield_now();
    }
}

/// Whether a process with these words runs on this machine, in a container or not.
pub(super) fn is_running(words: &[&str]) -> bool {
    let words = words.join("\0");
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|it| fs::read(it.path().join("cmdline")).ok())
        .any(|it| text(&it).contains(&words))
}
