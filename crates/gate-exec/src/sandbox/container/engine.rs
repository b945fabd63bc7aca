//! Asks a container engine, `podman` or `docker`, by its command line.
//!
//! Each question has a time limit and can be cancelled. An engine leaves processes of its own behind
//! that outlive the question, so it does not run below an init. Nothing secret is put into its words;
//! it gets the variables by which it finds its store, its daemon, and its logins, and no others.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, PipeReader, Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::name;
use crate::limits::{ENGINE_CALL_SECONDS, ENGINE_MESSAGE_BYTES_MAX, KILL_GRACE_MS};
use crate::spawn;
use crate::stop::KillOnDrop;

/// In the order in which they are tried.
const ENGINES: [&str; 2] = ["podman", "docker"];
/// What an engine reads of the gate's environment.
const VARIABLES: [&str; 23] = [
    "CONTAINERS_CONF",
    "CONTAINERS_REGISTRIES_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "PATH",
    "REGISTRY_AUTH_FILE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];
/// What is read of an answer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// By this, containers of gates are found.
pub(super) const LABEL: &str = "donegate.sandbox";

/// An engine that answers.
#[derive(Debug)]
pub(super) struct Engine {
    program: OsString,
    variables: Vec<(OsString, OsString)>,
    /// Else it is Docker, or speaks as Docker does.
    pub(super) is_podman: bool,
}

/// Why an engine did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("`{program}` cannot be run")]
    Start { program: String, source: io::Error },
    #[error("`{asked}` {how}: {said}")]
    Refused { asked: String, how: HowItFailed, said: String },
    #[error("`{asked}` took longer than {seconds} s")]
    Late { asked: String, seconds: u64 },
    #[error("`{asked}` was cancelled")]
    Cancelled { asked: String },
}

/// The end of a question that was not answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct HowItFailed(ExitStatus);

impl fmt::Display for HowItFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "exited with {code}"),
            (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (None, None) => f.write_str("did not end"),
        }
    }
}

impl Engine {
    /// The one that is named, or the first that answers.
    ///
    /// # Errors
    /// In words, for each that was tried.
    pub(super) fn find(
        named: Option<&Path>,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, String> {
        let known =
            |it: &&(OsString, OsString)| it.0.to_str().is_some_and(|it| VARIABLES.contains(&it));
        let variables: Vec<_> = environment.iter().filter(known).cloned().collect();
        let tried: Vec<OsString> = match named {
            Some(path) => vec![path.into()],
            None => ENGINES.map(OsString::from).into(),
        };
        let mut reasons = Vec::new();
        for program in tried {
            match Self::ask(&program, variables.clone()) {
                Ok(engine) => return Ok(engine),
                Err(error) => reasons.push(gate_core::Chain(&error).to_string()),
            }
        }
        Err(reasons.join("; "))
    }

    fn ask(program: &OsStr, variables: Vec<(OsString, OsString)>) -> Result<Self, EngineError> {
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
        let program = spawn::program_on(program, path);
        let mut engine = Self { program, variables, is_podman: false };
        let version = engine.answer(&["--version"])?;
        engine.is_podman = version.to_ascii_lowercase().contains("podman");
        // The version is told even where there is no daemon to do the work.
        engine.names()?;
        Ok(engine)
    }

    /// One short question.
    pub(super) fn answer(&self, words: &[&str]) -> Result<String, EngineError> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        self.call(&words, Duration::from_secs(ENGINE_CALL_SECONDS), None)
    }

    /// One question, and what it was answered. Closing the other end of `cancelled` ends it.
    pub(super) fn call(
        &self,
        words: &[OsString],
        time: Duration,
        cancelled: Option<&PipeReader>,
    ) -> Result<String, EngineError> {
        let asked = || self.asked(words);
        let start = |source| EngineError::Start { program: asked(), source };
        let (mut answer, mut complaint) = (scratch().map_err(start)?, scratch().map_err(start)?);
        let child = spawn::answering(
            &self.program,
            words,
            &self.variables,
            [answer.try_clone().map_err(start)?, complaint.try_clone().map_err(start)?],
        );
        let mut child = KillOnDrop(child.map_err(start)?);
        let status = match wait(&mut child.0, time, cancelled).map_err(start)? {
            Waited::Ended(status) => status,
            Waited::Late => {
                return Err(EngineError::Late { asked: asked(), seconds: time.as_secs() });
            }
            Waited::Cancelled => return Err(EngineError::Cancelled { asked: asked() }),
        };
        if !status.success() {
            let said = text(&mut complaint).map_err(start)?;
            let said = last(said.trim(), ENGINE_MESSAGE_BYTES_MAX).to_owned();
            return Err(EngineError::Refused { asked: asked(), how: HowItFailed(status), said });
        }
        Ok(text(&mut answer).map_err(start)?.trim().to_owned())
    }

    /// All containers of gates, of this one and of others.
    pub(super) fn names(&self) -> Result<Vec<String>, EngineError> {
        let filter = format!("label={LABEL}");
        let words = ["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"];
        Ok(self.answer(&words)?.lines().map(|it| it.trim().to_owned()).collect())
    }

    /// Whether a container runs.
    pub(super) fn runs(&self, name: &str) -> Result<bool, EngineError> {
        let filter = format!("name={name}");
        let running = self.answer(&["ps", "--filter", &filter, "--format", "{{.Names}}"])?;
        Ok(running.lines().any(|it| it.trim() == name))
    }

    /// Ends a container and all that is left of it, if it is there.
    pub(super) fn remove(&self, name: &str) -> Result<(), EngineError> {
        let deadline = Instant::now() + Duration::from_millis(KILL_GRACE_MS);
        loop {
            let removed = self.answer(&["rm", "--force", "--volumes", name]);
            // Removed by the engine itself, when it ended, and then to remove it again is an error.
            match removed {
                Ok(_) => return Ok(()),
                Err(error) if !self.names()?.iter().any(|it| it == name) => {
                    tracing::debug!(error = %error, "a container was gone already");
                    return Ok(());
                }
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Removes the containers of gates that are not alive any more.
    pub(super) fn sweep(&self) -> Result<(), EngineError> {
        for name in self.names()? {
            if name::is_of_the_dead(&name) {
                tracing::info!(container = name, "a container that a dead gate left is removed");
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    fn asked(&self, words: &[OsString]) -> String {
        let program = Path::new(&self.program).file_name().unwrap_or(OsStr::new("engine"));
        let verb = words.iter().take(2).map(|it| it.to_string_lossy());
        let verb: Vec<_> = verb.take_while(|it| !it.starts_with("--")).collect();
        format!("{} {}", program.to_string_lossy(), verb.join(" ")).trim_end().to_owned()
    }
}

enum Waited {
    Ended(ExitStatus),
    Late,
    Cancelled,
}

fn wait(child: &mut Child, time: Duration, cancelled: Option<&PipeReader>) -> io::Result<Waited> {
    let deadline = Instant::now() + time;
    let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let mut watched = vec![PollFd::new(&end, PollFlags::IN)];
        watched.extend(cancelled.map(|it| PollFd::new(it, PollFlags::IN)));
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_cancelled = watched.get(1).is_some_and(|it| !it.revents().is_empty());
        if let Some(status) = child.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        if is_cancelled {
            return Ok(Waited::Cancelled);
        }
        if Instant::now() >= deadline {
            return Ok(Waited::Late);
        }
    }
}

/// A file, not a pipe: what the engine leaves running may hold it open.
fn scratch() -> io::Result<File> {
    Ok(memfd_create("donegate-engine", MemfdFlags::CLOEXEC)?.into())
}

fn text(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a text, whole characters only.
fn last(text: &str, bytes_max: usize) -> &str {
    let start = text.len().saturating_sub(bytes_max);
    let start = (start..=text.len()).find(|it| text.is_char_boundary(*it));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    /// An engine that is a script.
    fn engine(script: &str) -> (tempfile::TempDir, Engine) {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("fake");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let variables = vec![("PATH".into(), path)];
        (home, Engine { program: program.into(), variables, is_podman: false })
    }

    fn said(result: Result<String, EngineError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn what_an_engine_complains_of_is_told_with_what_it_was_asked() {
        let (_home, engine) = engine("echo out; echo 'no such image' >&2; exit 125");
        let error = said(engine.answer(&["image", "inspect", "x"]));
        assert_eq!(error, "`fake image inspect` exited with 125: no such image");
    }

    #[test]
    fn an_engine_that_hangs_is_ended_in_time_and_when_it_is_cancelled() {
        let (_home, engine) = engine("exec sleep 1000");
        let words = ["pull".into(), "--quiet".into()];
        let late = engine.call(&words, Duration::from_millis(50), None);
        assert!(matches!(late, Err(EngineError::Late { .. })), "{late:?}");
        let (cancelled, hold) = io::pipe().unwrap();
        drop(hold);
        let error = said(engine.call(&words, Duration::from_secs(60), Some(&cancelled)));
        assert_eq!(error, "`fake pull` was cancelled");
    }

    #[test]
    fn what_an_engine_leaves_running_does_not_hold_up_its_answer() {
        let (_home, engine) = engine("sleep 1000 & echo $!");
        let pid = engine.answer(&["run"]).unwrap().parse().unwrap();
        let left = Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn an_engine_gets_nothing_of_the_environment_but_what_it_needs() {
        let (home, _) = engine("case $1 in --version) echo podman version 9;; *) env;; esac");
        let environment = [
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("DOCKER_HOST", "unix:///x".into()),
            ("DONEGATE_CALLBACK_SIGNING_KEY", "secret".into()),
        ];
        let environment = environment.map(|(name, value)| (name.into(), value));
        let found = Engine::find(Some(&home.path().join("fake")), &environment).unwrap();
        assert!(found.is_podman);
        let said = found.answer(&["x"]).unwrap();
        assert!(said.contains("DOCKER_HOST=unix:///x") && !said.contains("secret"), "{said}");
    }

    #[test]
    fn an_engine_that_is_not_there_or_has_no_daemon_says_so() {
        let error = Engine::find(Some(Path::new("/no/such/engine")), &[]).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
        let (home, _) =
            engine("case $1 in --version) echo Docker;; *) echo 'no daemon' >&2; exit 1;; esac");
        let error = Engine::find(Some(&home.path().join("fake")), &[]).unwrap_err();
        assert!(error.contains("`fake ps` exited with 1: no daemon"), "{error}");
    }

    #[test]
    fn to_remove_what_is_gone_already_is_no_error_and_what_cannot_be_removed_is_one() {
        let (_home, gone) = engine("case $1 in rm) echo 'no such container' >&2; exit 1;; esac");
        gone.remove("donegate-1").unwrap();
        let (_home, stuck) =
            engine("case $1 in rm) echo busy >&2; exit 1;; ps) echo donegate-1;; esac");
        let error = stuck.remove("donegate-1").unwrap_err().to_string();
        assert!(error.contains("busy"), "{error}");
    }

    #[test]
    fn the_end_of_a_message_is_cut_between_characters() {
        assert_eq!(last("aé", 1), "");
        assert_eq!(last("aé", 2), "é");
        assert_eq!(last("aé", 9), "aé");
    }
}
