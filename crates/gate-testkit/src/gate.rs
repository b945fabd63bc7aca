//! `TestGate`: everything that `donegate serve` starts, on a free port, over a database of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gate_postgres::testing::TestDatabase;
use gate_server::callback::SecretKey;
use gate_server::{ApiKeySecret, Config, Gate, Overrides, Role, StartError};
use gate_store::{Figures, Store};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::tools::lacks_tier;
use crate::{Client, Project};

/// At its end a test may still have a callback under way; longer than this is a fault.
const SETTLE_PATIENCE: Duration = Duration::from_secs(20);
const SETTLE_LOOK_EVERY: Duration = Duration::from_millis(20);

/// How the gate is started.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What it does.
    pub role: Role,
    /// Runs at once.
    pub slots: u32,
    /// Grace of running runs when it stops, in seconds.
    pub drain_seconds: u32,
    /// `DONEGATE_SANDBOX_TIER`. By default `process`: stories meet their commands at paths of the host.
    pub tier: &'static str,
    /// More settings, by their names.
    pub settings: Vec<(&'static str, String)>,
}

/// A running gate, its database, and its directories.
#[derive(Debug)]
pub struct TestGate {
    gate: Option<Gate>,
    config: Config,
    admin_key: String,
    store: Store,
    data_dir: TempDir,
    // Dropped last: everything above uses it.
    database: TestDatabase,
}

impl Default for Setup {
    fn default() -> Self {
        Self { role: Role::All, slots: 2, drain_seconds: 10, tier: "process", settings: Vec::new() }
    }
}

impl TestGate {
    /// A whole gate. The hint is a part of its database's name.
    pub async fn start(hint: &str) -> Self {
        Self::start_with(hint, Setup::default()).await
    }

    /// A gate that is set up otherwise.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start_with(hint: &str, setup: Setup) -> Self {
        Self::try_start(hint, &setup).await.unwrap()
    }

    /// A gate whose commands are walled in by this tier, if this machine has it. Where it does not, the test says
    /// so and ends, or fails if `DONEGATE_TEST_REQUIRE_TIERS` names the tier.
    ///
    /// # Panics
    /// When it does not start for another reason, or the tier is required.
    pub async fn start_in_tier(hint: &str, tier: &'static str) -> Option<Self> {
        Self::start_in_tier_with(hint, Setup { tier, ..Setup::default() }).await
    }

    /// The same, set up otherwise.
    ///
    /// # Panics
    /// As for [`TestGate::start_in_tier`].
    pub async fn start_in_tier_with(hint: &str, setup: Setup) -> Option<Self> {
        match Self::try_start(hint, &setup).await {
            Ok(gate) => Some(gate),
            Err(StartError::Isolation(why)) => {
                lacks_tier(setup.tier, &why.to_string());
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn try_start(hint: &str, setup: &Setup) -> Result<Self, StartError> {
        let database = TestDatabase::create(hint);
        let data_dir = tempfile::tempdir().unwrap();
        let admin_key = ApiKeySecret::generate().expose().to_owned();
        let config = config(&database, data_dir.path(), &admin_key, setup);
        let gate = Gate::start(config.clone()).await?;
        let store = Store::connect(database.url(), 2).await.unwrap();
        Ok(Self { gate: Some(gate), config, admin_key, store, data_dir, database })
    }

    /// Another process's worth of gate on the same database and object store, with a data directory of its own.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn companion(&self, role: Role, data_dir: &Path) -> Gate {
        let mut config = self.config.clone();
        config.role = role;
        config.data_dir = data_dir.to_owned();
        Gate::start(config).await.unwrap()
    }

    /// Where it listens.
    ///
    /// # Panics
    /// After it was stopped.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.gate.as_ref().unwrap().address()
    }

    /// Somebody with the admin key of the whole gate.
    #[must_use]
    pub fn admin(&self) -> Client {
        Client::new(format!("http://{}", self.address()), Some(self.admin_key.clone()))
    }

    /// The admin key of the whole gate.
    #[must_use]
    pub fn admin_key(&self) -> &str {
        &self.admin_key
    }

    /// A new project.
    ///
    /// # Panics
    /// When there is one of this name.
    pub async fn project(&self, slug: &str) -> Project {
        let admin = self.admin();
        let made = admin.post("/v1/projects", &json!({ "slug": slug })).await.expect(201);
        let secret = made["callback_secret"].as_str().unwrap().to_owned();
        Project::new(slug, secret, admin).await
    }

    /// The database, past the API.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The database's URL.
    #[must_use]
    pub fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Where it keeps its files.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// Stops it as SIGTERM does, and keeps the database.
    pub async fn stop(&mut self) {
        if let Some(gate) = self.gate.take() {
            gate.stop().await;
        }
    }

    /// What is left at the end of a test, in words.
    async fn finish(&mut self) -> Result<(), String> {
        let figures = self.settle().await;
        self.stop().await;
        if !is_settled(figures) {
            return Err(format!("work was left: {figures:?}"));
        }
        // What is large is removed in the background.
        let end = Instant::now() + SETTLE_PATIENCE;
        loop {
            let left = leftovers(self.data_dir.path());
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("directories were left: {left:?}"));
            }
            sleep(SETTLE_LOOK_EVERY).await;
        }
    }

    async fn settle(&self) -> Figures {
        let end = Instant::now() + SETTLE_PATIENCE;
        loop {
            let figures = self.store.figures().await.unwrap();
            if is_settled(figures) || Instant::now() > end {
                return figures;
            }
            sleep(SETTLE_LOOK_EVERY).await;
        }
    }
}

impl Drop for TestGate {
    fn drop(&mut self) {
        if self.gate.is_none() || std::thread::panicking() {
            return;
        }
        let runtime = tokio::runtime::Handle::current();
        let left = tokio::task::block_in_place(|| runtime.block_on(self.finish()));
        assert_eq!(left, Ok(()), "at the end of a test all is judged, told, and tidied up");
    }
}

const fn is_settled(figures: Figures) -> bool {
    figures.queue_ready == 0
        && figures.queue_waiting == 0
        && figures.queue_running == 0
        && figures.callbacks_due == 0
}

/// Workspaces, the files of runs, and those of the self-test.
fn leftovers(data_dir: &Path) -> Vec<PathBuf> {
    let below =
        |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().map(|it| it.unwrap().path());
    let grounds = ["work", "self-test"].map(|it| data_dir.join(it)).into_iter().flat_map(below);
    grounds.filter(|it| it.is_dir()).flat_map(below).collect()
}

fn config(database: &TestDatabase, data_dir: &Path, admin_key: &str, setup: &Setup) -> Config {
    let settings = [
        ("DATABASE_URL", database.url().to_owned()),
        ("DONEGATE_DATABASE_CONNECTIONS_MAX", "12".to_owned()),
        ("DONEGATE_ADMIN_KEY", admin_key.to_owned()),
        ("DONEGATE_SECRET_KEY", SecretKey::random().expose_base64()),
        ("DONEGATE_WORKER_SLOTS", setup.slots.to_string()),
        ("DONEGATE_WORKER_DRAIN_SECONDS", setup.drain_seconds.to_string()),
        ("DONEGATE_SANDBOX_TIER", setup.tier.to_owned()),
        ("DONEGATE_CALLBACK_ALLOWED_NETWORKS", "127.0.0.0/8".to_owned()),
        // An engine takes seconds at each start, and no story has an image.
        ("DONEGATE_SANDBOX_CONTAINER_ENGINE", "no-engine".to_owned()),
    ];
    let settings = settings.into_iter().chain(setup.settings.iter().cloned());
    let settings = settings.map(|(name, value)| (name.into(), value.into()));
    let is_ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("DONEGATE_") || name == "DATABASE_URL"
    };
    // The toolchains of the machine, and nothing that would change the gate.
    let of_the_machine = std::env::vars_os().filter(|(name, _)| !is_ours(name));
    let overrides = Overrides {
        default_data_dir: data_dir.to_owned(),
        data_dir: None,
        listen_address: Some(([127, 0, 0, 1], 0).into()),
        role: Some(setup.role),
    };
    Config::read(of_the_machine.chain(settings), overrides).unwrap()
}
