//! What a command must never learn: secrets of the gate, and of another run that goes on beside it.
//!
//! The gate here is a process of its own, with secrets in its environment, its files, its memory,
//! and behind its sockets. In each tier two runs go on at once: a neighbour, with secrets of every
//! kind, and one that seeks. What it finds it prints.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gate_core::{IsolationTier, NetworkAccess, Outcome, RunLimits, WorkspaceSource};
use gate_exec::{Ended, Job, LogPlace, Room, SandboxTier, Workspace};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, geteuid, getpid, kill_process};
use tokio_util::sync::CancellationToken;

use crate::alone::{Alone, is_alone};
use crate::fixture::{Gate, files, found_tiers, has_program, marked, text};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const GATES: &str = "THE-SECRET-OF-the-gate";
const NEIGHBOURS: &str = "THE-SECRET-OF-the-neighbour";
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn no_secret_of_the_gate_or_of_another_run_can_be_had() {
    alone(Alone::new("secrets::gate"));
}

#[test]
fn no_secret_of_an_ordinary_users_gate_or_of_another_run_can_be_had() {
    if let Some(it) = Alone::as_user("secrets::gate") {
        alone(it);
    }
}

fn alone(it: Alone) {
    if has_program("python3") {
        it.with("GATE_EXEC_TEST_SECRET", GATES).with("PATH", SYSTEM_PATH).run();
    }
}

#[test]
fn gate() {
    if !is_alone() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for tier in found_tiers().await {
            let name = tier.tier().as_str();
            let (found, neighbour) = Pair::set().await.run(tier.as_ref()).await;
            println!("{name}: {:?}, {:?}", found.outcome, neighbour.outcome);
            let found = String::from_utf8_lossy(&found.merged.head).into_owned();
            let neighbours = text(&neighbour.merged.head);
            if tier.tier() == IsolationTier::Process {
                // Else it would prove nothing that nothing is found.
                check_that_it_finds(&found);
                continue;
            }
            assert_eq!(found, "", "{name}");
            assert!(neighbours.starts_with("done, with "), "{name}: {neighbours}");
            assert_eq!(neighbour.outcome, Outcome::Exited { code: 0 }, "{name}");
        }
    });
}

fn check_that_it_finds(found: &str) {
    let mut wanted = vec!["connected to ('127.0.0.1'", "listed ", "connected to /"];
    wanted.extend(["connected to \0", "found shared memory", "found semaphores"]);
    if geteuid().is_root() {
        wanted.push("bytes of /etc/shadow");
    }
    for it in wanted {
        assert!(found.contains(it), "{it:?} is not among {found}");
    }
}

/// Two workspaces of a gate, and what the gate has to hide.
struct Pair {
    gate: Gate,
    seeker: Workspace,
    neighbour: Workspace,
    port: TcpListener,
    sockets: [UnixListener; 2],
    abstract_name: String,
    _inherited: fs::File,
}

impl Pair {
    async fn set() -> Self {
        let gate = Gate::new();
        let of_seeker: WorkspaceSource = files(&[("seek.py", include_str!("seek.py"))]);
        let of_neighbour = files(&[
            ("neighbour.py", include_str!("neighbour.py")),
            ("the-neighbours-secret", NEIGHBOURS),
        ]);
        let seeker = gate.prepare(&of_seeker).await.unwrap();
        let neighbour = gate.prepare(&of_neighbour).await.unwrap();
        let secret = gate.home().join("secret");
        fs::write(&secret, GATES).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let closed = gate.home().join("closed");
        fs::DirBuilder::new().mode(0o700).create(&closed).unwrap();
        let abstract_name = format!("gate-exec-secret-{}", getpid());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = [
            UnixListener::bind(closed.join("socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        sockets.iter().for_each(|it| it.set_nonblocking(true).unwrap());
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        port.set_nonblocking(true).unwrap();
        // A descriptor that some library of the gate left open for its children.
        let inherited = fs::File::open(&secret).unwrap();
        rustix::io::fcntl_setfd(inherited.as_fd(), FdFlags::empty()).unwrap();
        Self { gate, seeker, neighbour, port, sockets, abstract_name, _inherited: inherited }
    }

    /// What the seeker printed, and what the neighbour has to say.
    async fn run(self, tier: &dyn SandboxTier) -> (Ended, Ended) {
        let variables = self.variables();
        let mark = format!("neighbour-{}-{}", getpid(), tier.tier().as_str());
        let mut of_neighbour = variables.clone();
        of_neighbour.insert("NEIGHBOURS_SECRET".to_owned(), NEIGHBOURS.to_owned());
        of_neighbour.insert("MARK".to_owned(), mark.clone());
        let neighbour = self.one(tier, &self.neighbour, "neighbour.py", &of_neighbour);
        let seeker = async {
            let ready = until_ready(&format!("MARK={mark}")).await;
            let found = self.one(tier, &self.seeker, "seek.py", &variables).await;
            kill_process(ready, Signal::TERM).unwrap();
            found
        };
        let (neighbour, seeker) = tokio::join!(neighbour, seeker);
        let is_process = tier.tier() == IsolationTier::Process;
        assert_eq!(self.port.accept().is_ok(), is_process, "the port was reached");
        assert!(is_process || self.sockets.iter().all(|it| it.accept().is_err()));
        let left = kept_by_kernel(&variables["IPC_KEY"]);
        assert!(is_process || left.is_empty(), "{} left {left:?}", tier.tier().as_str());
        self.seeker.dispose().await.unwrap();
        self.neighbour.dispose().await.unwrap();
        (seeker, neighbour)
    }

    async fn one(
        &self,
        tier: &dyn SandboxTier,
        workspace: &Workspace,
        script: &str,
        variables: &BTreeMap<String, String>,
    ) -> Ended {
        let room = Room {
            base: workspace.base(),
            layer: None,
            keep: None,
            place: workspace.place(),
            limits: RunLimits::default(),
            network: NetworkAccess::None,
            variables,
            image: None,
        };
        let cancel = CancellationToken::new();
        let mut sandbox = tier.open(&room, &cancel).await.unwrap();
        let job = Job {
            command: &gate_core::testing::command(&["python3", script]),
            time_limit: PATIENCE,
            output_bytes_max: 64 * 1024,
            limits: room.limits,
            logs: LogPlace { directory: self.gate.logs(), stem: script.to_owned() },
        };
        let ended = sandbox.run(&job, &cancel).await.unwrap();
        sandbox.close().await.unwrap();
        ended
    }

    fn variables(&self) -> BTreeMap<String, String> {
        let path = |it: &Path| it.to_str().unwrap().to_owned();
        let home = self.gate.home();
        let place = self.neighbour.place();
        let paths: Vec<String> = [
            home.join("secret"),
            self.neighbour.base().join("workspace/the-neighbours-secret"),
            place.join("run/workspace/the-neighbours-secret"),
            place.join("run/home/the-neighbours-secret"),
            place.join("run/tmp/the-neighbours-secret"),
            "/tmp/the-neighbours-secret".into(),
            "/dev/shm/the-neighbours-secret".into(),
        ]
        .iter()
        .map(|it: &PathBuf| path(it))
        .collect();
        // A port that is free now, and a key that nobody else has.
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let pairs = [
            ("GATE_PID", getpid().to_string()),
            ("PATHS", paths.join(":")),
            ("PORT", self.port.local_addr().unwrap().port().to_string()),
            ("SOCKET", path(&home.join("closed/socket"))),
            ("ABSTRACT", self.abstract_name.clone()),
            ("NEIGHBOURS_PORT", free.to_string()),
            ("NEIGHBOURS_ABSTRACT", format!("gate-exec-neighbour-{}", getpid())),
            ("IPC_KEY", (0x6761_0000 + getpid().as_raw_nonzero().get()).to_string()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// The neighbour's process, once it has set up all that it has.
async fn until_ready(mark: &str) -> Pid {
    let give_up = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < give_up, "the neighbour was not ready in time");
        for it in marked(mark) {
            let process = it.split(' ').next().unwrap();
            let name = fs::read_to_string(format!("{process}/comm")).unwrap_or_default();
            let pid = process.rsplit('/').next().unwrap().parse().unwrap();
            if name == "ready\n" {
                return Pid::from_raw(pid).unwrap();
            }
        }
        tokio::task::yield_now().await;
    }
}

/// What outlives every process: segments, semaphores, and queues with this key.
fn kept_by_kernel(key: &str) -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["shm", "sem", "msg"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let lines = table.lines().filter(|it| it.split_ascii_whitespace().next() == Some(key));
        found.extend(lines.map(|it| format!("{kind} {it}")));
    }
    found
}
