//! Directories, queries, and processes for the other modules.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use tempfile::TempDir;

/// A directory that the server's user can pass when we are root.
pub(crate) fn scratch() -> TempDir {
    let dir = tempfile::Builder::new().prefix("gate-pg-").tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    dir
}

pub(crate) fn client(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

pub(crate) fn setting(client: &mut Client, name: &str) -> String {
    client.query_one("select current_setting($1)", &[&name]).unwrap().get(0)
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The process id in the first line of the cluster's pid file.
pub(crate) fn server_pid(data_dir: &Path) -> i32 {
    let text = fs::read_to_string(data_dir.join("cluster/postmaster.pid")).unwrap();
    text.lines().next().unwrap().trim().parse().unwrap()
}

pub(crate) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Whether the process is gone, or waits only for its parent to notice.
pub(crate) fn has_ended(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Another process: a second gate that holds the server of its data directory, or another test run.
pub(crate) struct Holder {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Holder {
    pub(crate) fn start(data_dir: &Path) -> Self {
        Self::run(command(&example("hold")).arg(data_dir))
    }

    /// A test process whose target directory is this one.
    pub(crate) fn test_process(target: &Path) -> Self {
        let program = target.join("use_test_database");
        if !program.exists() {
            fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
            fs::copy(example("use_test_database"), &program).unwrap();
        }
        Self::run(command(&program).env_remove("DATABASE_URL"))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("postgres:"), "the example did not start a server: {url:?}");
        Self { child, url: url.trim().to_owned() }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Cargo builds the examples of a package before its tests run, beside them.
fn example(name: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let profile = exe.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo test -p gate-postgres`, which builds it",
        path.display()
    );
    path
}

/// What `pg_controldata` says about the state of the cluster.
pub(crate) fn control_state(data_dir: &Path, bin_dir: &Path) -> String {
    let output = command(&bin_dir.join("pg_controldata"))
        .arg(data_dir.join("cluster"))
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("Database cluster state:"));
    line.unwrap_or_else(|| panic!("{text}")).split_once(':').unwrap().1.trim().to_owned()
}

/// Where the executables of the running server stand.
pub(crate) fn bin_dir(data_dir: &Path) -> PathBuf {
    let program = fs::read_link(format!("/proc/{}/exe", server_pid(data_dir))).unwrap();
    program.parent().unwrap().to_path_buf()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests start a second gate and look at what a server left"
)]
fn command(program: &Path) -> Command {
    Command::new(program)
}
