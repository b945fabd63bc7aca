//! Hostile commands, in every tier that this machine has: how each ends, and that nothing of it is left.
//!
//! The table runs in a process of its own, which adopts every orphan, so that nothing can get away
//! unseen: once as the user of the suite and, where that is root, once as an ordinary user.

mod host;
mod row;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gate_core::{IsolationTier, MemoryBound, NetworkAccess, RunLimits, WorkspaceSource};
use gate_exec::{Ended, Job, LogPlace, Room, SandboxTier};
use rustix::process::{geteuid, getpid, set_child_subreaper};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::alone::{Alone, is_alone};
use crate::container;
use crate::engine;
use crate::fixture::{Gate, files, found_tiers, marked, processes_of, text, tools_are_required};
use host::Host;
pub(crate) use host::children;
use row::{Ends, ProcessLimit, Row, Run, Want};
use table::{FILES, ROWS};

/// Beyond its time, a run may take this long on a machine that does much else.
const SLACK: Duration = Duration::from_secs(4);
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[test]
fn every_hostile_command_is_held_in_every_tier() {
    Alone::new("hostile::driver").with_hostile_environment().run();
}

#[test]
fn every_hostile_command_is_held_in_every_tier_of_an_ordinary_user() {
    if let Some(alone) = Alone::as_user("hostile::driver_without_containers") {
        alone.with_hostile_environment().run();
    }
}

#[test]
fn driver() {
    if is_alone() {
        looking_finds_what_is_not_hidden();
        run_all(async || {
            let mut tiers = found_tiers().await;
            tiers.extend(container::tier().await);
            tiers
        });
    }
}

/// The engine of a user who has no session leaves a process behind, for later containers.
#[test]
fn driver_without_containers() {
    if is_alone() {
        looking_finds_what_is_not_hidden();
        run_all(found_tiers);
    }
}

impl Alone {
    /// What the table expects of the process that it runs in.
    pub(crate) fn with_hostile_environment(self) -> Self {
        self.with(host::SECRET.0, host::SECRET.1).with("PATH", host::PATH)
    }
}

/// The whole table, in a process that is alone.
pub(crate) fn run_all(tiers: impl AsyncFnOnce() -> Vec<Arc<dyn SandboxTier>>) {
    set_child_subreaper(Some(getpid())).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let faults = runtime.block_on(async { run_table(tiers().await).await });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Commands of the table that only look, and print what they find.
const LOOKING: [u8; 4] = [16, 17, 18, 20];

/// Else they would prove nothing where they find nothing. Here they are children of the gate like any other.
fn looking_finds_what_is_not_hidden() {
    let host = Host::set();
    for row in ROWS.iter().filter(|it| LOOKING.contains(&it.number)) {
        if !row.needs.iter().all(|it| host::has_tool(it)) {
            continue;
        }
        let home = tempfile::tempdir().unwrap();
        for (name, content) in FILES {
            std::fs::write(home.path().join(name), content).unwrap();
        }
        let words = words(row.run);
        #[expect(clippy::disallowed_methods, reason = "it is run without any sandbox")]
        let output = std::process::Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", host::PATH)
            .envs(host.variables())
            .current_dir(home.path())
            .output()
            .unwrap();
        let said = text(&output.stdout);
        let nothing = row.namespace.and_then(|it| it.prints).map(text);
        assert!(Some(&said) != nothing.as_ref(), "row {}, {}: {said}", row.number, row.name);
        println!("row {} without walls, {}: {said}", row.number, row.name);
    }
}

/// The tiers beside each other, and in each the rows one after the other.
async fn run_table(tiers: Vec<Arc<dyn SandboxTier>>) -> Vec<String> {
    let host = Arc::new(Host::set());
    let crowd = Arc::new(RwLock::new(()));
    let mut running = tokio::task::JoinSet::new();
    for tier in tiers {
        running.spawn(run_tier(tier, Arc::clone(&host), Arc::clone(&crowd)));
    }
    let mut faults: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    host::reap_engines();
    let children = children();
    if !children.is_empty() {
        faults.push(format!("at the end there are still {children:?}"));
    }
    faults
}

/// A row about the number of processes has the machine to itself: some tiers bound all that a user has.
async fn run_tier(
    tier: Arc<dyn SandboxTier>,
    host: Arc<Host>,
    crowd: Arc<RwLock<()>>,
) -> Vec<String> {
    let gate = Gate::new();
    let mut faults = Vec::new();
    for row in ROWS.iter().filter(|it| is_wanted(it)) {
        let title = format!("row {} in {}, {}", row.number, tier.tier().as_str(), row.name);
        match why_not(row, tier.as_ref()) {
            Ok(want) => {
                let (_alone, _with_others) = if want.process_limit != ProcessLimit::Unasked {
                    (Some(crowd.write().await), None)
                } else {
                    (None, Some(crowd.read().await))
                };
                let started = Instant::now();
                let found = Trial { row, tier: tier.as_ref(), host: &host, gate: &gate };
                let found = found.run(&want).await;
                let passed = if found.is_empty() { "held" } else { "NOT HELD" };
                let took = started.elapsed().as_millis();
                println!("{title}: {passed} ({took} ms) {}", found.join("; "));
                faults.extend(found.into_iter().map(|it| format!("{title}: {it}")));
            }
            Err(Some(why)) => println!("{title}: not run: {why}"),
            Err(None) => {}
        }
    }
    faults
}

/// Whoever mends one row names its number.
fn is_wanted(row: &Row) -> bool {
    let named = std::env::var_os("DONEGATE_TEST_ROWS").unwrap_or_default();
    let named = named.to_string_lossy();
    named.is_empty() || named.split(',').any(|it| it.trim() == row.number.to_string())
}

/// What is wanted of a row, or why it is not run; nothing to say where nothing is promised.
fn why_not(row: &Row, tier: &dyn SandboxTier) -> Result<Want, Option<String>> {
    let is_root = geteuid().is_root();
    let want = match tier.tier() {
        IsolationTier::Namespace | IsolationTier::Container => row.namespace,
        IsolationTier::Landlock if is_root => row.landlock,
        IsolationTier::Landlock => row.landlock_as_user.or(row.landlock),
        IsolationTier::Process => row.process,
    };
    let want = want.ok_or(None)?;
    let unbounded = tier.tier() == IsolationTier::Process && is_root && !has_cgroup(tier);
    if want.process_limit != ProcessLimit::Unasked && unbounded {
        return Err(Some("nothing bounds the processes of root without a cgroup".to_owned()));
    }
    for tool in row.needs {
        if tier.tier() == IsolationTier::Container && !engine::has_tool(tool) {
            return Err(Some(format!("there is no `{tool}` in the image")));
        }
        if !host::has_tool(tool) {
            let required = *tool == "python3" && tools_are_required();
            assert!(!required, "there is no `{tool}` on {}", host::PATH);
            return Err(Some(format!("there is no `{tool}` on {}", host::PATH)));
        }
    }
    Ok(want)
}

fn has_cgroup(tier: &dyn SandboxTier) -> bool {
    tier.isolation(RunLimits::default()).memory_bound != MemoryBound::Watched
}

/// One row in one tier.
struct Trial<'a> {
    row: &'a Row,
    tier: &'a dyn SandboxTier,
    host: &'a Host,
    gate: &'a Gate,
}

impl Trial<'_> {
    /// Tells everything that is not as it should be.
    async fn run(&self, want: &Want) -> Vec<String> {
        let cancel = CancellationToken::new();
        let files: WorkspaceSource = files(FILES);
        let workspace = self.gate.prepare(&files).await.unwrap();
        let place = workspace.place().to_owned();
        let mark = format!(
            "{}-{}-{}",
            getpid(),
            self.tier.tier().as_str(),
            self.row.name.replace(|it: char| !it.is_ascii_alphanumeric(), "-")
        );
        let mut variables = self.host.variables();
        variables.insert("MARK".to_owned(), mark.clone());
        let limits = self.limits();
        let room = Room {
            base: workspace.base(),
            layer: None,
            keep: None,
            place: &place,
            limits,
            network: NetworkAccess::None,
            variables: &variables,
            image: image(self.tier.tier()),
        };
        let words = words(self.row.run);
        let job = Job {
            command: &gate_core::testing::command(&words),
            time_limit: Duration::from_secs(self.row.seconds),
            output_bytes_max: OUTPUT_BYTES_MAX,
            limits,
            logs: LogPlace { directory: self.gate.logs(), stem: mark.clone() },
        };
        let mut faults = Vec::new();
        let mut sandbox = match self.tier.open(&room, &cancel).await {
            Ok(sandbox) => sandbox,
            Err(error) => return vec![format!("no sandbox: {}", gate_core::Chain(&error))],
        };
        let started = Instant::now();
        let ended = sandbox.run(&job, &cancel).await;
        if started.elapsed() > job.time_limit + SLACK {
            faults.push(format!("it took {:?}", started.elapsed()));
        }
        match ended {
            Ok(ended) => faults.extend(differences(&ended, want, has_cgroup(self.tier))),
            Err(error) => faults.push(format!("no evidence: {}", gate_core::Chain(&error))),
        }
        // While nobody else can have its user.
        if geteuid().is_root() && self.tier.tier() != IsolationTier::Process {
            let living = processes_of(sandbox.kernel_uid());
            faults.extend((!living.is_empty()).then(|| format!("its user still has {living:?}")));
        }
        if let Err(error) = sandbox.close().await {
            faults.push(format!("it was not taken down: {}", gate_core::Chain(&error)));
        }
        let living = marked(&format!("MARK={mark}"));
        faults.extend((!living.is_empty()).then(|| format!("still there: {living:?}")));
        if let Err(error) = workspace.dispose().await {
            faults.push(format!("its place is still there: {error}"));
        }
        faults.extend(place.exists().then(|| "its place is still there".to_owned()));
        for directory in ["/tmp", "/dev/shm"].map(std::path::Path::new) {
            let left = directory.join(&mark);
            faults.extend(left.exists().then(|| format!("{} is still there", left.display())));
        }
        faults.extend(self.host.differences());
        faults
    }

    fn limits(&self) -> RunLimits {
        RunLimits {
            cpu_seconds: self.row.cpu_seconds,
            memory_mb: 256,
            processes: 128,
            disk_mb: 128,
            output_bytes: OUTPUT_BYTES_MAX,
            ..RunLimits::default()
        }
    }
}

/// What a container is made of; the other tiers have the host's own programs.
fn image(tier: IsolationTier) -> Option<&'static str> {
    (tier == IsolationTier::Container).then(|| {
        engine::have_test_image();
        engine::TEST_IMAGE
    })
}

fn words(run: Run) -> Vec<&'static str> {
    match run {
        Run::Sh(script) => vec!["sh", "-c", script],
        Run::Words(words) => words.to_vec(),
        Run::Python(script, words) => [&["python3", script], words].concat(),
    }
}

fn differences(ended: &Ended, want: &Want, has_cgroup: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let ends = Ends::of(ended.outcome);
    let said = || format!("{:?} {:?}", text(&ended.stdout.head), text(&ended.stderr.head));
    if !ends.is_some_and(|it| want.ends.contains(&it)) {
        faults.push(format!("it ended with {:?}, and said {:.800}", ended.outcome, said()));
    }
    if want.prints.is_some_and(|it| it != ended.stdout.head) {
        faults.push(format!("it said {:.2000}", said()));
    }
    if want.stragglers.is_some_and(|it| it != ended.stragglers_killed) {
        faults.push(format!("it left {} processes", ended.stragglers_killed));
    }
    let tells = match want.process_limit {
        ProcessLimit::Unasked => false,
        ProcessLimit::Told => true,
        ProcessLimit::ToldWhereCounted => has_cgroup,
    };
    if tells && !ended.process_limit_hit {
        faults.push("it could start processes without end".to_owned());
    }
    if ended.merged.total_bytes > OUTPUT_BYTES_MAX {
        faults.push(format!("{} bytes of it were kept", ended.merged.total_bytes));
    }
    faults
}

/// A sandbox outlives the thread that made it: no signal of a parent's thread that ends reaches it.
#[test]
fn a_sandbox_lives_on_when_the_thread_that_opened_it_has_ended() {
    let gate = Gate::new();
    let cancel = CancellationToken::new();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for tier in runtime().block_on(found_tiers()) {
        let opening = runtime();
        let workspace = opening.block_on(gate.prepare(&files(&[]))).unwrap();
        let variables = BTreeMap::new();
        let room =
            Room { image: image(tier.tier()), ..crate::fixture::room(&workspace, &variables) };
        let mut sandbox = opening.block_on(tier.open(&room, &cancel)).unwrap();
        // Waits for its threads to end.
        drop(opening);
        let job = Job {
            command: &gate_core::testing::command(&["sh", "-c", "sleep 0.2; echo alive"]),
            time_limit: Duration::from_secs(60),
            output_bytes_max: 1024,
            limits: RunLimits::default(),
            logs: LogPlace { directory: gate.logs(), stem: tier.tier().as_str().to_owned() },
        };
        let running = runtime();
        let ended = running.block_on(sandbox.run(&job, &cancel)).unwrap();
        assert_eq!(text(&ended.stdout.head), "alive\n", "{}", tier.tier().as_str());
        running.block_on(sandbox.close()).unwrap();
        running.block_on(workspace.dispose()).unwrap();
    }
}
