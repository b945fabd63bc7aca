//! Turns a freshly forked process into the command: its descriptors, its fence, its program.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::{Pid, WaitOptions, chdir, setsid, waitpid};
use serde::{Deserialize, Serialize};

use super::fence::Fence;
use super::sys::{self, Fork};
use crate::limits::TEXT_BUSY_RETRY_MS;
use crate::wire::{HowItEnded, Named, Refusal, SetUp};

/// A command whose program runs.
#[derive(Debug)]
pub(super) struct Started(pub(super) Pid);

/// Why no program runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum NotStarted {
    /// The command's own fault.
    Ended(HowItEnded),
    /// The gate's.
    Refused(Refusal),
}

/// Starts one command, and returns when its program runs or cannot.
pub(super) fn start(
    words: &[OsString],
    output: [OwnedFd; 2],
    set_up: &SetUp,
    fence: &Fence,
) -> Result<Started, NotStarted> {
    let become_it = || become_command(words, &output, set_up, fence);
    let (pid, told) = fork_telling(become_it).map_err(NotStarted::Refused)?;
    drop(output);
    listen(told).map_or(Ok(Started(pid)), Err)
}

/// Whether each of these is there for a command. Looked for by a process that is fenced as commands are: a link must not
/// lead it to where no command could look.
pub(super) fn look(wanted: &[Named], set_up: &SetUp, fence: &Fence) -> Result<Vec<bool>, Refusal> {
    const STAGE: &str = "looking for what commands name";
    let (pid, mut told) = fork_telling(|| look_fenced(wanted, set_up, fence))?;
    let mut said = Vec::new();
    let read = told.read_to_end(&mut said);
    waitpid(Some(pid), WaitOptions::empty()).map_err(Refusal::at(STAGE))?;
    read.map_err(Refusal::at(STAGE))?;
    serde_json::from_slice(&said).map_err(|it| Refusal::says(STAGE, &it.to_string()))?
}

fn look_fenced(wanted: &[Named], set_up: &SetUp, fence: &Fence) -> Result<Vec<bool>, Refusal> {
    fence.put_on()?;
    chdir(&set_up.directory).map_err(Refusal::at("entering the workspace"))?;
    let is_there = |named: &Named| match named {
        Named::Path(path) => Path::new(path).exists(),
        Named::Program(word) => match find_program(word, search_path(set_up)) {
            Ok(Some(program)) => program.is_file() && may_execute(&program),
            Ok(None) | Err(_) => false,
        },
    };
    Ok(wanted.iter().map(is_there).collect())
}

/// A child that tells what its work came to, if that returns, and ends.
fn fork_telling<T: Serialize>(work: impl FnOnce() -> T) -> Result<(Pid, PipeReader), Refusal> {
    let (told, mut teller) = io::pipe().map_err(Refusal::at("making a pipe"))?;
    match sys::fork().map_err(Refusal::at("forking"))? {
        Fork::Child => {
            drop(told);
            let text = serde_json::to_vec(&work()).unwrap_or_default();
            teller.write_all(&text).ok();
            leave()
        }
        Fork::Parent(pid) => Ok((pid, told)),
    }
}

/// What the child says before its program runs; nothing when it does.
fn listen(mut told: PipeReader) -> Option<NotStarted> {
    let mut said = Vec::new();
    match told.read_to_end(&mut said) {
        Ok(0) => None,
        Ok(_) => Some(serde_json::from_slice(&said).unwrap_or_else(|it| {
            NotStarted::Refused(Refusal::says("starting the command", &it.to_string()))
        })),
        Err(error) => Some(NotStarted::Refused(Refusal::at("starting the command")(error))),
    }
}

/// Ends this process at once: what the init has open is not the child's to close.
#[expect(unsafe_code, reason = "std has no _exit")]
fn leave() -> ! {
    // SAFETY: the call does not return, and runs nothing of this process.
    unsafe { libc::_exit(70) }
}

fn become_command(
    words: &[OsString],
    output: &[OwnedFd; 2],
    set_up: &SetUp,
    fence: &Fence,
) -> NotStarted {
    if let Err(refusal) = prepare(output, set_up, fence) {
        return NotStarted::Refused(refusal);
    }
    let Some(word) = words.first() else { return NotStarted::Ended(HowItEnded::NotFound) };
    let not_executable = |it: &io::Error| {
        NotStarted::Ended(HowItEnded::NotExecutable(it.raw_os_error().unwrap_or(libc::EINVAL)))
    };
    match find_program(word, search_path(set_up)) {
        Ok(Some(program)) => not_executable(&execute(&program, words, &set_up.variables)),
        Ok(None) => NotStarted::Ended(HowItEnded::NotFound),
        Err(error) => not_executable(&error),
    }
}

/// A session of its own, so that no terminal is its; the null device to read from.
fn prepare(output: &[OwnedFd; 2], set_up: &SetUp, fence: &Fence) -> Result<(), Refusal> {
    setsid().map_err(Refusal::at("leaving the init's session"))?;
    let null = File::open("/dev/null").map_err(Refusal::at("opening the null device"))?;
    let [stdout, stderr] = output;
    rustix::stdio::dup2_stdin(null.as_fd()).map_err(Refusal::at("giving it its input"))?;
    rustix::stdio::dup2_stdout(stdout).map_err(Refusal::at("giving it its output"))?;
    rustix::stdio::dup2_stderr(stderr).map_err(Refusal::at("giving it its output"))?;
    fence.put_on()?;
    // As the user that it is now.
    chdir(&set_up.directory).map_err(Refusal::at("entering the workspace"))
}

fn search_path(set_up: &SetUp) -> Option<&OsStr> {
    set_up.variables.iter().find(|(name, _)| name == "PATH").map(|(_, it)| it.as_os_str())
}

/// Looks the program up as `execvp` does, but never in a relative directory of `PATH`.
fn find_program(word: &OsStr, path: Option<&OsStr>) -> io::Result<Option<PathBuf>> {
    let program = PathBuf::from(word);
    if word.as_bytes().contains(&b'/') {
        return match program.metadata() {
            Ok(_) => Ok(Some(program)),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let mut refused = None;
    for directory in std::env::split_paths(path.unwrap_or_default()) {
        if !directory.is_absolute() {
            continue;
        }
        let candidate = directory.join(&program);
        match candidate.metadata() {
            Ok(metadata) if metadata.is_file() && may_execute(&candidate) => {
                return Ok(Some(candidate));
            }
            Ok(metadata) if metadata.is_file() => {
                refused = Some(io::Error::from_raw_os_error(libc::EACCES));
            }
            Ok(_) | Err(_) => {}
        }
    }
    refused.map_or(Ok(None), Err)
}

fn may_execute(path: &Path) -> bool {
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Returns only when it could not be executed. A file that some other process still writes is tried again.
fn execute(program: &Path, words: &[OsString], variables: &[(OsString, OsString)]) -> io::Error {
    let give_up = Instant::now() + Duration::from_millis(TEXT_BUSY_RETRY_MS);
    loop {
        let error = match execute_once(program, words, variables) {
            Ok(never) => match never {},
            Err(error) => error,
        };
        if error.raw_os_error() != Some(libc::ETXTBSY) || Instant::now() >= give_up {
            return error;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Not by the library's `exec`, which would hand a file of an unknown format to a shell.
#[expect(unsafe_code, reason = "std's exec is execvp, which has that shell")]
fn execute_once(
    program: &Path,
    words: &[OsString],
    variables: &[(OsString, OsString)],
) -> io::Result<std::convert::Infallible> {
    let text = |it: &OsStr| CString::new(it.as_bytes()).map_err(io::Error::from);
    let program = text(program.as_os_str())?;
    let words: Vec<CString> = words.iter().map(|it| text(it)).collect::<io::Result<_>>()?;
    let pair = |(name, value): &(OsString, OsString)| {
        text(&[name.as_os_str(), OsStr::new("="), value].into_iter().collect::<OsString>())
    };
    let variables: Vec<CString> = variables.iter().map(pair).collect::<io::Result<_>>()?;
    let pointers = |it: &[CString]| -> Vec<*const libc::c_char> {
        it.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (words, variables) = (pointers(&words), pointers(&variables));
    // SAFETY: both lists end with a null pointer, and the texts that they point to live until the call returns.
    unsafe {
        // What Rust's own start-up ignores, programs expect to end them.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execve(program.as_ptr(), words.as_ptr(), variables.as_ptr());
    }
    Err(io::Error::last_os_error())
}
