//! One container, from its start to when nothing is left of it.
//!
//! Its first process is the gate's own init, which ends when its line to the gate does: then the
//! kernel ends all others, and the engine removes what it kept.

use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::engine::{Engine, EngineError};
use crate::limits::ENGINE_CALL_SECONDS;
use crate::stop::Held;

/// In the directory of a line.
pub(super) const SOCKET: &str = "socket";
/// How often it is asked whether a container that says nothing is still there.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// Where a container's init is waited for: a directory that is laid into it.
pub(super) struct Line {
    directory: PathBuf,
    listener: UnixListener,
}

impl Line {
    pub(super) fn listen(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(CWD, &directory, flags, Mode::empty())?;
        // By a short name: that of the directory may be longer than a socket's may be.
        let name = format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd());
        let listener = UnixListener::bind(name)?;
        listener.set_nonblocking(true)?;
        Ok(Self { directory, listener })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Gone before the first command runs, so that no command finds it.
        fs::remove_file(self.directory.join(SOCKET)).ok();
    }
}

/// A container that was started.
#[derive(Debug)]
pub(super) struct Running {
    engine: Arc<Engine>,
    name: String,
    /// Of its first process, once that has spoken.
    end: Option<OwnedFd>,
    removed: bool,
}

/// Why a container did not come up.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotUp {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("waiting for the container's init")]
    System(#[from] io::Error),
    #[error("the container ended before its init spoke, as one of another architecture does")]
    Ended,
    #[error("the container's init did not speak within {ENGINE_CALL_SECONDS} s")]
    Silent,
    #[error("starting the container was cancelled")]
    Cancelled,
    #[error("somebody else than the container's init answered: {0}")]
    Stranger(String),
}

impl Running {
    /// Starts it, and returns with the line to its init.
    pub(super) fn start(
        engine: &Arc<Engine>,
        name: String,
        words: &[std::ffi::OsString],
        line: Line,
        cancelled: &PipeReader,
    ) -> Result<(Self, UnixStream, Pid), NotUp> {
        // From here on it is removed whatever happens.
        let mut running = Self { engine: Arc::clone(engine), name, end: None, removed: false };
        engine.call(words, Duration::from_secs(ENGINE_CALL_SECONDS), Some(cancelled))?;
        let stream = running.accept(&line, cancelled)?;
        drop(line);
        let pid = peer(&stream)?;
        running.end = Some(pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)?);
        Ok((running, stream, pid))
    }

    fn accept(&self, line: &Line, cancelled: &PipeReader) -> Result<UnixStream, NotUp> {
        let deadline = Instant::now() + Duration::from_secs(ENGINE_CALL_SECONDS);
        loop {
            let mut watched =
                [PollFd::new(&line.listener, PollFlags::IN), PollFd::new(cancelled, PollFlags::IN)];
            let woken = poll(&mut watched, Timespec::try_from(ASK_EVERY).ok().as_ref());
            let is_cancelled = !watched[1].revents().is_empty();
            match woken {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            match line.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if is_cancelled {
                return Err(NotUp::Cancelled);
            }
            if Instant::now() >= deadline {
                return Err(NotUp::Silent);
            }
            if woken == Ok(0) && !self.engine.runs(&self.name)? {
                return Err(NotUp::Ended);
            }
        }
    }
}

impl Held for Running {
    fn is_alive(&mut self) -> bool {
        !self.removed
    }

    fn wait_for(&mut self, time: Duration) -> bool {
        let Some(end) = &self.end else { return false };
        let deadline = Instant::now() + time;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut watched = [PollFd::new(end, PollFlags::IN)];
            match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return false,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Also asks the engine to forget it.
    fn kill(&mut self) -> io::Result<()> {
        if self.removed {
            return Ok(());
        }
        if let Some(end) = &self.end {
            // Only where the kernel lets us; the engine can always.
            pidfd_send_signal(end, Signal::KILL).ok();
        }
        self.engine.remove(&self.name).map_err(io::Error::other)?;
        self.removed = true;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            let name = &self.name;
            tracing::warn!(error = %error, container = name, "a container was not removed; the next start sweeps it");
        }
    }
}

/// Who is at the other end. Only root, in or outside of the container, or this user can be an init of ours.
#[expect(unsafe_code, reason = "rustix takes a process that is not seen from here for one")]
fn peer(stream: &UnixStream) -> Result<Pid, NotUp> {
    // SAFETY: `ucred` is plain numbers, for which all zeros is a valid value.
    let mut peer: libc::ucred = unsafe { std::mem::zeroed() };
    let mut length =
        libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: both pointers are to live values, and the length is that of the first.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error().into());
    }
    if peer.uid != 0 && peer.uid != geteuid().as_raw() {
        return Err(NotUp::Stranger(format!("it runs as user {}", peer.uid)));
    }
    let pid = (peer.pid > 0).then(|| Pid::from_raw(peer.pid)).flatten();
    pid.ok_or_else(|| NotUp::Stranger("the engine runs where its processes cannot be seen".into()))
}

/// The user of the kernel that a user of the container is; itself, where that cannot be read.
pub(super) fn kernel_uid(init: Pid, uid: u32) -> u32 {
    let map = fs::read_to_string(format!("/proc/{}/uid_map", init.as_raw_nonzero()));
    mapped(&map.unwrap_or_default(), uid).unwrap_or(uid)
}

fn mapped(map: &str, uid: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let [inside, outside, length] = std::array::from_fn(|_| numbers.next()?.ok());
        let offset = uid.checked_sub(inside?).filter(|it| Some(*it) < length)?;
        outside?.checked_add(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_mapped_as_the_kernel_does() {
        let rootless = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!(mapped(rootless, 0), Some(1000));
        assert_eq!(mapped(rootless, 61_000), Some(160_999));
        assert_eq!(mapped(rootless, 70_000), None);
        assert_eq!(mapped("0 0 4294967295\n", 61_000), Some(61_000));
        assert_eq!(mapped("", 1), None);
    }

    #[test]
    fn a_line_has_a_directory_of_any_length_and_its_socket_is_gone_when_it_is_not_needed() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("d".repeat(200));
        let line = Line::listen(directory.clone()).unwrap();
        assert!(directory.join(SOCKET).exists());
        drop(line);
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }

    #[test]
    fn this_process_is_known_by_its_end_of_the_line() {
        let (here, _there) = UnixStream::pair().unwrap();
        assert_eq!(peer(&here).unwrap(), rustix::process::getpid());
    }
}
