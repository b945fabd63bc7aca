//! Mounts as descriptors: cloned from a path, restricted, given other owners, and put somewhere.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

use super::sys::{self, Fork, checked};

/// `struct mount_attr` of `linux/mount.h`.
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// A mount of what is at this path, not yet anywhere.
pub(super) fn clone_of(path: &Path, with_all_below: bool) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    if with_all_below {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(open_tree(CWD, path, flags)?)
}

/// Nothing in it can be written, nor be a device, nor give privileges.
pub(super) fn make_read_only(mount: &OwnedFd) -> io::Result<()> {
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    set_attributes(mount.as_fd(), true, &MountAttributes { set, ..Default::default() })
}

/// Nothing can be made or removed directly on it any more; what is mounted below stays as it is.
pub(super) fn make_root_read_only() -> io::Result<()> {
    let root = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    set_attributes(root.as_fd(), false, &MountAttributes { set, ..Default::default() })
}

/// What root owns on the disk, the user of this namespace owns through the mount, and the other way round.
pub(super) fn give_to(mount: &OwnedFd, user_namespace: &OwnedFd) -> io::Result<()> {
    let user_namespace = u64::try_from(user_namespace.as_raw_fd()).map_err(io::Error::other)?;
    let attributes =
        MountAttributes { set: libc::MOUNT_ATTR_IDMAP, user_namespace, ..Default::default() };
    set_attributes(mount.as_fd(), false, &attributes)
}

/// Puts a mount at a path that exists.
pub(super) fn attach(mount: &OwnedFd, at: &Path) -> io::Result<()> {
    Ok(move_mount(mount, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A user namespace in which root on the disk is `uid`, for [`give_to`].
///
/// The disk's user 1 is root there, so that the kernel's own files of an overlay have an owner.
pub(super) fn namespace_of(uid: u32) -> io::Result<OwnedFd> {
    let (mut told, teller) = io::pipe()?;
    let Fork::Parent(child) = sys::fork()? else { wait_in_new_namespace(teller) };
    drop(teller);
    let made = (|| {
        let mut refused = [0; size_of::<i32>()];
        io::Read::read_exact(&mut told, &mut refused)?;
        if refused != [0; size_of::<i32>()] {
            return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(refused)));
        }
        let map = format!("0 {uid} 1\n1 0 1\n");
        let pid = child.as_raw_nonzero();
        for file in ["uid_map", "gid_map"] {
            std::fs::write(format!("/proc/{pid}/{file}"), &map)?;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(openat(CWD, format!("/proc/{pid}/ns/user"), flags, Mode::empty())?)
    })();
    kill_process(child, Signal::KILL).ok();
    waitpid(Some(child), WaitOptions::empty())?;
    made
}

#[expect(
    unsafe_code,
    reason = "neither std nor rustix has pause and _exit, and unshare is unsafe in rustix"
)]
fn wait_in_new_namespace(mut teller: io::PipeWriter) -> ! {
    // SAFETY: this process has one thread; nothing below touches memory that another could see.
    unsafe {
        let entered = rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWUSER);
        let refused = entered.err().map_or(0, rustix::io::Errno::raw_os_error);
        if io::Write::write_all(&mut teller, &refused.to_ne_bytes()).is_ok() && refused == 0 {
            libc::pause();
        }
        libc::_exit(0)
    }
}

#[expect(unsafe_code, reason = "neither std nor rustix has mount_setattr")]
fn set_attributes(
    mount: BorrowedFd<'_>,
    with_all_below: bool,
    attributes: &MountAttributes,
) -> io::Result<()> {
    let below = if with_all_below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty text that ends with a NUL, and the attributes live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | below,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    };
    checked(result).map(drop)
}
