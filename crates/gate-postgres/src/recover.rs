//! Ends what an earlier server left behind, and only then removes its marks.
//!
//! Every process of a server has the cluster as its working directory; that is how they are found. The pid file is never
//! removed while one of them lives, for it also guards the shared memory.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tracing::info;

use crate::PostgresError;
use crate::postmaster::{self, PORT};

/// How long each step may take. After `kill -9` of a gate the kernel has already told its server to stop.
const STEPS: &[(Option<Signal>, Duration)] = &[
    (None, Duration::from_secs(3)),
    (Some(Signal::INT), Duration::from_secs(10)),
    (Some(Signal::QUIT), Duration::from_secs(5)),
    (Some(Signal::KILL), Duration::from_secs(5)),
];

const POLL: Duration = Duration::from_millis(20);

/// Waits for the server processes of this cluster, ends them if they stay, and removes pid file and sockets.
pub(crate) fn end_leftovers(cluster: &Path, socket_dir: &Path) -> Result<(), PostgresError> {
    end_processes(cluster)?;
    let socket = format!(".s.PGSQL.{PORT}");
    let marks = [
        cluster.join("postmaster.pid"),
        socket_dir.join(&socket),
        socket_dir.join(format!("{socket}.lock")),
    ];
    marks.iter().try_for_each(|path| match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(PostgresError::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    })
}

/// Waits for the server processes that work in this directory, and ends them if they stay.
pub(crate) fn end_processes(cluster: &Path) -> Result<(), PostgresError> {
    for (signal, patience) in STEPS {
        let left = server_processes(cluster);
        if left.is_empty() {
            return Ok(());
        }
        if let Some(signal) = signal {
            info!(pids = ?left, signal = ?signal, "an earlier PostgreSQL server is ended");
        }
        if wait_until_gone(cluster, *signal, Instant::now() + *patience) {
            return Ok(());
        }
    }
    let pids =
        server_processes(cluster).into_iter().map(|pid| pid.as_raw_nonzero().get()).collect();
    Err(PostgresError::LeftOver { path: cluster.to_path_buf(), pids })
}

/// The processes named `postgres`, zombies apart, whose working directory is `cluster`.
pub(crate) fn server_processes(cluster: &Path) -> Vec<Pid> {
    let numbers = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| is_server(*pid, cluster)).filter_map(Pid::from_raw).collect()
}

fn is_server(pid: i32, cluster: &Path) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let there = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == cluster);
    // A shell that an operator left standing there is none of ours.
    let named =
        || fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == "postgres");
    there && named() && !is_zombie(&process)
}

fn is_zombie(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // The name in parentheses may hold anything, so the state is looked for behind the last one.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

fn wait_until_gone(cluster: &Path, signal: Option<Signal>, deadline: Instant) -> bool {
    let mut told = Vec::new();
    loop {
        let left = server_processes(cluster);
        if left.is_empty() {
            return true;
        }
        if let Some(signal) = signal {
            for pid in &left {
                if !told.contains(pid) {
                    postmaster::tell(*pid, signal);
                    told.push(*pid);
                }
            }
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(POLL);
    }
}
