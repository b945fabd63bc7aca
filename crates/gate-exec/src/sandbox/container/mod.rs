//! The tier `container`: the image that a contract names, run by `podman` or `docker`.
//!
//! A run has one container. Its first process is the gate's own init, which is laid into the image
//! with its loader and libraries, so that commands are started, watched, and ended there as in every
//! other tier, and their output does not pass through the engine. The container has no network but a
//! loopback; the way out is a listener of the init, which the gate's proxy serves from outside. All
//! that commands write is in memory, and is gone with the container.

mod engine;
mod image;
mod name;
mod program;
mod request;
mod running;
mod sandbox;

use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use gate_core::{
    Chain, Isolation, IsolationTier, MemoryBound, NetworkAccess, RunLimits, SetupUse, WorkspaceKind,
};
use tokio_util::sync::CancellationToken;

use self::engine::Engine;
use self::image::Image;
use self::program::InitWords;
use self::request::Request;
use self::running::{Line, Running, kernel_uid};
use self::sandbox::ContainerSandbox;
use super::outcome::failed;
use super::room::OwnRoom;
use super::uids::{Uid, Uids};
use super::way_out::{Guard, proxy_variables};
use super::{Egress, Room, Sandbox, SandboxError, SandboxTier};
use crate::attend::{self, Init};
use crate::limits::{CONTAINER_DISK, CONTAINER_SIDE_DISK_BYTES, PROXY_PORT};
use crate::wire::{Bounds, ContainerWalls, SetUp, Walls};
use crate::workspace::{Ground, Plot};

/// The workspace, as commands see it.
const CONTAINER_WORKSPACE: &str = "/gate/workspace";
const TIER: IsolationTier = IsolationTier::Container;
/// The image of the self-test: nothing of it is ever executed.
pub(super) const EMPTY_IMAGE: &str = "donegate-self-test:1";
/// Where users of commands begin, if the gate is no root and the engine maps users.
const UID_BASE: u32 = 61_000;

/// What the operator says, and where the gate keeps its files.
#[derive(Debug, Clone)]
pub(super) struct ContainerSettings<'a> {
    pub(super) engine: Option<&'a Path>,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) uids: Option<Uids>,
    pub(super) egress: Option<Arc<dyn Egress>>,
    pub(super) data_dir: &'a Path,
}

/// An engine that answers.
#[derive(Debug, Clone)]
pub(super) struct ContainerTier(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    engine: Arc<Engine>,
    uids: Uids,
    egress: Option<Arc<dyn Egress>>,
    /// Where the init and its libraries are, for as long as this lives.
    program: Plot,
    /// By which a container starts the init.
    init: InitWords,
    /// What the first container told, which is that of the self-test.
    seen: OnceLock<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    kernel_uid: u32,
    landlock_abi: Option<u32>,
}

impl ContainerTier {
    /// Finds an engine, and removes what dead gates left in it. Blocks.
    ///
    /// # Errors
    /// In words: why there is none.
    pub(super) fn find(settings: &ContainerSettings<'_>) -> Result<Self, String> {
        let engine = Engine::find(settings.engine, settings.environment)?;
        engine.sweep().map_err(|it| Chain(&it).to_string())?;
        let told = |it: io::Error| format!("laying out the init: {it}");
        let ground = Ground::take(&settings.data_dir.join("containers")).map_err(told)?;
        let program = Arc::new(ground).plot().map_err(told)?;
        let init = program::lay_in(program.path()).map_err(told)?;
        Ok(Self(Arc::new(Parts {
            engine: Arc::new(engine),
            uids: settings.uids.unwrap_or(Uids(UID_BASE)),
            egress: settings.egress.clone(),
            program,
            init,
            seen: OnceLock::new(),
        })))
    }

    /// Makes sure that the engine has the image of the self-test. Blocks.
    pub(super) fn have_empty_image(&self, scratch: &Path) -> Result<(), String> {
        Image::empty(&self.0.engine, EMPTY_IMAGE, scratch).map(drop)
    }

    /// The words by which this executable is run in a container, whatever its image.
    pub(super) fn own_program(&self) -> Vec<String> {
        let InitWords { entrypoint, arguments } = self.0.init.clone();
        std::iter::once(entrypoint).chain(arguments).collect()
    }

    fn open_now(
        &self,
        room: &OwnRoom,
        image: &str,
        cancelled: &PipeReader,
    ) -> Result<ContainerSandbox, SandboxError> {
        let image = Image::have(&self.0.engine, image, cancelled)
            .map_err(|it| stage("getting the image", it))?;
        let uid = self.0.uids.take().map_err(|it| stage("taking a user", it))?;
        let line = Line::listen(room.place.join("line"))
            .map_err(|it| stage("listening for the container", it))?;
        let name = name::new();
        let request = Request {
            is_podman: self.0.engine.is_podman,
            name: &name,
            image: &image,
            limits: room.limits,
            init: &self.0.init,
            program: self.0.program.path(),
            line: line.directory(),
            base: &room.base,
        };
        let proxy = room.network == NetworkAccess::Full && self.0.egress.is_some();
        let walls = request.walls_of_init(proxy);
        let words = request.words().map_err(|it| stage("laying in the gate's files", it))?;
        let started = Running::start(&self.0.engine, name, &words, line, cancelled);
        let (running, line, pid) = started.map_err(|it| stage("starting the container", it))?;
        let set_up = set_up(room, &image, &uid, walls);
        let mut init =
            Init::over(line, Box::new(running), &set_up, None).map_err(|it| failed(TIER, it))?;
        let seen =
            Seen { kernel_uid: kernel_uid(pid, uid.number), landlock_abi: init.ready.landlock_abi };
        self.0.seen.get_or_init(|| seen);
        let guard = self.serve(init.proxy.take())?;
        let network = room.network;
        Ok(ContainerSandbox { init: Some(init), uid: Some(uid), seen, network, guard })
    }

    fn serve(&self, listener: Option<TcpListener>) -> Result<Guard, SandboxError> {
        let served = self.0.egress.as_ref().zip(listener).map(|(it, at)| it.serve(at));
        served.transpose().map(Guard).map_err(|it| stage("serving the proxy", it))
    }

    fn known_gaps(&self) -> Vec<String> {
        let seen = self.0.seen.get();
        let mut gaps = vec![
            "the kernel of the host is shared".to_owned(),
            "a run whose setup has no network cannot have one for its checks".to_owned(),
            format!(
                "/tmp, /var/tmp, and /run hold {} MiB each, beside the disk of the run; TMPDIR is on that disk",
                CONTAINER_SIDE_DISK_BYTES >> 20
            ),
            "the user of commands has no name in the image's /etc/passwd".to_owned(),
        ];
        if self.0.engine.is_podman {
            gaps.push("how many files are written is counted ten times a second".to_owned());
        } else if seen.is_some_and(|it| it.landlock_abi.is_none()) {
            gaps.push(
                "volumes that an image asks for can be written, on the host's disk".to_owned(),
            );
        }
        gaps
    }
}

fn set_up(room: &OwnRoom, image: &Image, uid: &Uid, walls: ContainerWalls) -> SetUp {
    let below = |name: &str| OsString::from(format!("{CONTAINER_DISK}/{name}"));
    let mut own = vec![("HOME", below("home")), ("TMPDIR", below("tmp")), ("USER", "gate".into())];
    own.extend(walls.proxy.then_some(PROXY_PORT).into_iter().flat_map(proxy_variables));
    let limits = room.limits;
    SetUp {
        walls: Walls::Container(walls),
        uid: Some(uid.number),
        directory: CONTAINER_WORKSPACE.into(),
        variables: image.environment(&room.variables, own),
        bounds: Bounds {
            memory_bytes: Some(limits.memory_bytes()),
            // The init makes sure that it is so.
            memory_in_cgroup: true,
            processes_max: Some(limits.processes.into()),
            processes_of_user: None,
            open_files: Some(limits.open_files.into()),
            cpu_ms: Some(u64::from(limits.cpu_seconds) * 1000),
            disk_bytes: limits.disk_bytes(),
            disk_entries: limits.disk_entries(),
            file_bytes: None,
        },
    }
}

fn stage<E>(stage: &'static str, error: E) -> SandboxError
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    SandboxError::Failed { tier: TIER, stage, source: io::Error::other(error) }
}

#[async_trait]
impl SandboxTier for ContainerTier {
    fn tier(&self) -> IsolationTier {
        TIER
    }

    fn keeps_layers(&self) -> bool {
        false
    }

    fn isolation(&self, limits: RunLimits) -> Isolation {
        let seen = self.0.seen.get();
        Isolation {
            tier: TIER,
            kernel_uid: seen.map_or(self.0.uids.0, |it| it.kernel_uid),
            landlock_abi: seen.and_then(|it| it.landlock_abi),
            loopback: true,
            memory_bound: MemoryBound::Engine,
            workspace: WorkspaceKind::Copy,
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
        let Some(image) = room.image.map(str::to_owned) else {
            return Err(stage("getting the image", "the contract names none"));
        };
        let (tier, room) = (self.clone(), OwnRoom::from(room));
        let work = move |cancelled: &PipeReader| tier.open_now(&room, &image, cancelled);
        let opened = attend::with_thread(work, cancel).await;
        match opened.map_err(|it| stage("a thread of the gate", it)).flatten() {
            Ok(sandbox) => Ok(Box::new(sandbox)),
            Err(_) if cancel.is_cancelled() => Err(SandboxError::Cancelled),
            Err(error) => Err(error),
        }
    }
}
