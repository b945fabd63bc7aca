//! Makes sure that a process is gone, also where its init is not there any more to see to it.
//!
//! Each attended process carries a variable that no other has. When an init is lost, killed by what
//! it attended, everything that still carries the variable is ended. A process that wiped its own
//! environment escapes from this; a stronger tier is the answer to that.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};

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

/// When this process was started: with its id, a name that no other process has.
pub(crate) fn own_start_ticks() -> String {
    start_ticks("self").unwrap_or_else(|| "0".to_owned())
}

/// When the process of that id was started; `None` where there is none.
pub(crate) fn start_ticks(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.rsplit(')').next()?;
    after.split_ascii_whitespace().nth(19).map(str::to_owned)
}

/// An init, as the gate holds it: something that can be waited for and killed.
pub(crate) trait Held: Send + std::fmt::Debug {
    /// Whether something of it may be left.
    fn is_alive(&mut self) -> bool;

    /// Waits for its end, and tells whether it came in time.
    fn wait_for(&mut self, time: Duration) -> bool;

    /// Kills it if it still runs. A second time does nothing.
    fn kill(&mut self) -> io::Result<()>;
}

/// A process that is watched and ended by its descriptor, which no other process can take.
#[derive(Debug)]
pub(crate) struct Process {
    end: OwnedFd,
    /// Where it is our own child: it is reaped by us.
    child: Option<KillOnDrop>,
}

impl Process {
    pub(crate) fn of(pid: i32, child: Option<KillOnDrop>) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { end: pidfd_open(pid, PidfdFlags::empty())?, child })
    }
}

impl Held for Process {
    fn is_alive(&mut self) -> bool {
        !self.wait_for(Duration::ZERO)
    }

    fn wait_for(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        loop {
            let mut watched = [PollFd::new(&self.end, PollFlags::IN)];
            let left = deadline.saturating_duration_since(Instant::now());
            match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) if left.is_zero() => return false,
                Ok(1..) => return true,
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn kill(&mut self) -> io::Result<()> {
        // It fails only when it is gone already.
        pidfd_send_signal(&self.end, Signal::KILL).ok();
        self.wait_for(Duration::from_millis(KILL_GRACE_MS));
        if let Some(child) = &mut self.child {
            child.kill();
        }
        Ok(())
    }
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
