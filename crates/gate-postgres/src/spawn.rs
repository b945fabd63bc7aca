//! The only place of this crate that starts a process.

#![expect(
    clippy::disallowed_methods,
    reason = "the programs of PostgreSQL are started here, and nowhere else in this crate"
)]

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal, setsid};

use crate::account::Account;
use crate::environment;

/// How often a running tool is looked at.
const POLL: Duration = Duration::from_millis(10);

/// What a child does when the thread that started it ends, by whatever cause.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lifetime {
    /// It gets this signal.
    EndsWithThread(Signal),
    /// It goes on.
    #[cfg(feature = "testing")]
    Detached,
}

/// What a short-lived program of our own user printed, if it succeeded.
pub(crate) fn output(program: &Path, args: &[&str]) -> io::Result<String> {
    let output =
        Command::new(program).args(args).env("LC_ALL", "C").stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "{} ended with {}",
            program.display(),
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a tool as `account` until it ends, or kills it at the limit. Gives its status and all that it printed.
pub(crate) fn run_tool(
    (program, args): (&Path, &[&str]),
    account: &Account,
    cwd: &Path,
    (input, printed): (Stdio, &mut File),
    limit: Duration,
) -> io::Result<(ExitStatus, String)> {
    let mut command = command(program, account, cwd, Lifetime::EndsWithThread(Signal::KILL));
    command.args(args).stdin(input).stdout(printed.try_clone()?).stderr(printed.try_clone()?);
    let mut child = command.spawn()?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(POLL);
    };
    let mut text = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut text)?;
    Ok((status, String::from_utf8_lossy(&text).into_owned()))
}

/// Starts the server itself, without `pg_ctl`, so that its process is ours to watch.
pub(crate) fn server(
    program: &Path,
    args: &[String],
    (account, cluster): (&Account, &Path),
    log: Stdio,
    lifetime: Lifetime,
) -> io::Result<Child> {
    let mut command = command(program, account, cluster, lifetime);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
}

/// Starts a shell script as ourselves, that lives on without us.
#[cfg(feature = "testing")]
pub(crate) fn detached_script(
    script: &str,
    args: &[&std::ffi::OsStr],
    account: &Account,
) -> io::Result<Child> {
    let ourselves = Account { switch: false, ..account.clone() };
    let mut command = command(Path::new("sh"), &ourselves, Path::new("/"), Lifetime::Detached);
    // Nothing of ours is inherited: an open pipe would keep `cargo test | tee` waiting.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.arg("-c").arg(script).arg("gate-postgres-watchdog").args(args).spawn()
}

#[expect(unsafe_code, reason = "a child is set up between fork and exec")]
fn command(program: &Path, account: &Account, cwd: &Path, lifetime: Lifetime) -> Command {
    let mut command = Command::new(program);
    command.current_dir(cwd).env_clear().envs(environment::passed_on()).env("LC_ALL", "C");
    if account.switch {
        command.uid(account.uid).gid(account.gid);
    }
    let parent = getpid();
    let set_up = move || {
        // A session of its own: Ctrl-C in a terminal reaches the gate alone, which then stops the server in order.
        setsid()?;
        #[cfg_attr(
            not(feature = "testing"),
            expect(clippy::infallible_destructuring_match, reason = "tests have a second variant")
        )]
        let signal = match lifetime {
            Lifetime::EndsWithThread(signal) => signal,
            #[cfg(feature = "testing")]
            Lifetime::Detached => return Ok(()),
        };
        // After the change of user, which `Command` has done by now, for it would clear the signal.
        set_parent_process_death_signal(Some(signal))?;
        if getppid() != Some(parent) {
            // The gate ended while it started us: its signal will never come.
            return Err(Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes three system calls, and nothing else: it takes no lock, and its
    // errors are plain numbers, so that it allocates nothing.
    unsafe { command.pre_exec(set_up) };
    command
}
