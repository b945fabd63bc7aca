//! Many runs, and then a count: descriptors, directories, zombies.
//!
//! It runs in a process of its own, so that no other test's descriptors are counted.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::fixture::{Gate, Repository, text};

const ALONE: &str = "GATE_EXEC_TEST_ALONE";
const RUNS: usize = 60;

#[test]
fn nothing_leaks_over_many_runs() {
    #[expect(clippy::disallowed_methods, reason = "the test needs a process of its own")]
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leaks::alone", "--nocapture"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("counted"), "{said}");
}

#[tokio::test]
async fn alone() {
    if std::env::var_os(ALONE).is_none() {
        return;
    }
    let gate = Gate::new();
    let repository = Repository::new();
    let commit = repository.write("a", "1").write("tests/b", "2").commit();
    let source = repository.at(&commit);
    let mut before = None;
    for turn in 0..RUNS {
        let workspace = gate.prepare(&source).await.unwrap();
        let hostile: [&[&str]; 3] =
            [&["sh", "-c", "setsid sleep 100 & echo x"], &["no-such-program"], &["cat", "a"]];
        gate.run_in(&workspace, &hostile).await;
        gate.run_bounded(&["yes"], Duration::from_secs(60), 10_000).await;
        workspace.dispose().await.unwrap();
        if turn == 5 {
            before = Some(counts(&gate));
        }
    }
    assert_eq!(Some(counts(&gate)), before);
    println!("counted {RUNS} runs");
}

/// Descriptors, children (zombies too), and directories.
fn counts(gate: &Gate) -> (usize, String, usize) {
    let fds = fs::read_dir("/proc/self/fd").unwrap().count();
    let mut children = String::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path().join("children");
        children.push_str(&fs::read_to_string(path).unwrap_or_default());
    }
    let owners = fs::read_dir(gate.home().join("work")).unwrap().flatten();
    let directories =
        owners.filter(|it| it.path().is_dir()).map(|it| fs::read_dir(it.path()).unwrap().count());
    (fds, children, directories.sum())
}
