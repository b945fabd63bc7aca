//! The only place that starts a process.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::init;

/// What is to be run, completely: nothing is inherited.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) words: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    /// The largest file that it may write.
    pub(crate) file_bytes_max: Option<u64>,
}

/// An init at work, and what ties it to the gate.
#[derive(Debug)]
pub(crate) struct Attended {
    pub(crate) init: Child,
    /// Shutting down its writing half ends the command; so does dropping it, and so does our death.
    pub(crate) line: UnixStream,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Starts a command below an init of its own, which is this very executable.
pub(crate) fn attended(start: &Start) -> io::Result<Attended> {
    let (line, far_end) = UnixStream::pair()?;
    // Still this executable when the file was replaced meanwhile.
    let mut init = plain("/proc/self/exe")
        .arg0("donegate")
        .arg(init::SUBCOMMAND)
        .arg(start.file_bytes_max.unwrap_or(0).to_string())
        .args(&start.words)
        .env_clear()
        .envs(start.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&start.directory)
        .stdin(Stdio::from(OwnedFd::from(far_end)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let piped = || io::Error::other("a pipe was asked for and is missing");
    let stdout = init.stdout.take().ok_or_else(piped)?.into();
    let stderr = init.stderr.take().ok_or_else(piped)?.into();
    Ok(Attended { init, line, stdout, stderr })
}

/// From within an init: the command itself, in a process group of its own, with its output where the init's is.
pub(crate) fn acceptance_command(program: &Path, words: &[OsString]) -> Command {
    let mut command = plain(program);
    if let Some((name, args)) = words.split_first() {
        command.arg0(name).args(args);
    }
    command.stdin(Stdio::null()).process_group(0);
    command
}

/// A program that answers questions on its pipes, and inherits nothing but what is given.
pub(crate) fn piped(program: &OsStr, variables: &[(OsString, OsString)]) -> Command {
    let mut command = plain(program);
    command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn plain(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Where `execvp` would find a program on this `PATH`; the bare name where it would not.
pub(crate) fn program_on(name: &OsStr, path: Option<&OsString>) -> OsString {
    let directories = path.map(std::env::split_paths).into_iter().flatten();
    let found = directories.map(|it| it.join(name)).find(|it| it.is_absolute() && it.is_file());
    found.map_or_else(|| name.to_owned(), Into::into)
}
