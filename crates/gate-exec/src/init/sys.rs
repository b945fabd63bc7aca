//! The few calls into the system that neither std nor rustix have, and what an init does to itself first.

use std::io;
use std::mem::zeroed;

use rustix::process::{DumpableBehavior, Pid, set_dumpable_behavior, setsid};

/// Leaves the gate's session, and gives nothing on.
pub(super) fn leave_the_gate() -> io::Result<()> {
    setsid()?;
    keep_descriptors_private()
}

/// Keeps commands of the same user out of this process's descriptors and memory.
pub(super) fn hide() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Descriptors that the gate's libraries left open across `exec` end at the next one.
#[expect(unsafe_code, reason = "neither std nor rustix has close_range")]
pub(super) fn keep_descriptors_private() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call takes no pointers, and with this flag it closes nothing before the next `exec`.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) };
    checked(result).map(drop)
}

/// Which side of a fork this is.
pub(super) enum Fork {
    Child,
    Parent(Pid),
}

/// Forks. Only an init may: it has one thread.
#[expect(unsafe_code, reason = "neither std nor rustix has fork")]
pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: this process has one thread, so the child finds every lock free and may do anything.
    let pid = checked(i64::from(unsafe { libc::fork() }))?;
    Ok(match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => Fork::Parent(pid),
        None => Fork::Child,
    })
}

/// Does something as another user, as far as files and `/proc` are concerned; as this one where that is refused.
///
/// No process is needed for it, of which there may be none left to be had.
#[expect(unsafe_code, reason = "neither std nor rustix has setfsuid")]
pub(super) fn as_user_of_files<T>(uid: u32, work: impl FnOnce() -> T) -> T {
    // SAFETY: the calls change no memory; this process has one thread.
    let before = unsafe { (libc::setfsgid(uid), libc::setfsuid(uid)) };
    let result = work();
    let [group, user] = [before.0, before.1].map(i32::cast_unsigned);
    // SAFETY: as above.
    unsafe { (libc::setfsuid(user), libc::setfsgid(group)) };
    result
}

/// Sends SIGKILL to everything that this process may signal, but for itself.
///
/// Call it only where that is known to be its own: as the first process of a namespace, or from
/// within a Landlock domain that scopes signals.
#[expect(unsafe_code, reason = "rustix has no kill(-1)")]
pub(super) fn kill_all() {
    // SAFETY: the call takes no pointers. It fails only when there is nobody left.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// What one reaped child used, with all that it had waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reaped {
    pub(super) pid: i32,
    pub(super) status: i32,
    pub(super) cpu_us: u64,
    pub(super) memory_peak_bytes: u64,
}

/// Reaps one child that has ended, if there is one; an error with ECHILD when no child is left.
#[expect(unsafe_code, reason = "neither std nor rustix has wait4")]
pub(super) fn reap() -> io::Result<Option<Reaped>> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { zeroed() };
    // SAFETY: both pointers are to live values, which the call fills.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
    let pid = i32::try_from(checked(i64::from(pid))?).unwrap_or(0);
    let microseconds = |it: libc::timeval| {
        u64::try_from(it.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(it.tv_usec).unwrap_or(0)
    };
    Ok((pid > 0).then(|| Reaped {
        pid,
        status,
        cpu_us: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
        memory_peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    }))
}

/// Children that end are not waited for, and leave no zombie.
pub(super) fn let_children_go() -> io::Result<()> {
    on_children(libc::SIG_IGN)
}

/// As it is without [`let_children_go`].
pub(super) fn wait_for_children_again() -> io::Result<()> {
    on_children(libc::SIG_DFL)
}

#[expect(unsafe_code, reason = "neither std nor rustix has signal")]
fn on_children(what: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: neither installs a handler, and no other thread runs.
    let before = unsafe { libc::signal(libc::SIGCHLD, what) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A file that grows too large is an error that the command can tell of, and not a silent death of it.
#[expect(unsafe_code, reason = "neither std nor rustix has signal")]
pub(super) fn complain_instead_of_dying() {
    // SAFETY: ignoring a signal installs no handler, and no other thread runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The result of a call that answers with -1 and `errno`.
pub(super) fn checked(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
