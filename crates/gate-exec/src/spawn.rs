//! The only place that starts a process.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use crate::init;

/// Starts an init, which is this very executable, and knows nothing yet. End of file on the line ends it; so does our death.
pub(crate) fn init() -> io::Result<(Child, UnixStream)> {
    ourselves(&[init::SUBCOMMAND])
}

/// Starts a nursery of inits, which ends as they do.
pub(crate) fn nursery() -> io::Result<(Child, UnixStream)> {
    ourselves(&[init::SUBCOMMAND, init::NURSERY])
}

fn ourselves(words: &[&str]) -> io::Result<(Child, UnixStream)> {
    let (line, far_end) = UnixStream::pair()?;
    // Still this executable when the file was replaced meanwhile.
    let child = plain("/proc/self/exe")
        .arg0("donegate")
        .args(words)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(far_end)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, line))
}

/// A program that answers questions on its pipes, and inherits nothing but what is given.
pub(crate) fn piped(program: &OsStr, variables: &[(OsString, OsString)]) -> Command {
    let mut command = plain(program);
    command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program that answers into files, and inherits nothing but what is given, nor our terminal's signals.
pub(crate) fn answering(
    program: &OsStr,
    words: &[OsString],
    variables: &[(OsString, OsString)],
    [stdout, stderr]: [File; 2],
) -> io::Result<Child> {
    let mut command = plain(program);
    command.args(words).env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn()
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
