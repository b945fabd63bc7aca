//! How the server is told what to do, and how it says that it is ready.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use tracing::debug;

use crate::layout::Layout;

/// The name of the cluster's superuser and of its one database.
pub(crate) const NAME: &str = "donegate";

/// No TCP port is opened; the number is a part of the socket's name.
pub(crate) const PORT: u16 = 5432;

/// Line of `postmaster.pid` with the state of the server, counted from 0.
const STATUS_LINE: usize = 7;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Durability {
    /// What was committed survives a crash of the machine.
    Full,
    /// For tests: nothing waits for the disk.
    #[cfg(feature = "testing")]
    None,
}

/// The arguments of `postgres`. They win over everything that is written in the cluster's files.
pub(crate) fn arguments(
    layout: &Layout,
    connections_max: u16,
    durability: Durability,
) -> Vec<String> {
    let mut args = vec!["-D".to_owned(), layout.cluster().display().to_string()];
    let mut set =
        |name: &str, value: &str| args.extend(["-c".to_owned(), format!("{name}={value}")]);
    set("unix_socket_directories", &layout.socket_dir.display().to_string());
    set("max_connections", &connections_max.to_string());
    set("port", &PORT.to_string());
    for (name, value) in SETTINGS {
        set(name, value);
    }
    let durable = match durability {
        Durability::Full => "on",
        #[cfg(feature = "testing")]
        Durability::None => "off",
    };
    for name in ["fsync", "full_page_writes"] {
        set(name, durable);
    }
    args
}

const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("synchronous_commit", "on"),
    // Replicas and point-in-time recovery need both of these changed.
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("shared_buffers", "256MB"),
    ("max_wal_size", "2GB"),
    ("checkpoint_timeout", "15min"),
    ("autovacuum_naptime", "5s"),
    ("jit", "off"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    ("log_checkpoints", "off"),
];

/// Whether the server with this process id accepts connections.
pub(crate) fn is_ready(cluster: &Path, pid: i32) -> bool {
    let text = fs::read_to_string(cluster.join("postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines();
    let ours = lines.next().is_some_and(|line| line.trim() == pid.to_string());
    ours && lines.nth(STATUS_LINE - 1).is_some_and(|line| line.trim() == "ready")
}

/// Sends a signal. That the process is gone already is no error: whoever sends one looks again anyway.
pub(crate) fn tell(pid: Pid, signal: Signal) {
    if let Err(error) = kill_process(pid, signal) {
        debug!(error = %error, "the process {pid} got no signal");
    }
}

/// A URL that libpq, sqlx, and tokio-postgres read alike: the host is a parameter, because it is a path.
pub(crate) fn url(socket_dir: &Path, database: &str) -> String {
    let escaped = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    let host: String = socket_dir.as_os_str().as_encoded_bytes().iter().map(escaped).collect();
    format!("postgres:///{database}?host={host}&port={PORT}&user={NAME}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_ready_when_its_own_pid_file_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let write = |state: &str| {
            let text = format!("4711\n/data\n1700000000\n5432\n/socket\n\n  1234  56\n{state}\n");
            fs::write(dir.path().join("postmaster.pid"), text).unwrap();
        };
        assert!(!is_ready(dir.path(), 4711));
        write("starting");
        assert!(!is_ready(dir.path(), 4711));
        write("ready   ");
        assert!(is_ready(dir.path(), 4711));
        assert!(!is_ready(dir.path(), 4712), "the file of an earlier server");
    }

    #[test]
    fn a_path_with_special_characters_is_escaped_in_the_url() {
        let url = url(Path::new("/srv/a&b é"), "donegate");
        assert_eq!(url, "postgres:///donegate?host=/srv/a%26b%20%C3%A9&port=5432&user=donegate");
    }

    #[test]
    fn the_server_syncs_to_disk_and_opens_no_port() {
        let layout = Layout { data_dir: "/d".into(), socket_dir: "/d/socket".into() };
        let args = arguments(&layout, 60, Durability::Full).join(" ");
        for wanted in
            ["fsync=on", "full_page_writes=on", "synchronous_commit=on", "listen_addresses= "]
        {
            assert!(args.contains(wanted), "{wanted}: {args}");
        }
    }
}
