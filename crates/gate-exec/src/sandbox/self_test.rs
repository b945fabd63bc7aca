//! Proves a tier on this machine, through the code path of a real run: what it promises is tried.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gate_core::{Chain, CommandLine, IsolationTier, NetworkAccess, Outcome, RunLimits};
use rustix::process::getpid;
use tokio_util::sync::CancellationToken;

use super::{Job, Room, SandboxTier};
use crate::logs::LogPlace;
use crate::probe::{self, Seen, Targets};

/// Enough for a slow machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the probe, which is this very executable, is run.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// Its words; `None`: it is laid into the workspace.
    pub(super) program: Option<Vec<String>>,
    pub(super) image: Option<&'static str>,
}

/// Tells the version of Landlock that fenced the probe.
///
/// # Errors
/// In words: what could not be set up, or which promise is not kept.
pub(super) async fn prove(
    tier: &dyn SandboxTier,
    scratch: &Path,
    probe: &Probe,
) -> Result<Option<u32>, String> {
    let stage = Stage::set(scratch, probe).map_err(|it| format!("the self-test: {it}"))?;
    let (seen, stragglers, landlock_abi) = stage.run(tier, probe).await?;
    let mut broken = broken_promises(tier, &seen);
    if tier.tier() != IsolationTier::Process && stage.targets.outside.exists() {
        broken.push("wrote to a directory of the gate");
    }
    if stragglers == 0 {
        broken.push("left a process behind that was not seen");
    }
    if broken.is_empty() {
        Ok(landlock_abi)
    } else {
        Err(format!("a command {}", broken.join(", ")))
    }
}

fn broken_promises(tier: &dyn SandboxTier, seen: &Seen) -> Vec<&'static str> {
    let mut broken = Vec::new();
    let mut never = |did: bool, what| broken.extend(did.then_some(what));
    never(!seen.wrote_workspace, "could not write to its workspace");
    if tier.tier() == IsolationTier::Process {
        return broken;
    }
    never(seen.read_secret, "read a file of the gate");
    never(seen.wrote_outside, "wrote to a directory of the gate");
    never(seen.reached_port, "reached a port of the gate");
    never(seen.reached_abstract_socket, "reached an abstract socket of the gate");
    never(seen.reached_socket, "reached a socket of the gate");
    never(seen.signalled_gate, "could send signals to the gate");
    never(seen.read_gate_environment, "read the gate's environment");
    never(seen.made_vsock, "made a socket that leads to the hypervisor");
    never(seen.entered_namespace, "entered a namespace");
    let loopback = tier.isolation(RunLimits::default()).loopback;
    never(seen.used_loopback != loopback, "found another loopback than it is told");
    never(seen.uid == 0, "was root");
    broken
}

/// What there is of the gate, for the probe to reach.
struct Stage {
    home: PathBuf,
    targets: Targets,
    _listeners: (TcpListener, UnixListener, UnixListener),
}

impl Stage {
    fn set(scratch: &Path, probe: &Probe) -> io::Result<Self> {
        let home = scratch.to_owned();
        let base = home.join("base");
        for name in ["base/workspace", "base/home", "place", "logs", "closed"] {
            fs::create_dir_all(home.join(name))?;
        }
        if probe.program.is_none() {
            lay_out_program(&base.join("workspace/probe"))?;
        }
        fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o700))?;
        let secret = home.join("secret");
        fs::write(&secret, "a secret of the gate")?;
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
        let socket = home.join("closed/socket");
        let abstract_name =
            format!("donegate-self-test-{}-{}", getpid().as_raw_nonzero(), home.display());
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddr::from_abstract_name(&abstract_name)?;
        let targets = Targets {
            secret,
            outside: home.join("closed/outside"),
            port: port.local_addr()?.port(),
            abstract_name,
            socket: socket.clone(),
            gate: getpid().as_raw_nonzero().get(),
        };
        let listeners = (port, UnixListener::bind_addr(&address)?, UnixListener::bind(socket)?);
        Ok(Self { home, targets, _listeners: listeners })
    }

    async fn run(
        &self,
        tier: &dyn SandboxTier,
        probe: &Probe,
    ) -> Result<(Seen, u32, Option<u32>), String> {
        let targets = serde_json::to_string(&self.targets).map_err(|it| it.to_string())?;
        let program = probe.program.clone().unwrap_or_else(|| vec!["./probe".to_owned()]);
        let words = program.into_iter().chain([probe::SUBCOMMAND.to_owned(), targets]).collect();
        let command = CommandLine::parse(words).map_err(|it| it.to_string())?;
        let room = Room {
            base: &self.home.join("base"),
            layer: None,
            keep: None,
            place: &self.home.join("place"),
            limits: RunLimits::default(),
            network: NetworkAccess::None,
            variables: &BTreeMap::new(),
            image: probe.image,
        };
        let cancel = CancellationToken::new();
        let told = |it| Chain(&it).to_string();
        let mut sandbox = tier.open(&room, &cancel).await.map_err(told)?;
        let landlock_abi = sandbox.landlock_abi();
        let job = Job {
            command: &command,
            time_limit: PATIENCE,
            output_bytes_max: 64 * 1024,
            limits: RunLimits::default(),
            logs: LogPlace {
                directory: self.home.join("logs"),
                stem: tier.tier().as_str().to_owned(),
            },
        };
        let ended = sandbox.run(&job, &cancel).await.map_err(told)?;
        sandbox.close().await.map_err(told)?;
        let said = String::from_utf8_lossy(&ended.merged.head).into_owned();
        if ended.outcome != (Outcome::Exited { code: 0 }) {
            return Err(format!("the probe ended with {:?}: {said}", ended.outcome));
        }
        let seen =
            serde_json::from_str(&said).map_err(|it| format!("the probe said {said:?}: {it}"))?;
        Ok((seen, ended.stragglers_killed, landlock_abi))
    }
}

fn lay_out_program(program: &Path) -> io::Result<()> {
    let executable = fs::read_link("/proc/self/exe")?;
    if fs::hard_link(&executable, program).is_err() {
        fs::copy("/proc/self/exe", program)?;
        fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
