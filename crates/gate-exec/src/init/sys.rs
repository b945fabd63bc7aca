//! The few calls into the system that neither std nor rustix have, and what an init does to itself first.

use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getpid, set_child_subreaper, set_dumpable_behavior,
    setrlimit, setsid,
};
use rustix::thread::set_no_new_privs;

use crate::record::ChildrenUsage;

/// Leaves the gate's session, becomes the parent of every orphan below, and gives nothing on.
pub(super) fn set_up(file_bytes_max: Option<u64>) -> io::Result<()> {
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    // A program with a set-user-id bit could not be ended.
    set_no_new_privs(true)?;
    // Keeps the command, which has the same user, out of this process's descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    keep_descriptors_private()?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    if file_bytes_max.is_some() {
        complain_instead_of_dying();
        setrlimit(Resource::Fsize, Rlimit { current: file_bytes_max, maximum: file_bytes_max })?;
    }
    Ok(())
}

/// Whether this process may execute the file.
pub(super) fn may_execute(path: &Path) -> bool {
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// A file that grows too large is an error that the command can tell of, and not a silent death of it.
#[expect(unsafe_code, reason = "neither std nor rustix has signal")]
fn complain_instead_of_dying() {
    // SAFETY: ignoring a signal installs no handler, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Descriptors that the gate's libraries left open across `exec` end here.
#[expect(unsafe_code, reason = "neither std nor rustix has close_range")]
fn keep_descriptors_private() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call takes no pointers, and with this flag it closes nothing before the next `exec`.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What all reaped children used, and theirs in turn.
#[expect(unsafe_code, reason = "neither std nor rustix has getrusage")]
pub(super) fn children_usage() -> ChildrenUsage {
    // SAFETY: `rusage` is plain numbers, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live `rusage`, which the call fills.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    if result != 0 {
        return ChildrenUsage::default();
    }
    let microseconds = |it: libc::timeval| {
        u64::try_from(it.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(it.tv_usec).unwrap_or(0)
    };
    ChildrenUsage {
        cpu_us: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
        memory_peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    }
}
