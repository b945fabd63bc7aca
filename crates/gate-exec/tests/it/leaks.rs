//! Many runs in each tier, and then a count: descriptors, processes, directories, mounts, control groups, memory.
//!
//! They run in a process of its own, so that nothing of another test is counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gate_core::testing::command;
use gate_core::{IsolationTier, Outcome, WorkspaceSource};
use gate_exec::{Job, LogPlace, SandboxTier};
use rustix::process::{getpid, set_child_subreaper};
use tokio_util::sync::CancellationToken;

use crate::alone::{Alone, is_alone};
use crate::fixture::{Gate, Repository, files, found_tiers, room, temporary_mounts};

const RUNS: usize = 200;
const SOAK_RUNS: usize = 2_000;
/// Until then caches fill, threads start, and pools grow.
const WARM_UP_RUNS: usize = 20;
const AT_ONCE: usize = 2;
/// What the memory of the gate may differ by, over [`SOAK_RUNS`].
const SLACK_BYTES: u64 = 6 * 1024 * 1024;

#[test]
fn nothing_leaks_over_many_runs() {
    Alone::new("leaks::many").run();
}

#[test]
fn nothing_leaks_over_many_runs_of_an_ordinary_user() {
    if let Some(alone) = Alone::as_user("leaks::many") {
        alone.run();
    }
}

#[test]
fn soak() {
    Alone::new("leaks::two_thousand").run();
}

#[test]
fn many() {
    if !is_alone() {
        return;
    }
    // What its init loses becomes a child of this process.
    set_child_subreaper(Some(getpid())).unwrap();
    runtime().block_on(async {
        let repository = Repository::new();
        let commit = repository.write("a", "1").write("tests/b", "2").commit();
        let source = repository.at(&commit);
        let scripts = [
            "(setsid sleep 100 &) ; sleep 100 & echo > left; cat a",
            "[ \"$WALLS\" = none ] || echo > /dev/shm/left-$$; exit 1",
            "mkdir -p deep/er && chmod 0 deep/er deep; kill -KILL $$",
            "yes",
        ];
        for tier in found_tiers().await {
            let gate = Gate::new();
            runs(&gate, &tier, &source, &scripts, WARM_UP_RUNS).await;
            let before = counts(&gate);
            runs(&gate, &tier, &source, &scripts, RUNS).await;
            assert_eq!(counts(&gate), before, "{}", tier.tier().as_str());
            println!("{}: {RUNS} runs left nothing", tier.tier().as_str());
        }
    });
}

#[test]
fn two_thousand() {
    if !is_alone() {
        return;
    }
    runtime().block_on(async {
        let (gate, tier) = (Gate::new(), found_tiers().await.remove(0));
        let source = files(&[("a", "1")]);
        runs(&gate, &tier, &source, &["exit 0"], SOAK_RUNS / 10).await;
        let (before, memory_before) = (counts(&gate), memory_bytes());
        runs(&gate, &tier, &source, &["exit 0"], SOAK_RUNS - SOAK_RUNS / 10).await;
        let memory = memory_bytes();
        println!("{}: {memory_before} bytes, then {memory}", tier.tier().as_str());
        assert_eq!(counts(&gate), before);
        assert!(memory < memory_before + SLACK_BYTES, "{memory_before} bytes became {memory}");
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// So many runs of these scripts in turn, some at once.
async fn runs(
    gate: &Gate,
    tier: &Arc<dyn SandboxTier>,
    source: &WorkspaceSource,
    scripts: &[&str],
    count: usize,
) {
    let line = async |worker: usize| {
        for turn in (worker..count).step_by(AT_ONCE) {
            one(gate, tier.as_ref(), source, (worker, scripts[turn % scripts.len()])).await;
        }
    };
    tokio::join!(line(0), line(1));
}

async fn one(
    gate: &Gate,
    tier: &dyn SandboxTier,
    source: &WorkspaceSource,
    (worker, script): (usize, &str),
) {
    let cancel = CancellationToken::new();
    // Without walls, what is left in directories of the host stays there.
    let walls = if tier.tier() == IsolationTier::Process { "none" } else { "some" };
    let variables = BTreeMap::from([("WALLS".to_owned(), walls.to_owned())]);
    let workspace = gate.prepare(source).await.unwrap();
    let room = room(&workspace, &variables);
    let mut sandbox = tier.open(&room, &cancel).await.unwrap();
    let job = Job {
        command: &command(&["sh", "-c", script]),
        time_limit: Duration::from_secs(60),
        output_bytes_max: 10_000,
        limits: room.limits,
        logs: LogPlace { directory: gate.logs(), stem: worker.to_string() },
    };
    let ended = sandbox.run(&job, &cancel).await.unwrap();
    assert!(!matches!(ended.outcome, Outcome::TimedOut { .. }), "{script}: {:?}", ended.outcome);
    sandbox.close().await.unwrap();
    workspace.dispose().await.unwrap();
}

/// All that could be left.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    descriptors: usize,
    /// Zombies too.
    children: Vec<String>,
    directories: usize,
    mounts: Vec<String>,
    cgroups: Vec<PathBuf>,
    shared_memory: Vec<PathBuf>,
}

fn counts(gate: &Gate) -> Counts {
    let owners = fs::read_dir(gate.home().join("work")).unwrap().flatten().map(|it| it.path());
    let directories =
        owners.filter(|it| it.is_dir()).map(|it| fs::read_dir(it).unwrap().count()).sum();
    Counts {
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        children: children(),
        directories,
        mounts: temporary_mounts(),
        cgroups: cgroups_of(std::process::id()),
        shared_memory: shared_memory(),
    }
}

fn shared_memory() -> Vec<PathBuf> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.map(|it| it.path()).filter(|it| it.to_string_lossy().contains("/left-")).collect()
}

fn children() -> Vec<String> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(children.split_ascii_whitespace().map(str::to_owned));
    }
    found.sort();
    found
}

/// The groups that a gate with this process id has made, in every hierarchy.
pub(crate) fn cgroups_of(pid: u32) -> Vec<PathBuf> {
    let own = format!("donegate-{pid}-");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut waiting: Vec<PathBuf> = mounts
        .lines()
        .filter(|it| it.contains(" - cgroup"))
        .filter_map(|it| it.split(' ').nth(4).map(PathBuf::from))
        .collect();
    let mut found = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with(&own) {
                    found.push(entry.path());
                } else {
                    waiting.push(entry.path());
                }
            }
        }
    }
    found.sort();
    found
}

fn memory_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
