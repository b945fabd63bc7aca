//! What a command gives up just before it is executed: users, capabilities, files, sockets, system calls.
//!
//! All of it is made ready by the init, once for a run, and put on by each command in its own process.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::calls::{self, Calls, Sockets};
use super::sys;
use crate::limits::MEMORY_HEADROOM_BYTES;
use crate::wire::{Bounds, Refusal, SetUp, Walls};

/// The newest version of Landlock whose effect on programs is known here.
const LANDLOCK: ABI = ABI::V7;
/// Without scopes for signals and abstract sockets there is no tier `landlock`.
const LANDLOCK_MIN: u32 = 6;
/// What a namespace shows may be read; these may be written. What is mounted read-only stays so.
const WRITABLE_IN_NAMESPACE: [&str; 4] = ["/gate", "/tmp", "/dev", "/proc"];
/// In a container, these as well; a volume that its image asks for is none of them.
const WRITABLE_IN_CONTAINER: [&str; 2] = ["/run", "/var/tmp"];
/// Devices that every program expects.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Made once, put on by every command.
pub(super) struct Fence {
    ruleset: Option<RulesetCreated>,
    landlock_abi: Option<u32>,
    calls: Option<Calls>,
    uid: Option<u32>,
    bounds: Bounds,
}

impl Fence {
    pub(super) fn compile(set_up: &SetUp) -> Result<Self, Refusal> {
        let says = |it: landlock::RulesetError| Refusal::says("Landlock", &it.to_string());
        let abi = landlock_abi();
        let (ruleset, sockets) = match &set_up.walls {
            Walls::None => (None, None),
            Walls::Landlock(_) if abi.is_none_or(|it| it < LANDLOCK_MIN) => {
                let detail = match abi {
                    None => "this kernel does not have it, or it is switched off".to_owned(),
                    Some(abi) => format!("this kernel has ABI {abi}, and {LANDLOCK_MIN} is needed"),
                };
                return Err(Refusal::says("Landlock", &detail));
            }
            Walls::Landlock(walls) => {
                let mut rules = Rules::new(CompatLevel::HardRequirement).map_err(says)?;
                for path in &walls.readable {
                    rules.allow(path, AccessFs::from_read(LANDLOCK)).map_err(says)?;
                }
                let devices = DEVICES.iter().map(Path::new);
                for path in walls.writable.iter().map(AsRef::as_ref).chain(devices) {
                    rules.allow(path, AccessFs::from_all(LANDLOCK)).map_err(says)?;
                }
                if let Some(port) = walls.proxy_port {
                    rules.connect_to(port).map_err(says)?;
                }
                let tcp = walls.proxy_port.is_some();
                // Landlock does not fence sockets with a path: where the user is the gate's own, its
                // sockets are kept from the command by giving it none.
                let unix = set_up.uid.is_some();
                (Some(rules.0), Some(Sockets::Listed { unix, tcp }))
            }
            Walls::Namespace(_) => {
                let ruleset = abi.map(|_| namespace_rules(&[]).map_err(says)).transpose()?;
                (ruleset, Some(Sockets::Namespace))
            }
            Walls::Container(_) => {
                let rules = |_| namespace_rules(&WRITABLE_IN_CONTAINER).map_err(says);
                (abi.map(rules).transpose()?, Some(Sockets::Namespace))
            }
        };
        let counted = set_up.bounds.memory_in_cgroup || matches!(set_up.walls, Walls::Container(_));
        let calls = sockets.map(|it| calls::compile(it, counted)).transpose()?;
        let landlock_abi = ruleset.as_ref().and(abi);
        Ok(Self { ruleset, landlock_abi, calls, uid: set_up.uid, bounds: set_up.bounds })
    }

    pub(super) fn landlock_abi(&self) -> Option<u32> {
        self.landlock_abi
    }

    /// For the process that becomes a command, and for no other: nothing of it can be undone.
    ///
    /// # Errors
    /// With the stage that failed: then nothing may be executed.
    pub(super) fn put_on(&self) -> Result<(), Refusal> {
        self.limit().map_err(Refusal::at("setting limits"))?;
        drop_user(self.uid).map_err(Refusal::at("becoming another user"))?;
        set_no_new_privs(true).map_err(Refusal::at("giving up new privileges"))?;
        if let Some(ruleset) = &self.ruleset {
            let own = ruleset.try_clone().map_err(Refusal::at("Landlock"))?;
            let status = own.restrict_self();
            status.map_err(|it| Refusal::says("Landlock", &it.to_string()))?;
        }
        match &self.calls {
            Some(calls) => calls.refuse(),
            None => Ok(()),
        }
    }

    fn limit(&self) -> io::Result<()> {
        let set = |what, most: Option<u64>| -> io::Result<()> {
            let Some(most) = most else { return Ok(()) };
            // An ordinary user may not have more than its gate has.
            let most = Some(getrlimit(what).maximum.map_or(most, |it| it.min(most)));
            Ok(setrlimit(what, Rlimit { current: most, maximum: most })?)
        };
        let bounds = &self.bounds;
        set(Resource::Core, Some(0))?;
        set(Resource::Nofile, bounds.open_files)?;
        set(Resource::Nproc, bounds.processes_of_user)?;
        if !bounds.memory_in_cgroup {
            // Not of the address space: a JVM reserves far more than it uses.
            set(Resource::Data, bounds.memory_bytes.map(|it| it + MEMORY_HEADROOM_BYTES))?;
        }
        if bounds.file_bytes.is_some() {
            sys::complain_instead_of_dying();
        }
        set(Resource::Fsize, bounds.file_bytes)?;
        set(Resource::Cpu, bounds.cpu_ms.map(|it| it.div_ceil(1000) + 1))
    }
}

/// Leaves root, and whatever a user namespace gave.
fn drop_user(uid: Option<u32>) -> io::Result<()> {
    if let Some(uid) = uid {
        for capability in CapabilitySet::all().iter() {
            // Best effort: without new privileges no program could gain what is left in this set.
            remove_capability_from_bounding_set(capability).ok();
        }
        let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)?;
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?)
}

/// A ruleset that grows.
struct Rules(RulesetCreated);

impl Rules {
    fn new(level: CompatLevel) -> Result<Self, landlock::RulesetError> {
        let ruleset = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(LANDLOCK))?
            .handle_access(AccessNet::from_all(LANDLOCK))?
            .scope(Scope::from_all(LANDLOCK))?;
        // The init has it already; a second time is no error.
        Ok(Self(ruleset.create()?))
    }

    /// A path that is not there needs no rule.
    fn allow(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), landlock::RulesetError> {
        let Ok(fd) = PathFd::new(path) else { return Ok(()) };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(LANDLOCK) };
        (&mut self.0).add_rule(PathBeneath::new(fd, access))?;
        Ok(())
    }

    fn connect_to(&mut self, port: u16) -> Result<(), landlock::RulesetError> {
        (&mut self.0).add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        Ok(())
    }
}

/// Within a namespace it is a second wall, as high as the kernel can.
fn namespace_rules(more: &[&str]) -> Result<RulesetCreated, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?;
    let mut rules = Rules(ruleset.create()?);
    rules.allow(Path::new("/"), AccessFs::from_read(LANDLOCK))?;
    for path in WRITABLE_IN_NAMESPACE.iter().chain(more) {
        rules.allow(Path::new(path), AccessFs::from_all(LANDLOCK))?;
    }
    Ok(rules.0)
}

/// The version of Landlock that the kernel enforces.
#[expect(unsafe_code, reason = "the library tells it only after it has restricted this process")]
fn landlock_abi() -> Option<u32> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call reads nothing, and answers with a number.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    u32::try_from(abi).ok().filter(|it| *it > 0)
}
