//! Enters namespaces of its own: files, processes, network, IPC, host name, control groups, and, for an ordinary user, users.

use std::ffi::CStr;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{
    Pid, Signal, WaitOptions, getegid, geteuid, set_parent_process_death_signal, waitpid,
};
use rustix::system::sethostname;
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::sys::{self, Fork, checked};
use crate::limits::PROXY_PORT;
use crate::wire::{ContainerWalls, NamespaceWalls, Refusal, SetUp, Walls};

/// Who goes on after [`enter`].
pub(super) enum Side {
    /// The process that the gate started. It only waits for the first one inside.
    Outer(Pid),
    /// The first process of the new namespaces.
    First,
}

/// Leaves every namespace of the host.
pub(super) fn enter() -> Result<Side, Refusal> {
    let mut flags = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    let (user, group) = (geteuid(), getegid());
    if !user.is_root() {
        flags |= UnshareFlags::NEWUSER;
    }
    unshare(flags).map_err(Refusal::at("leaving the host's namespaces"))?;
    if !user.is_root() {
        let write = |file: &str, text: String| {
            std::fs::write(format!("/proc/self/{file}"), text)
                .map_err(Refusal::at("mapping the user"))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1"))?;
        write("gid_map", format!("{group} {group} 1"))?;
    }
    match sys::fork().map_err(Refusal::at("forking"))? {
        Fork::Parent(first) => Ok(Side::Outer(first)),
        Fork::Child => {
            // Its parent has one thread: the signal cannot come from a thread that merely ends.
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(Refusal::at("tying the namespace to its parent"))?;
            sethostname(b"donegate").map_err(Refusal::at("naming the host"))?;
            loopback_up().map_err(Refusal::at("bringing loopback up"))?;
            Ok(Side::First)
        }
    }
}

/// Waits for the first process inside: all others end with it.
pub(super) fn wait_for(first: Pid) -> io::Result<()> {
    loop {
        match waitpid(Some(first), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            waited => return Ok(waited.map(drop)?),
        }
    }
}

/// Where commands find the gate's proxy. It listens inside, and is served by the gate outside.
pub(super) fn proxy_listener(set_up: &SetUp) -> Result<Option<TcpListener>, Refusal> {
    match &set_up.walls {
        Walls::Namespace(NamespaceWalls { proxy: true, .. })
        | Walls::Container(ContainerWalls { proxy: true, .. }) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT));
            listener.map(Some).map_err(Refusal::at("listening for the proxy"))
        }
        Walls::None | Walls::Landlock(_) | Walls::Namespace(_) | Walls::Container(_) => Ok(None),
    }
}

#[expect(
    unsafe_code,
    reason = "rustix asks whether file descriptors may be unshared: they are not"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: none of the flags is CLONE_FILES.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// The loopback of a new network namespace has its address, and is down.
#[expect(unsafe_code, reason = "neither std nor rustix has SIOCSIFFLAGS")]
fn loopback_up() -> io::Result<()> {
    const NAME: &CStr = c"lo";
    let socket: OwnedFd =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: `ifreq` is plain numbers, for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(NAME.to_bytes()) {
        *place = libc::c_char::try_from(*byte).map_err(io::Error::other)?;
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
    // SAFETY: the pointer is to a live `ifreq`, which the call reads.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    checked(result.into()).map(drop)
}
