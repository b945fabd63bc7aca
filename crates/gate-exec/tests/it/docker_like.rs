//! Makes this thread, and all that it starts, see the machine as an ordinary Docker container shows it.
//!
//! What counts for sandboxes is taken from Docker's defaults: its capabilities, the calls that its
//! seccomp profile refuses, and control groups that cannot be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change, mount_remount};
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, remove_capability_from_bounding_set,
    set_capabilities, unshare_unsafe,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// What a process of a container may do at most.
const CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::AUDIT_WRITE);

/// Refused with EPERM.
const REFUSED: [libc::c_long; 24] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// Cannot be left again.
pub(crate) fn enter() {
    if geteuid().is_root() {
        close_control_groups();
        for capability in CapabilitySet::all().difference(CAPABILITIES).iter() {
            // A kernel does not know those that are newer than it.
            remove_capability_from_bounding_set(capability).ok();
        }
        let (effective, permitted) = (CAPABILITIES, CAPABILITIES);
        let inheritable = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable }).unwrap();
    }
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.into_iter().map(|it| (it, Vec::new())).collect();
    let namespaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let with_flag = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(SeccompCmpOp::MaskedEq(flag), flag)
    };
    refused.insert(libc::SYS_clone, namespaces.map(with_flag).into());
    let families = [libc::AF_VSOCK, libc::AF_ALG];
    let families = families.map(|it| rule(SeccompCmpOp::Eq, u64::from(it.unsigned_abs())));
    refused.insert(libc::SYS_socket, families.into());
    apply(refused, libc::EPERM);
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS);
}

/// A condition on the first argument.
fn rule(operator: SeccompCmpOp, value: u64) -> SeccompRule {
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value);
    SeccompRule::new(vec![condition.unwrap()]).unwrap()
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// In a container they can be seen, and not be written.
#[expect(
    unsafe_code,
    reason = "rustix asks whether file descriptors may be unshared: they are not"
)]
fn close_control_groups() {
    // SAFETY: the flag is not CLONE_FILES.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).unwrap();
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let places = mounts.lines().filter_map(|it| it.split(' ').nth(4));
    for place in places.filter(|it| Path::new(it).starts_with("/sys/fs/cgroup")) {
        mount_remount(place, MountFlags::BIND | MountFlags::RDONLY, c"").unwrap();
    }
}
