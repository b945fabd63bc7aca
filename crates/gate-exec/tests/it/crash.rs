//! `kill -9` of the gate in the middle of a run, in each tier: nothing of the run goes on, and the next start sweeps.
//!
//! The gate that is killed is this test binary, started once more with one test's name. A process
//! that adopts every orphan watches it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use gate_core::testing::command;
use gate_core::{IsolationTier, RunLimits};
use gate_exec::{Job, LogPlace, Preparer};
use rustix::process::{getpid, set_child_subreaper};
use tokio_util::sync::CancellationToken;

use crate::alone::{Alone, is_alone};
use crate::fixture::{Gate, files, found_tiers, marked, room};
use crate::hostile::children;
use crate::leaks::cgroups_of;

/// Where the victim works, and in which tier; without it the victim is an ordinary test that has nothing to do.
const HOME: &str = "GATE_EXEC_TEST_VICTIM_HOME";
const TIER: &str = "GATE_EXEC_TEST_VICTIM_TIER";
/// Generous for a machine that does much else; an idle one needs a few milliseconds.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// Command, its two daemons, and the child that it waits for.
const PROCESSES: usize = 4;

#[test]
fn a_killed_gate_leaves_nothing_and_the_next_one_sweeps() {
    Alone::new("crash::watcher").run();
}

#[test]
fn a_killed_gate_of_an_ordinary_user_leaves_nothing_and_the_next_one_sweeps() {
    if let Some(alone) = Alone::as_user("crash::watcher") {
        alone.run();
    }
}

#[test]
fn victim() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let wanted = std::env::var_os(TIER).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tiers = found_tiers().await;
        let tier = tiers.iter().find(|it| wanted == it.tier().as_str()).unwrap();
        let preparer = Preparer::new(&Gate::settings(&home, |_| {})).unwrap();
        let (source, cancel) = (files(&[("a", "1")]), CancellationToken::new());
        let sources = crate::fixture::sources(&source);
        let scratch = preparer.scratch().unwrap();
        fs::write(scratch.path().join("log"), "a line").unwrap();
        let workspace = preparer.prepare(&sources, &cancel).await.unwrap();
        let script = "trap '' TERM HUP; setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000";
        let variables = BTreeMap::from([("MARK".to_owned(), home.to_str().unwrap().to_owned())]);
        let room = room(&workspace, &variables);
        let job = Job {
            command: &command(&["sh", "-c", script]),
            time_limit: Duration::from_secs(600),
            output_bytes_max: 1024,
            limits: RunLimits::default(),
            logs: LogPlace { directory: home.clone(), stem: "0".into() },
        };
        let mut sandbox = tier.open(&room, &cancel).await.unwrap();
        sandbox.run(&job, &cancel).await.unwrap();
    });
}

#[test]
fn watcher() {
    if !is_alone() {
        return;
    }
    set_child_subreaper(Some(getpid())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tiers: Vec<IsolationTier> =
        runtime.block_on(found_tiers()).iter().map(|it| it.tier()).collect();
    for tier in tiers {
        let dead = kill_in_mid_run(tier);
        let left = cgroups_of(dead);
        // Which is what a gate does when it starts.
        runtime.block_on(found_tiers());
        println!("{}: {} control groups were left", tier.as_str(), left.len());
        assert_eq!(cgroups_of(dead), Vec::<PathBuf>::new(), "{}", tier.as_str());
    }
}

/// Tells which process the gate was.
fn kill_in_mid_run(tier: IsolationTier) -> u32 {
    let home = tempfile::tempdir().unwrap();
    let mark = format!("MARK={}", home.path().display());
    #[expect(clippy::disallowed_methods, reason = "the gate itself is what is started here")]
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--nocapture"])
        .env(HOME, home.path())
        .env(TIER, tier.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the victim's command runs", Duration::from_secs(60), || {
        assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
        marked(&mark).len() == PROCESSES
    });
    victim.kill().unwrap();
    victim.wait().unwrap();
    let killed = Instant::now();
    wait_until("all of it is gone", GONE_WITHIN, || marked(&mark).is_empty());
    println!("{}: gone after {:?}", tier.as_str(), killed.elapsed());
    // Its init, and whatever it did not end, is ours to reap now.
    wait_until("no process is left", GONE_WITHIN, || living_children().is_empty());
    let work = home.path().join("work");
    // The run's place, its own files, and the tree that was kept.
    assert!(directories(&work) >= 3, "{}", directories(&work));
    let next = Preparer::new(&Gate::settings(home.path(), |_| {})).unwrap();
    assert_eq!(directories(&work), 0);
    drop(next);
    victim.id()
}

/// But for zombies, which are reaped only when this process ends.
fn living_children() -> Vec<String> {
    let mut found = children();
    found.retain(|it| !it.contains(" Z ") && !it.contains("sandbox-nursery"));
    found
}

fn directories(work: &Path) -> usize {
    let owners = fs::read_dir(work).unwrap().flatten().map(|it| it.path()).filter(|it| it.is_dir());
    owners.map(|it| fs::read_dir(it).unwrap().count()).sum()
}

fn wait_until(what: &str, time: Duration, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + time;
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}: not within {time:?}");
        std::thread::yield_now();
    }
}
