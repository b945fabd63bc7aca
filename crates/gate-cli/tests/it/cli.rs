//! Runs the executable and keeps what it said.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The key of all tests. [`Cli::run`] makes sure that it is never printed.
pub(crate) const KEY: &str = "dg_9876543210jihgfedcbaJIHGFEDCBA10fedcba";

/// A call of the executable.
pub(crate) struct Cli {
    command: Command,
    stdin: Vec<u8>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A call for the gate at `url`, with the key of the tests.
pub(crate) fn donegate_at(url: &str) -> Cli {
    donegate().env("DONEGATE_URL", url).env("DONEGATE_KEY", KEY)
}

/// A call without a key.
#[expect(clippy::disallowed_methods, reason = "the test is about the executable as a process")]
pub(crate) fn donegate() -> Cli {
    let mut command = Command::new(env!("CARGO_BIN_EXE_donegate"));
    for name in ["DONEGATE_URL", "DONEGATE_KEY", "DONEGATE_KEY_FILE", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    // A proxy that is not there: what runs on this machine is asked without it.
    command.env("http_proxy", "http://127.0.0.1:9");
    Cli { command, stdin: Vec::new() }
}

impl Cli {
    pub(crate) fn args<T: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Ended {
        let piped =
            self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // Fails where the executable does not read it: that is its right.
        child.stdin.take().unwrap().write_all(&self.stdin).ok();
        let output = child.wait_with_output().unwrap();
        let ended = Ended {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(KEY), "the key was printed: {text}");
            assert!(!text.contains('\x1b'), "colours without a terminal: {text:?}");
        }
        ended
    }
}

impl Ended {
    /// The answer of `--json`.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|it| panic!("{it}: {self:?}"))
    }
}
