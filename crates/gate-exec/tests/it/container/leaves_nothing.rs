//! When runs have ended, and when their gate was killed: no container, no process, no descriptor is left.

use std::fs;
use std::time::{Duration, Instant};

use super::rooms::{Run, Wish, is_running, tier, wait_until};
use crate::engine;
use crate::fixture::text;

/// In a process of its own, so that no other test's descriptors and containers are counted.
#[tokio::test]
async fn many_runs_leave_no_container_and_no_descriptor() {
    if tier().await.is_none() {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "the test needs a process of its own")]
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "container::leaves_nothing::alone", "--nocapture"])
        .env(ALONE, "1")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("counted"), "{said}");
}

const ALONE: &str = "GATE_EXEC_TEST_CONTAINER_ALONE";

#[tokio::test]
async fn alone() {
    if std::env::var_os(ALONE).is_none() {
        return;
    }
    let mut before = 0;
    for turn in 0..10 {
        let mut run = Run::open(Wish::default()).await.unwrap();
        run.sh("setsid sleep 1000 & echo x").await;
        assert_eq!(engine::of_this_process().len(), 1);
        run.close().await;
        assert_eq!(engine::of_this_process(), [""; 0]);
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().count();
        if turn == 2 {
            before = descriptors;
        }
        assert!(turn < 2 || descriptors == before, "{before}, and now {descriptors}");
    }
    println!("counted");
}

/// Where the gate dies, and not the run: see the test below.
#[tokio::test]
async fn victim() {
    if std::env::var_os(VICTIM_HOME).is_none() {
        return;
    }
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    run.sh("trap '' TERM HUP; setsid sleep 1000 & sleep 3141592").await;
}

const VICTIM_HOME: &str = "GATE_EXEC_TEST_CONTAINER_VICTIM_HOME";

#[tokio::test]
async fn a_killed_gate_takes_its_container_with_it() {
    if tier().await.is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the gate itself is what is started here")]
    let victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "container::leaves_nothing::victim", "--nocapture"])
        .env(VICTIM_HOME, home.path())
        .env("TMPDIR", home.path())
        .spawn();
    let mut victim = Victim(victim.unwrap());
    let pid = victim.0.id();
    wait_until("the victim's command runs", || is_running(&["sleep", "3141592"]));
    assert_eq!(engine::of_process(pid).len(), 1);
    victim.0.kill().unwrap();
    victim.0.wait().unwrap();
    let killed = Instant::now();
    wait_until("its processes are gone", || !is_running(&["sleep", "3141592"]));
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    wait_until("its container is gone", || engine::of_process(pid).is_empty());
}

/// Does not outlive its test.
struct Victim(std::process::Child);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
