//! Which system calls a command may not make.
//!
//! Refused is what leads out of the walls, or to corners of the kernel that no build or test needs:
//! mounts and namespaces, modules and clocks, kernel keys, `bpf`, `io_uring`, `userfaultfd`, sockets
//! of families that a network namespace does not contain. Everything else is allowed: what compilers
//! and test runners do cannot be listed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::wire::Refusal;

/// The sockets that may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Of this machine, and TCP, whose destinations Landlock fences. Pairs can always be made.
    Listed { unix: bool, tcp: bool },
    /// What a network namespace contains.
    Namespace,
}

/// Compiled filters.
pub(super) struct Calls(Vec<BpfProgram>);

impl Calls {
    /// For this process, from now on.
    pub(super) fn refuse(&self) -> Result<(), Refusal> {
        for program in &self.0 {
            apply_filter(program).map_err(|it| Refusal::says("seccomp", &it.to_string()))?;
        }
        Ok(())
    }
}

/// Refused whatever their arguments are.
const REFUSED: &[libc::c_long] = &[
    // What is mounted where.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by number, past every path.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // Large and young parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keys that belong to a user, whatever namespace it is in.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// What outlives every process, and is shared with all of the host: only a namespace contains it.
const REFUSED_WITHOUT_NAMESPACE: &[libc::c_long] =
    &[libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Set in the number of a call by programs of the x32 kind, which would pass a filter of plain numbers.
#[cfg(target_arch = "x86_64")]
const OTHER_ABI: &[libc::c_long] = &[0, 0x4000_0000];
#[cfg(not(target_arch = "x86_64"))]
const OTHER_ABI: &[libc::c_long] = &[0];

const NEW_NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Makes the filters for these sockets, and for memory that the kernel counts or that is counted by what processes map.
pub(super) fn compile(sockets: Sockets, memory_is_counted: bool) -> Result<Calls, Refusal> {
    let failed = |it: seccompiler::Error| Refusal::says("seccomp", &it.to_string());
    let backend = |it: seccompiler::BackendError| Refusal::says("seccomp", &it.to_string());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let shared = match sockets {
        Sockets::Listed { .. } => REFUSED_WITHOUT_NAMESPACE,
        Sockets::Namespace => &[],
    };
    for call in REFUSED.iter().chain(REFUSED_HERE).chain(shared) {
        add(&mut rules, *call, &[]);
    }
    // Each flag alone is enough.
    let flags = (0..32).map(|it| 1_u64 << it).filter(|it| NEW_NAMESPACES as u64 & it != 0);
    let clone = flags.map(|flag| when(&[(0, SeccompCmpOp::MaskedEq(flag), flag)]));
    let clone: Vec<_> = clone.collect::<Result<_, _>>().map_err(backend)?;
    add(&mut rules, libc::SYS_clone, &clone);
    add(&mut rules, libc::SYS_socket, &socket_rules(sockets).map_err(backend)?);
    // Types into the terminal of whoever started the gate.
    let inject = when(&[(1, SeccompCmpOp::Eq, libc::TIOCSTI)]).map_err(backend)?;
    add(&mut rules, libc::SYS_ioctl, &[inject]);
    let refused = program(rules, libc::EPERM).map_err(failed)?;
    // The library falls back to `clone`, whose flags can be read here.
    let mut absent = BTreeMap::new();
    add(&mut absent, libc::SYS_clone3, &[]);
    if !memory_is_counted {
        // Memory behind a descriptor, which nobody need map.
        add(&mut absent, libc::SYS_memfd_create, &[]);
        add(&mut absent, libc::SYS_memfd_secret, &[]);
    }
    let absent = program(absent, libc::ENOSYS).map_err(failed)?;
    Ok(Calls(vec![refused, absent]))
}

fn add(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, call: libc::c_long, when: &[SeccompRule]) {
    for bit in OTHER_ABI {
        rules.insert(call | bit, when.to_owned());
    }
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, seccompiler::Error> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().map_err(seccompiler::Error::Backend)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
    let filter = filter.map_err(seccompiler::Error::Backend)?;
    BpfProgram::try_from(filter).map_err(seccompiler::Error::Backend)
}

/// Refuses each family that is not listed, and datagrams where only streams are allowed. No rule at all refuses every socket.
fn socket_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let families: &[i32] = match sockets {
        Sockets::Listed { unix: false, tcp: false } => return Ok(Vec::new()),
        Sockets::Listed { unix: true, tcp: false } => &[libc::AF_UNIX],
        Sockets::Listed { unix: false, tcp: true } => &[libc::AF_INET, libc::AF_INET6],
        Sockets::Listed { unix: true, tcp: true } => {
            &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6]
        }
        Sockets::Namespace => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let others: Vec<_> =
        families.iter().map(|it| (0, SeccompCmpOp::Ne, u64::from(it.unsigned_abs()))).collect();
    let mut rules = vec![when(&others)?];
    if matches!(sockets, Sockets::Listed { tcp: true, .. }) {
        // The type carries flags beside it.
        let (kind, stream) = (SeccompCmpOp::MaskedEq(0xf), libc::SOCK_STREAM as u64);
        for other in (0..16).filter(|it| *it != stream) {
            for family in [libc::AF_INET, libc::AF_INET6] {
                let family = (0, SeccompCmpOp::Eq, u64::from(family.unsigned_abs()));
                rules.push(when(&[family, (1, kind.clone(), other)])?);
            }
        }
    }
    Ok(rules)
}

/// All of the conditions: which argument, how it is compared, with what.
fn when(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(argument, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}
