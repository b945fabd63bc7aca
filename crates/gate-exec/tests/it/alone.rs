//! Runs one test of this binary in a process of its own: with another user, another environment, and nobody beside it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Resource, Rlimit, geteuid, setrlimit};

use crate::fixture::{processes_of, text};

/// Ordinary users begin here. They need no account, and no two suites on one machine have the same.
const USERS: u32 = 1_000_000;
/// Each has so many processes and threads at most.
const PROCESSES_MAX: u64 = 1_500;
/// Counts those of this suite.
static USER: AtomicU32 = AtomicU32::new(0);
/// Set in the process that is alone.
const ALONE: &str = "GATE_EXEC_TEST_ALONE";
/// What it keeps of the environment of the whole suite.
const KEPT: [&str; 6] = [
    "DOCKER_HOST",
    "RUST_BACKTRACE",
    "DONEGATE_TEST_CONTAINER_ENGINE",
    "DONEGATE_TEST_REQUIRE_TIERS",
    "DONEGATE_TEST_REQUIRE_TOOLS",
    "DONEGATE_TEST_ROWS",
];

/// The test to be run so.
#[derive(Debug)]
pub(crate) struct Alone {
    test: &'static str,
    home: tempfile::TempDir,
    user: Option<u32>,
    variables: Vec<(OsString, OsString)>,
}

impl Alone {
    /// As the user that this is.
    pub(crate) fn new(test: &'static str) -> Self {
        Self { test, home: tempfile::tempdir().unwrap(), user: None, variables: Vec::new() }
    }

    /// As an ordinary user; says so and is `None` where that is not possible or not needed.
    pub(crate) fn as_user(test: &'static str) -> Option<Self> {
        if !geteuid().is_root() {
            println!("not run: the suite is run by an ordinary user anyway");
            return None;
        }
        let count = USER.fetch_add(1, Ordering::Relaxed);
        let user = USERS + std::process::id() * 64 + count;
        let it = Self { user: Some(user), ..Self::new(test) };
        chown(it.home.path(), it.user, it.user).unwrap();
        Some(it)
    }

    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The ordinary user that it runs as.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// A directory of its own, gone when this is dropped.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Ready to be started.
    pub(crate) fn command(&self) -> Command {
        // Where the build's own directory is closed to others.
        let program = self.home().join("it");
        fs::copy("/proc/self/exe", &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test needs a process of its own")]
        let mut command = Command::new(&program);
        command.args(["--exact", self.test, "--nocapture", "--test-threads=1"]).env_clear();
        let kept = KEPT.iter().filter_map(|it| std::env::var_os(it).map(|value| (it, value)));
        command.envs(kept);
        command.envs([("HOME", self.home()), ("TMPDIR", self.home())]);
        command.env("PATH", std::env::var_os("PATH").unwrap()).env(ALONE, "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(user) = self.user {
            // Which also leaves every other group.
            command.uid(user).gid(user);
        }
        command.current_dir(self.home()).stdin(Stdio::null());
        command
    }

    /// Runs it to its end, tells what it said, and wants it to have passed.
    pub(crate) fn run(&self) -> String {
        let output = self.command().output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        println!("{said}");
        let passed = said.contains("test result: ok. 1 passed");
        assert!(output.status.success() && passed, "{} failed", self.test);
        let left = self.user.map(processes_of).unwrap_or_default();
        assert!(left.is_empty(), "{} left {left:?}", self.test);
        said
    }
}

/// Whether this is that process; a test that belongs into it does nothing elsewhere.
///
/// What gets away from an ordinary user there is bounded all the same: the machine is not only ours.
pub(crate) fn is_alone() -> bool {
    let is_alone = std::env::var_os(ALONE).is_some();
    if is_alone && !geteuid().is_root() {
        let most = Some(PROCESSES_MAX);
        setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most }).unwrap();
    }
    is_alone
}
