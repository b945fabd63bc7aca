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
mod running;

use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use gate_core::{
    Chain, Isolation, IsolationTier, MemoryBound, NetworkAccess, RunLimits, SetupUse, WorkspaceKind,
};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use self::engine::{Engine, LABEL};
use self::image::Image;
use self::program::InitWords;
use self::running::{Line, Running, kernel_uid};
use super::outcome::{ended, failed};
use super::room::OwnRoom;
use super::uids::{Uid, Uids};
use super::way_out::{Guard, proxy_variables};
use super::{Egress, Ended, Job, Room, Sandbox, SandboxError, SandboxTier};
use crate::attend::{self, AttendError, Init, Task};
use crate::init;
use crate::limits::{
    CONTAINER_BASE, CONTAINER_DISK, CONTAINER_INIT, CONTAINER_LINE, CONTAINER_SHARED_MEMORY_BYTES,
    CONTAINER_SIDE_DISK_BYTES, PROXY_PORT,
};
use crate::wire::{Bounds, ContainerWalls, SetUp, Walls};
use crate::workspace::{Ground, Plot};

/// The workspace, as commands see it.
const CONTAINER_WORKSPACE: &str = "/gate/workspace";
const TIER: IsolationTier = IsolationTier::Container;
/// The image of the self-test: nothing of it is ever executed.
pub(super) const EMPTY_IMAGE: &str = "donegate-self-test:1";
/// What laying out the workspace, becoming the user of commands, and ending them takes. No command has any of it.
const CAPABILITIES: [&str; 6] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];
/// Processes of the init itself, which the engine counts.
const OWN_PROCESSES: u64 = 3;
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
    engine_bounds: bool,
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
        let words = self.words(&name, room, &image, line.directory())?;
        let started = Running::start(&self.0.engine, name, &words, line, cancelled);
        let (running, line, pid) = started.map_err(|it| stage("starting the container", it))?;
        let proxy = room.network == NetworkAccess::Full && self.0.egress.is_some();
        let set_up = set_up(room, &image, &uid, proxy);
        let mut init =
            Init::over(line, Box::new(running), &set_up, None).map_err(|it| failed(TIER, it))?;
        let seen = Seen {
            kernel_uid: kernel_uid(pid, uid.number),
            landlock_abi: init.ready.landlock_abi,
            engine_bounds: init.ready.engine_bounds,
        };
        self.0.seen.get_or_init(|| seen);
        let guard = self.serve(init.proxy.take())?;
        let network = room.network;
        Ok(ContainerSandbox { init: Some(init), _uid: uid, seen, network, guard })
    }

    fn serve(&self, listener: Option<TcpListener>) -> Result<Guard, SandboxError> {
        let served = self.0.egress.as_ref().zip(listener).map(|(it, at)| it.serve(at));
        served.transpose().map(Guard).map_err(|it| stage("serving the proxy", it))
    }

    /// Asks the engine for one container. No value of a variable is among the words.
    fn words(
        &self,
        name: &str,
        room: &OwnRoom,
        image: &Image,
        line: &Path,
    ) -> Result<Vec<OsString>, SandboxError> {
        let limits = room.limits;
        let mut words = plain(&["run", "--detach", "--rm", "--pull", "never", "--name", name]);
        let mut add = |more: &[&str]| words.extend(plain(more));
        add(&["--label", &format!("{LABEL}=1"), "--log-driver", "none", "--no-healthcheck"]);
        add(&["--network", "none", "--hostname", "donegate", "--ipc", "private"]);
        add(&["--read-only", "--user", "0:0", "--workdir", "/", "--stop-timeout", "0"]);
        add(&["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]);
        add(&["--cap-drop", "all"]);
        for capability in CAPABILITIES {
            add(&["--cap-add", capability]);
        }
        // What is written is in memory too; its own limits bound it, and the init watches the rest.
        let side = 3 * CONTAINER_SIDE_DISK_BYTES + CONTAINER_SHARED_MEMORY_BYTES;
        let memory = (limits.memory_bytes() + limits.disk_bytes() + side).to_string();
        add(&["--memory", &memory, "--memory-swap", &memory]);
        add(&["--pids-limit", &(u64::from(limits.processes) + OWN_PROCESSES).to_string()]);
        add(&["--shm-size", &CONTAINER_SHARED_MEMORY_BYTES.to_string()]);
        let entries = (!self.0.engine.is_podman).then(|| limits.disk_entries());
        add(&["--tmpfs", &disk(CONTAINER_DISK, "755", limits.disk_bytes(), entries)]);
        for (directory, mode) in [("/tmp", "1777"), ("/var/tmp", "1777"), ("/run", "1777")] {
            add(&["--tmpfs", &disk(directory, mode, CONTAINER_SIDE_DISK_BYTES, entries)]);
        }
        if self.0.engine.is_podman {
            add(&["--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false"]);
        }
        for name in image.misleading() {
            add(&["--env", &format!("{name}=")]);
        }
        let (program, base) = (self.0.program.path(), &room.base);
        for (from, to) in
            [(program, CONTAINER_INIT), (line, CONTAINER_LINE), (base, CONTAINER_BASE)]
        {
            words.extend(["--mount".into(), bind(from, to)?]);
        }
        let InitWords { entrypoint, arguments } = &self.0.init;
        words.extend(plain(&["--entrypoint", entrypoint, &image.id]));
        words.extend(arguments.iter().map(OsString::from));
        words.extend(plain(&[init::SUBCOMMAND, &format!("{CONTAINER_LINE}/{}", running::SOCKET)]));
        Ok(words)
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
            gaps.push("how many files are written is bounded by memory only".to_owned());
        } else if seen.is_some_and(|it| it.landlock_abi.is_none()) {
            gaps.push(
                "volumes that an image asks for can be written, on the host's disk".to_owned(),
            );
        }
        if seen.is_some_and(|it| !it.engine_bounds) {
            gaps.push(
                "the engine bounds no memory here; the init counts it ten times a second"
                    .to_owned(),
            );
        }
        gaps
    }
}

fn plain(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn disk(at: &str, mode: &str, bytes: u64, entries: Option<u64>) -> String {
    let entries = entries.map_or_else(String::new, |it| format!(",nr_inodes={it}"));
    format!("{at}:rw,exec,nosuid,nodev,mode={mode},size={bytes}{entries}")
}

/// Engines read this as fields between commas.
fn bind(from: &Path, to: &str) -> Result<OsString, SandboxError> {
    let Some(from) = from.to_str().filter(|it| !it.contains([',', '"'])) else {
        let error = format!("the engine cannot be given the path {}", from.display());
        return Err(stage("laying in the gate's files", io::Error::other(error)));
    };
    Ok(format!("type=bind,source={from},target={to},readonly").into())
}

fn set_up(room: &OwnRoom, image: &Image, uid: &Uid, proxy: bool) -> SetUp {
    let below = |name: &str| OsString::from(format!("{CONTAINER_DISK}/{name}"));
    let mut own = vec![("HOME", below("home")), ("TMPDIR", below("tmp")), ("USER", "gate".into())];
    own.extend(proxy.then_some(PROXY_PORT).into_iter().flat_map(proxy_variables));
    let limits = room.limits;
    SetUp {
        walls: Walls::Container(ContainerWalls { proxy }),
        uid: Some(uid.number),
        directory: CONTAINER_WORKSPACE.into(),
        variables: image.environment(&room.variables, own),
        bounds: Bounds {
            memory_bytes: Some(limits.memory_bytes()),
            // The init sees whether it is so.
            memory_in_cgroup: false,
            processes_max: Some(limits.processes.into()),
            processes_of_user: Some(u64::from(limits.processes) + OWN_PROCESSES),
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
        let bounded = seen.is_some_and(|it| it.engine_bounds);
        Isolation {
            tier: TIER,
            kernel_uid: seen.map_or(self.0.uids.0, |it| it.kernel_uid),
            landlock_abi: seen.and_then(|it| it.landlock_abi),
            loopback: true,
            memory_bound: if bounded { MemoryBound::Engine } else { MemoryBound::Watched },
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

/// The commands of one run.
#[derive(Debug)]
struct ContainerSandbox {
    /// Away while a command runs.
    init: Option<Init>,
    /// Held until the container is gone.
    _uid: Uid,
    seen: Seen,
    network: NetworkAccess,
    guard: Guard,
}

#[async_trait]
impl Sandbox for ContainerSandbox {
    fn root(&self) -> &Path {
        Path::new(CONTAINER_WORKSPACE)
    }

    fn kernel_uid(&self) -> u32 {
        self.seen.kernel_uid
    }

    fn landlock_abi(&self) -> Option<u32> {
        self.seen.landlock_abi
    }

    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let lost = |it: io::Error| stage("running the command", it);
        let task = Task {
            words: job.command.to_words().into_iter().map(Into::into).collect(),
            time: job.time_limit,
            output_bytes: job.output_bytes_max,
            logs: Some(job.logs.clone()),
            disk: None,
        };
        let mut init =
            self.init.take().ok_or_else(|| lost(io::Error::other("its init is gone")))?;
        let work = move |cancelled: &PipeReader| {
            let finished = init.run(&task, cancelled);
            (init, finished)
        };
        let (init, finished) = attend::with_thread(work, cancel).await.map_err(lost)?;
        self.init = Some(init);
        ended(finished.map_err(|it| failed(TIER, it))?, job, TIER)
    }

    async fn with_network(
        mut self: Box<Self>,
        network: NetworkAccess,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        match (self.network, network) {
            (NetworkAccess::None, NetworkAccess::Full) => {
                let why = "a container that was started without a way out gets none later; let `setup` have `network: full` as well";
                return Err(stage("opening the network", why));
            }
            // The listener was the only way out.
            (NetworkAccess::Full, NetworkAccess::None) => self.guard = Guard(None),
            (NetworkAccess::None, NetworkAccess::None)
            | (NetworkAccess::Full, NetworkAccess::Full) => {}
        }
        self.network = network;
        Ok(self)
    }

    async fn close(mut self: Box<Self>) -> Result<(), SandboxError> {
        let Some(init) = self.init.take() else { return Ok(()) };
        let closed = spawn_blocking(move || init.close()).await;
        let closed = closed.map_err(|it| AttendError::System {
            stage: "taking the sandbox down",
            source: io::Error::other(it),
        });
        closed.flatten().map_err(|it| failed(TIER, it))
    }
}
