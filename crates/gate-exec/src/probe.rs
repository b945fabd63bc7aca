//! The hidden subcommand `sandbox-probe`: tries what a command in a sandbox must not be able to do, and tells.
//!
//! It runs as an ordinary command of the tier that is tested, and judges nothing.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, getuid, test_kill_process};
use serde::{Deserialize, Serialize};

/// The word by which an executable is asked to be a probe.
pub(crate) const SUBCOMMAND: &str = "sandbox-probe";

/// What it tries to reach: all of it belongs to the gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// A file that is to be read.
    pub(crate) secret: PathBuf,
    /// A file that is to be made.
    pub(crate) outside: PathBuf,
    /// A port on 127.0.0.1.
    pub(crate) port: u16,
    /// An abstract socket.
    pub(crate) abstract_name: String,
    /// A socket with a path.
    pub(crate) socket: PathBuf,
    pub(crate) gate: i32,
}

/// What it could do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "one for each attempt")]
pub(crate) struct Seen {
    pub(crate) uid: u32,
    pub(crate) read_secret: bool,
    pub(crate) wrote_outside: bool,
    pub(crate) reached_port: bool,
    pub(crate) reached_abstract_socket: bool,
    pub(crate) reached_socket: bool,
    pub(crate) signalled_gate: bool,
    pub(crate) read_gate_environment: bool,
    pub(crate) made_vsock: bool,
    pub(crate) used_loopback: bool,
    pub(crate) entered_namespace: bool,
    pub(crate) wrote_workspace: bool,
}

/// Tries, tells on standard output, and leaves a process behind that has left its session.
pub(crate) fn answer(mut args: impl Iterator<Item = OsString>) -> io::Result<()> {
    let targets = args.next().unwrap_or_default();
    let targets: Targets = serde_json::from_slice(targets.as_encoded_bytes())?;
    let seen = serde_json::to_vec(&try_all(&targets))?;
    io::stdout().write_all(&seen)?;
    linger()
}

fn try_all(targets: &Targets) -> Seen {
    let gate = Pid::from_raw(targets.gate);
    let abstract_name = SocketAddr::from_abstract_name(&targets.abstract_name);
    Seen {
        uid: getuid().as_raw(),
        read_secret: fs::read(&targets.secret).is_ok(),
        wrote_outside: fs::write(&targets.outside, "x").is_ok(),
        reached_port: connects(targets.port),
        reached_abstract_socket: abstract_name
            .is_ok_and(|it| UnixStream::connect_addr(&it).is_ok()),
        reached_socket: UnixStream::connect(&targets.socket).is_ok(),
        signalled_gate: gate.is_some_and(|it| test_kill_process(it).is_ok()),
        read_gate_environment: fs::read(format!("/proc/{}/environ", targets.gate))
            .is_ok_and(|it| !it.is_empty()),
        made_vsock: makes_socket(libc::AF_VSOCK),
        used_loopback: uses_loopback(),
        entered_namespace: enters_namespace(),
        wrote_workspace: fs::write("probe-was-here", "x").is_ok(),
    }
}

fn connects(port: u16) -> bool {
    let address = (Ipv4Addr::LOCALHOST, port).into();
    TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok()
}

fn uses_loopback() -> bool {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let port = listener.as_ref().ok().and_then(|it| it.local_addr().ok()).map(|it| it.port());
    port.is_some_and(connects)
}

#[expect(unsafe_code, reason = "rustix has no AF_VSOCK")]
fn makes_socket(family: i32) -> bool {
    // SAFETY: the call takes no pointers; the descriptor ends with this process.
    unsafe { libc::socket(family, libc::SOCK_STREAM, 0) >= 0 }
}

#[expect(
    unsafe_code,
    reason = "rustix asks whether file descriptors may be unshared: they are not"
)]
fn enters_namespace() -> bool {
    // SAFETY: this process has one thread, and the flag is not CLONE_FILES.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWUSER).is_ok() }
}

/// A process that has left its parent and its session, and holds the output open.
#[expect(unsafe_code, reason = "neither std nor rustix has fork")]
fn linger() -> io::Result<()> {
    // SAFETY: this process has one thread, so the child finds every lock free and may do anything.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                libc::pause();
            }
            libc::_exit(0);
        }
        // So that the first child is gone, and the second one an orphan.
        libc::wait(std::ptr::null_mut());
    }
    Ok(())
}
