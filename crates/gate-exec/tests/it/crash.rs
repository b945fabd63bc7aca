//! `kill -9` of the gate in the middle of a run: nothing of the run goes on, and the next start sweeps.
//!
//! The gate that is killed is this test binary, started once more with one test's name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gate_core::WorkspaceSource;
use gate_core::testing::command;
use gate_exec::Preparer;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, files, processes_with, room, tier};

/// Where the victim works; without it the victim is an ordinary test that has nothing to do.
const HOME: &str = "GATE_EXEC_TEST_VICTIM_HOME";

#[tokio::test]
async fn victim() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let preparer = Preparer::new(&Gate::settings(&home, |_| {})).unwrap();
    let source: WorkspaceSource = files(&[("a", "1")]);
    let sources = crate::fixture::sources(&source);
    let cancel = CancellationToken::new();
    let workspace = preparer.prepare(&sources, &cancel).await.unwrap();
    let script = format!(
        "trap '' TERM HUP; setsid sleep 1000 & (setsid sh -c 'sleep 1000' &) ; touch {}/started; sleep 1000",
        home.display()
    );
    let words = command(&["sh", "-c", &script]);
    let job = gate_exec::Job {
        command: &words,
        time_limit: Duration::from_secs(600),
        output_bytes_max: 1024,
        limits: gate_core::RunLimits::default(),
        logs: gate_exec::LogPlace { directory: home.clone(), stem: "0".into() },
    };
    let variables = std::collections::BTreeMap::new();
    let room = room(&workspace, &variables);
    let mut sandbox = tier().await.open(&room, &cancel).await.unwrap();
    sandbox.run(&job, &cancel).await.unwrap();
}

#[test]
fn a_killed_gate_leaves_no_process_and_the_next_one_sweeps_its_workspace() {
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the gate itself is what is started here")]
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--nocapture"])
        .env(HOME, home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the victim's command runs", || home.path().join("started").exists());
    assert!(processes_with(home.path()).len() >= 4, "{:?}", processes_with(home.path()));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let killed = Instant::now();
    wait_until("all of it is gone", || processes_with(home.path()).is_empty());
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    let work = home.path().join("work");
    // The run's place, and the tree that was kept.
    assert_eq!(directories(&work), 2);
    let next = Preparer::new(&Gate::settings(home.path(), |_| {})).unwrap();
    assert_eq!(directories(&work), 0);
    drop(next);
}

fn directories(work: &Path) -> usize {
    let owners = fs::read_dir(work).unwrap().flatten().map(|it| it.path()).filter(|it| it.is_dir());
    owners.map(|it| fs::read_dir(it).unwrap().count()).sum()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}: not within 30 s");
        std::thread::yield_now();
    }
}
