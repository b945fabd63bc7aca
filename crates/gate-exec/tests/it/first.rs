//! As process 1 of a container, the executable reaps orphans and passes signals on.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::has_program;

const INSIDE: &str = "GATE_EXEC_TEST_FIRST";

/// What runs below the first process; without the variable an ordinary test that has nothing to do.
#[test]
fn program() {
    match std::env::var_os(INSIDE) {
        None => {}
        Some(what) if what == "orphans" => {
            #[expect(clippy::disallowed_methods, reason = "an orphan is what this makes")]
            let status = Command::new("sh").args(["-c", "(sleep 0.2 &) ; true"]).status().unwrap();
            assert!(status.success());
            let give_up = Instant::now() + Duration::from_secs(20);
            while sleeps() > 0 {
                assert!(Instant::now() < give_up, "a zombie stays");
                std::thread::yield_now();
            }
        }
        Some(_) => {
            println!("started");
            loop {
                std::thread::park();
            }
        }
    }
}

/// Also those that have ended and were not reaped.
fn sleeps() -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
    names.filter(|it| it.trim() == "sleep").count()
}

/// This test binary as process 1 of a process namespace, where that can be made.
#[expect(clippy::disallowed_methods, reason = "the gate itself is what is started here")]
fn first(what: &str) -> Option<Command> {
    let mut flags = vec!["--pid", "--fork", "--mount-proc"];
    if !rustix::process::geteuid().is_root() {
        flags.extend(["--user", "--map-root-user"]);
    }
    if !has_program("unshare") {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(&flags);
    if !Command::new("unshare").args(&flags).arg("true").status().is_ok_and(|it| it.success()) {
        println!("not run: no process namespace can be made here");
        return None;
    }
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "first::program", "--nocapture"]).env(INSIDE, what);
    Some(command)
}

#[test]
fn orphans_are_reaped() {
    let Some(mut command) = first("orphans") else { return };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_signal_reaches_the_program_and_its_end_is_told() {
    use std::io::{BufRead as _, BufReader};
    let Some(mut command) = first("signals") else { return };
    let mut unshare = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(unshare.stdout.take().unwrap()).lines();
    assert!(lines.any(|it| it.unwrap().contains("started")));
    let first = fs::read_to_string(format!("/proc/{0}/task/{0}/children", unshare.id())).unwrap();
    let pid = rustix::process::Pid::from_raw(first.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(unshare.wait().unwrap().code(), Some(128 + 15));
}
