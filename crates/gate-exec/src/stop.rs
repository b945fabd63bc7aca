//! Makes sure that a process is gone, also where its init is not there any more to see to it.
//!
//! Each attended process carries a variable that no other has. When an init is lost, killed by what
//! it attended, everything that still carries the variable is ended. A process that wiped its own
//! environment escapes from this; a stronger tier is the answer to that.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::limits::KILL_GRACE_MS;

/// What the variable is called.
const VARIABLE: &str = "DONEGATE_SANDBOX";

/// Counts the marks of this process.
static MARKS: AtomicU64 = AtomicU64::new(0);

/// One mark, on one execution.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        let count = MARKS.fetch_add(1, Ordering::Relaxed);
        // A process id comes back, its start time with it does not.
        Self(format!("{}-{}-{count}", getpid().as_raw_nonzero(), own_start_ticks()))
    }

    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.0.clone().into())
    }

    /// Ends everything that carries the mark, and tells how many that were.
    pub(crate) fn sweep(&self) -> io::Result<u32> {
        let give_up = Instant::now() + Duration::from_millis(KILL_GRACE_MS);
        let mut ended = HashSet::new();
        loop {
            let found = self.carriers()?;
            if found.is_empty() {
                return Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX));
            }
            if Instant::now() > give_up {
                return Err(io::Error::other("processes of the command survive SIGKILL"));
            }
            // First at rest, so that none is born while they are killed.
            for signal in [Signal::STOP, Signal::KILL] {
                for pid in &found {
                    kill_process(*pid, signal).ok();
                }
            }
            ended.extend(found);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn carriers(&self) -> io::Result<Vec<Pid>> {
        let wanted = format!("{VARIABLE}={}", self.0);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse().ok()) else {
                continue;
            };
            // A zombie has no environment any more, and another user's cannot be read.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|it| *it == 0).any(|it| it == wanted.as_bytes()) {
                found.extend(Pid::from_raw(pid));
            }
        }
        Ok(found)
    }
}

fn own_start_ticks() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_ascii_whitespace().nth(19).unwrap_or("0").to_owned()
}

/// A child that does not outlive its guard, nor stays a zombie.
#[derive(Debug)]
pub(crate) struct KillOnDrop(pub(crate) Child);

impl KillOnDrop {
    /// Kills it if it still runs.
    pub(crate) fn kill(&mut self) {
        // Both fail only when it is gone already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.kill();
    }
}
