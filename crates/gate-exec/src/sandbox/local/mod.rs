//! The tiers that this executable builds by itself: `process`, `landlock`, `namespace`.
//!
//! They differ in the walls that the init of a run puts up; how commands are started, watched, and
//! ended is the same for all.
//!
//! | | `process` | `landlock` | `namespace` |
//! | --- | --- | --- | --- |
//! | files | the host's | the host's, where Landlock lets them | a root of their own |
//! | processes | the host's | signals stay inside | a table of their own |
//! | network | the host's | none, not even loopback | a loopback of their own |
//! | workspace | a copy | a copy | a layer in memory over a shared tree |
//! | user | the gate's; one of its own where the gate is root, but for `process` | | |

mod place;
mod running;
mod walls;

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use gate_core::{
    Isolation, IsolationTier, MemoryBound, NetworkAccess, RunLimits, SetupUse, WorkspaceKind,
};
use rustix::process::getuid;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::outcome::failed;
use super::room::OwnRoom;
use super::uids::{Uid, Uids};
use super::way_out::{Guard, WayOut, proxy_variables};
use super::{Egress, Profile, Room, Sandbox, SandboxError, SandboxTier};
use crate::attend::Init;
use crate::cgroup::Cgroups;
use crate::limits::PROXY_PORT;
use crate::nursery::Nursery;
use crate::wire::SetUp;
use running::LocalSandbox;

/// What the tiers of one process share.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) profile: Profile,
    /// Of the host, beside its programs.
    pub(super) readable: Vec<PathBuf>,
    /// Where the gate is root.
    pub(super) uids: Option<Uids>,
    pub(super) cgroups: Option<Cgroups>,
    pub(super) egress: Option<Arc<dyn Egress>>,
    pub(super) nursery: Nursery,
    /// All places of runs are below it.
    pub(super) data_dir: PathBuf,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct LocalTier {
    pub(super) tier: IsolationTier,
    pub(super) host: Arc<Host>,
    pub(super) workspace: WorkspaceKind,
    /// What the self-test has seen.
    pub(super) landlock_abi: Option<u32>,
}

impl LocalTier {
    fn is_namespace(&self) -> bool {
        self.tier == IsolationTier::Namespace
    }

    fn has_own_user(&self) -> bool {
        self.tier != IsolationTier::Process && self.host.uids.is_some()
    }

    fn memory_bound(&self) -> MemoryBound {
        self.host.cgroups.as_ref().map_or(MemoryBound::Watched, Cgroups::kind)
    }

    fn known_gaps(&self) -> Vec<String> {
        let mut gaps = vec!["the kernel of the host is shared"];
        match self.tier {
            IsolationTier::Process => {
                gaps.push("nothing of the host is hidden, and commands have the gate's user");
            }
            IsolationTier::Landlock => gaps.extend([
                "no loopback: tests that use 127.0.0.1 fail",
                "/tmp of the host is closed; programs must use TMPDIR",
                "the host's processes can be seen, with their words",
                "of files that cannot be read, names, sizes, and times can be seen",
                "a full disk is noticed a second late",
                "no System V IPC and no message queues",
            ]),
            IsolationTier::Namespace | IsolationTier::Container => {}
        }
        if self.tier == IsolationTier::Landlock && !self.has_own_user() {
            gaps.push("no /dev/shm: semaphores that processes share cannot be made");
            gaps.push("no sockets but pairs, not even with a path");
        } else if self.tier == IsolationTier::Landlock {
            gaps.push("sockets with a path, and /dev/shm, are fenced by file permissions only");
        }
        if self.workspace == WorkspaceKind::Overlay && !self.has_own_user() {
            gaps.push("a directory of the tree cannot be renamed, only copied (EXDEV)");
        }
        if self.is_namespace() {
            gaps.push("memory that processes share is counted ten times a second");
        }
        if self.host.cgroups.is_none() {
            gaps.push("memory of all processes together is counted ten times a second");
            gaps.push("no memfd_create: memory that no process maps could not be counted");
            if !self.has_own_user() && !self.is_namespace() {
                gaps.push("so are processes; a command that is seen at twice its limit is ended");
            }
        }
        gaps.into_iter().map(str::to_owned).collect()
    }

    /// Takes a user, copies the tree where that is to be, and puts up the walls.
    fn open_now(self, room: OwnRoom) -> Result<LocalSandbox, SandboxError> {
        let uid = self.host.uids.filter(|_| self.has_own_user()).map(Uids::take).transpose();
        let uid = uid.map_err(|it| self.failed("taking a user", it))?;
        let number = uid.as_ref().map(|it| it.number);
        self.copy(&room, number).map_err(|it| self.failed("copying the workspace", it))?;
        self.put_up(room, uid)
    }

    /// On a place that is ready.
    fn put_up(self, room: OwnRoom, uid: Option<Uid>) -> Result<LocalSandbox, SandboxError> {
        let way = self.way_out(&room).map_err(|it| self.failed("listening for the proxy", it))?;
        let set_up = self.set_up(&room, uid.as_ref(), way.as_ref())?;
        let cgroup = self.cgroup(room.limits).map_err(|it| self.failed("making a cgroup", it))?;
        let mut init =
            Init::fork(&self.host.nursery, &set_up, cgroup).map_err(|it| failed(self.tier, it))?;
        let proxy = match way {
            Some(way) => self.serve(way, &mut init)?,
            None => None,
        };
        Ok(LocalSandbox {
            root: set_up.directory,
            landlock_abi: init.ready.landlock_abi,
            init: Some(init),
            uid,
            proxy: Guard(proxy),
            room,
            tier: self,
        })
    }

    fn set_up(
        &self,
        room: &OwnRoom,
        uid: Option<&Uid>,
        way: Option<&WayOut>,
    ) -> Result<SetUp, SandboxError> {
        let (root, home, temporary) = self.places(room);
        let mut own: Vec<(&str, OsString)> =
            vec![("HOME", home.into()), ("TMPDIR", temporary.into())];
        own.extend(way.into_iter().flat_map(|it| proxy_variables(it.port)));
        Ok(SetUp {
            walls: self.walls(room, way.map(|it| it.port)),
            uid: uid.map(|it| it.number),
            directory: root,
            variables: self.host.profile.variables(&room.variables, &own),
            bounds: self.bounds(room).map_err(|it| self.failed("counting processes", it))?,
        })
    }

    /// Where commands will find the gate's proxy, if they may go out and there is one.
    fn way_out(&self, room: &OwnRoom) -> io::Result<Option<WayOut>> {
        let may = room.network == NetworkAccess::Full && self.tier != IsolationTier::Process;
        if !may || self.host.egress.is_none() {
            return Ok(None);
        }
        if self.is_namespace() {
            return Ok(Some(WayOut { port: PROXY_PORT, listener: None }));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        Ok(Some(WayOut { port, listener: Some(listener) }))
    }

    fn serve(&self, way: WayOut, init: &mut Init) -> Result<Option<Box<dyn Send>>, SandboxError> {
        let listener = way.listener.or_else(|| init.proxy.take());
        let served = self.host.egress.as_ref().zip(listener).map(|(it, at)| it.serve(at));
        served.transpose().map_err(|it| self.failed("serving the proxy", it))
    }

    fn failed(&self, stage: &'static str, source: io::Error) -> SandboxError {
        SandboxError::Failed { tier: self.tier, stage, source }
    }
}

#[async_trait]
impl SandboxTier for LocalTier {
    fn tier(&self) -> IsolationTier {
        self.tier
    }

    fn keeps_layers(&self) -> bool {
        self.is_namespace() && self.workspace == WorkspaceKind::Overlay
    }

    fn isolation(&self, limits: RunLimits) -> Isolation {
        let uid = self.host.uids.filter(|_| self.has_own_user());
        Isolation {
            tier: self.tier,
            kernel_uid: uid.map_or_else(|| getuid().as_raw(), |it| it.0),
            landlock_abi: self.landlock_abi,
            loopback: self.tier != IsolationTier::Landlock,
            memory_bound: self.memory_bound(),
            workspace: self.workspace,
            setup: SetupUse::None,
            limits,
            known_gaps: self.known_gaps(),
        }
    }

    async fn open(
        &self,
        room: &Room<'_>,
        cancel: &CancellationToken,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        if cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        let (tier, room) = (self.clone(), OwnRoom::from(room));
        // A copy of a large tree takes seconds; everything else a few milliseconds.
        let opened = spawn_blocking(move || tier.open_now(room)).await;
        let opened = opened.map_err(|it| self.failed("a thread of the gate", io::Error::other(it)));
        opened.and_then(|it| it).map(|it| Box::new(it) as Box<dyn Sandbox>)
    }
}
