//! The gate's machine, as hostile commands would like to have it: what they may try to reach, and whether it is untouched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, getpid, waitpid};

use crate::fixture::{temporary_mounts, text};

/// A variable of the gate that no command may see.
pub(super) const SECRET: (&str, &str) = ("GATE_EXEC_TEST_SECRET", "only the gate knows");
/// Where commands find their programs: of the system, and none of the user's own.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Directories in which nothing may appear or disappear.
const WATCHED: [&str; 5] = ["/", "/etc", "/usr", "/usr/bin", "/bin"];
/// Files that stay as they are.
const KEPT: [&str; 4] = ["/etc/passwd", "/etc/hosts", "/etc/hostname", "/usr/bin/env"];

pub(super) struct Host {
    home: tempfile::TempDir,
    port: TcpListener,
    datagrams: UdpSocket,
    sockets: [UnixListener; 3],
    abstract_name: String,
    address: String,
    before: BTreeSet<String>,
}

impl Host {
    /// Sets up what there is to be reached.
    pub(super) fn set() -> Self {
        let home = tempfile::Builder::new().prefix("victim-").tempdir().unwrap();
        let open = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        };
        let victim = home.path().join("victim");
        fs::DirBuilder::new().mode(0o777).create(&victim).unwrap();
        fs::write(victim.join("kept"), "kept").unwrap();
        fs::write(victim.join("secret"), "secret").unwrap();
        fs::set_permissions(victim.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::DirBuilder::new().mode(0o700).create(home.path().join("closed")).unwrap();
        fs::DirBuilder::new().mode(0o755).create(home.path().join("open")).unwrap();
        let abstract_name = format!("gate-exec-test-{}", getpid());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = [
            UnixListener::bind(home.path().join("closed/socket")).unwrap(),
            UnixListener::bind(home.path().join("open/socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        open(&home.path().join("open/socket"));
        sockets.iter().for_each(|it| it.set_nonblocking(true).unwrap());
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        port.set_nonblocking(true).unwrap();
        let datagrams = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let mut host = Self {
            home,
            port,
            datagrams,
            sockets,
            abstract_name,
            address: own_address(),
            before: BTreeSet::new(),
        };
        host.before = host.look();
        host
    }

    fn victim(&self) -> PathBuf {
        self.home.path().join("victim")
    }

    /// What hostile commands are told of it.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let path = |it: &str| self.home.path().join(it).to_str().unwrap().to_owned();
        let pairs = [
            ("PORT", self.port.local_addr().unwrap().port().to_string()),
            ("UDP_PORT", self.datagrams.local_addr().unwrap().port().to_string()),
            ("HOST_ADDRESS", self.address.clone()),
            ("GATE_PID", getpid().to_string()),
            ("VICTIM", path("victim")),
            ("SOCKET", path("closed/socket")),
            ("OPEN_SOCKET", path("open/socket")),
            ("ABSTRACT", self.abstract_name.clone()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// What is not any more as it was, and who was reached.
    pub(super) fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        let now = self.look();
        found.extend(self.before.difference(&now).map(|it| format!("host: {it} is gone")));
        found.extend(now.difference(&self.before).map(|it| format!("host: {it} is new")));
        if let Ok((_, peer)) = self.port.accept() {
            found.push(format!("host: {peer} reached a port"));
        }
        if let Ok((_, peer)) = self.datagrams.recv_from(&mut [0; 16]) {
            found.push(format!("host: {peer} sent a datagram"));
        }
        if self.sockets.iter().any(|it| it.accept().is_ok()) {
            found.push("host: somebody reached a socket".to_owned());
        }
        let escaped = escaped();
        if !escaped.is_empty() {
            found.push(format!("host: got away from their init: {escaped:?}"));
        }
        found
    }

    fn look(&self) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for directory in WATCHED.map(PathBuf::from).into_iter().chain([self.victim()]) {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                seen.insert(entry.path().display().to_string());
            }
        }
        for file in KEPT.map(PathBuf::from).into_iter().chain([self.victim().join("kept")]) {
            if let Ok(it) = file.metadata() {
                let times = (it.mtime(), it.ctime(), it.ctime_nsec());
                seen.insert(format!("{} of {} bytes, {times:?}", file.display(), it.len()));
            }
        }
        seen.extend(temporary_mounts().into_iter().map(|it| format!("mount {it}")));
        seen
    }
}

/// The address by which this machine would speak to the world; nothing is sent.
fn own_address() -> String {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    let route = socket.connect(("192.0.2.1", 9)).and_then(|()| socket.local_addr());
    route.map_or_else(|_| "127.0.0.1".to_owned(), |it| it.ip().to_string())
}

pub(super) fn has_tool(tool: &str) -> bool {
    PATH.split(':').any(|it| Path::new(it).join(tool).is_file())
}

/// Children of this process: pid, state, and words.
pub(crate) fn children() -> Vec<String> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for pid in children.split_ascii_whitespace() {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state: String =
                stat.rsplit(") ").next().unwrap_or_default().chars().take(1).collect();
            found.push(format!("{pid} {state} {}", text(&words).replace('\0', " ")));
        }
    }
    found
}

/// What an engine leaves with whoever adopts orphans, when its containers are gone.
pub(super) fn reap_engines() {
    let give_up = Instant::now() + Duration::from_secs(10);
    loop {
        let pids = children().into_iter().filter_map(|it| it.split(' ').next()?.parse().ok());
        let is_engine = |it: &i32| {
            let name = fs::read_to_string(format!("/proc/{it}/comm")).unwrap_or_default();
            matches!(name.trim(), "conmon" | "podman" | "docker")
        };
        let engines: Vec<i32> = pids.filter(is_engine).collect();
        if engines.is_empty() || Instant::now() > give_up {
            return;
        }
        for pid in engines {
            waitpid(Pid::from_raw(pid), WaitOptions::NOHANG).ok();
        }
        std::thread::yield_now();
    }
}

/// Children that are no init of a tier that works beside this one: orphans that only we could adopt.
fn escaped() -> Vec<String> {
    let give_up = Instant::now() + Duration::from_secs(2);
    loop {
        let mut found = children();
        found.retain(|it| {
            let of_engine = it.contains("conmon") || it.contains("podman") || it.contains("docker");
            !it.contains("sandbox-init") && !it.contains(" Z ") && !of_engine
        });
        // Between its start and its first breath an init looks as its gate does.
        if found.is_empty() || Instant::now() > give_up {
            return found;
        }
        std::thread::yield_now();
    }
}
