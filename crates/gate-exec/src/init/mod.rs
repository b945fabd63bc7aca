//! The hidden subcommand `sandbox-init`: a small process between the gate and one command.
//!
//! It starts the command, and when the command ends, or the gate says so, or the gate dies, it ends
//! everything that the command started and only then says how it went. Its standard input is a
//! socket to the gate: end of file there means *end it*, which is also what the kernel says when
//! the gate is killed. What the command printed does not pass through here.
//!
//! Whether an outcome is good or bad is nothing that this module knows.

mod descendants;
mod sys;

use std::ffi::OsString;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use crate::limits::{KILL_GRACE_MS, TEXT_BUSY_RETRY_MS};
use crate::record::{HowItEnded, Record};
use crate::spawn;

/// The word by which an executable is asked to be an init.
pub(crate) const SUBCOMMAND: &str = "sandbox-init";

/// Becomes the init if the arguments ask for it, and then never returns.
///
/// Call it first in `main`, before any thread is started.
#[expect(clippy::exit, reason = "an init has nothing to unwind, and must not return into `main`")]
pub fn take_over_if_asked() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|it| it != SUBCOMMAND) {
        return;
    }
    std::process::exit(if answer(args.collect()).is_ok() { 0 } else { 70 });
}

/// What the gate wants to be run.
struct Order {
    /// The largest file that may be written, where there is a limit.
    file_bytes_max: Option<u64>,
    words: Vec<OsString>,
}

impl Order {
    fn parse(mut args: Vec<OsString>) -> io::Result<Self> {
        let refused = || io::Error::other("sandbox-init is started by the gate only");
        if args.len() < 2 {
            return Err(refused());
        }
        let words = args.split_off(1);
        let bytes: u64 = args[0].to_str().and_then(|it| it.parse().ok()).ok_or_else(refused)?;
        Ok(Self { file_bytes_max: (bytes > 0).then_some(bytes), words })
    }
}

fn answer(args: Vec<OsString>) -> io::Result<()> {
    let mut gate = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let record = match Order::parse(args).and_then(|it| sys::set_up(it.file_bytes_max).map(|()| it))
    {
        Ok(order) => attend(&order, &mut gate),
        Err(error) => Record::failed("set-up", &error),
    };
    gate.write_all(record.to_line().as_bytes())
}

/// Starts the command, waits for an end, and leaves nothing alive.
fn attend(order: &Order, gate: &mut UnixStream) -> Record {
    let program = match find_program(&order.words[0]) {
        Ok(Some(program)) => program,
        Ok(None) => return Record::plain(HowItEnded::NotFound),
        Err(error) => return Record::not_executable(&error),
    };
    let command = match start(&program, &order.words) {
        Ok(command) => command,
        Err(error) => return Record::not_executable(&error),
    };
    let how = match await_end(command.pid, &command.end, gate) {
        Ok(how) => how,
        Err(error) => return Record::failed("wait", &error),
    };
    // A command that was cut off still lives, and is not its own straggler.
    let cut_off = how == HowItEnded::CutOff;
    match descendants::end_all(Instant::now() + Duration::from_millis(KILL_GRACE_MS / 2)) {
        Ok(killed) => Record::ended(how, sys::children_usage(), killed, cut_off),
        Err(error) => Record::failed("kill", &error),
    }
}

struct Started {
    pid: Pid,
    end: OwnedFd,
}

fn start(program: &Path, words: &[OsString]) -> io::Result<Started> {
    let give_up = Instant::now() + Duration::from_millis(TEXT_BUSY_RETRY_MS);
    let child = loop {
        match spawn::acceptance_command(program, words).spawn() {
            // Some other process was forked while the program was being written.
            Err(error)
                if error.raw_os_error() == Some(libc::ETXTBSY) && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => break other?,
        }
    };
    let pid = Pid::from_child(&child);
    Ok(Started { pid, end: pidfd_open(pid, PidfdFlags::empty())? })
}

/// Looks the program up as `execvp` does, but never in a relative directory of `PATH`.
fn find_program(word: &OsString) -> io::Result<Option<PathBuf>> {
    let path = PathBuf::from(word);
    if word.as_encoded_bytes().contains(&b'/') {
        return match path.metadata() {
            Ok(_) => Ok(Some(path)),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let mut refused = None;
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if !directory.is_absolute() {
            continue;
        }
        let candidate = directory.join(&path);
        match candidate.metadata() {
            Ok(metadata) if metadata.is_file() && sys::may_execute(&candidate) => {
                return Ok(Some(candidate));
            }
            Ok(metadata) if metadata.is_file() => {
                refused = Some(io::Error::from_raw_os_error(libc::EACCES));
            }
            Ok(_) | Err(_) => {}
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Waits for the command's end or for the gate's word, and reaps orphans meanwhile.
fn await_end(command: Pid, end: &OwnedFd, gate: &mut UnixStream) -> io::Result<HowItEnded> {
    let now_and_then = Timespec { tv_sec: 1, tv_nsec: 0 };
    loop {
        let mut watched = [
            PollFd::new(end, PollFlags::IN),
            PollFd::from_borrowed_fd(gate.as_fd(), PollFlags::IN),
        ];
        match poll(&mut watched, Some(&now_and_then)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let gate_spoke = !watched[1].revents().is_empty();
        while let Some((pid, status)) = wait_any()? {
            if pid == command {
                return how_it_ended(status);
            }
        }
        // The gate never writes: whatever comes is the end of the file, or an error.
        if gate_spoke && !matches!(gate.read(&mut [0; 64]), Ok(1..)) {
            return Ok(HowItEnded::CutOff);
        }
    }
}

fn wait_any() -> io::Result<Option<(Pid, WaitStatus)>> {
    match wait(WaitOptions::NOHANG) {
        Ok(reaped) => Ok(reaped),
        Err(rustix::io::Errno::CHILD) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn how_it_ended(status: WaitStatus) -> io::Result<HowItEnded> {
    let exited = status.exit_status().map(HowItEnded::Exited);
    let ended = exited.or_else(|| status.terminating_signal().map(HowItEnded::Signal));
    ended.ok_or_else(|| io::Error::other("the command neither exited nor was killed"))
}
