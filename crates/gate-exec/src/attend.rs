//! Stays with one init from its start to its end: gives it orders, drains what commands print, keeps the time.
//!
//! One blocking loop over five descriptors, on a thread of its own: no flood of output can starve
//! the clock, and the call returns in time whatever a command does.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read as _};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gate_core::{LogStream, Usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::capture::{Capture, Kept};
use crate::cgroup::Cgroup;
use crate::disk::{self, DiskWatch, Room};
use crate::limits::{DRAIN_MS, KILL_GRACE_MS, SET_UP_SECONDS};
use crate::logs::LogPlace;
use crate::nursery::Nursery;
use crate::sandbox::ResultFile;
use crate::spawn;
use crate::stop::{Held, KillOnDrop, Mark, Process};
use crate::wire::{
    self, Hello, HowItEnded, Named, Order, Ready, Record, Refusal, Restored, Results, SetUp,
};
use crate::workspace::ProtectedFiles;

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// One command, and its bounds.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) words: Vec<OsString>,
    pub(crate) time: Duration,
    pub(crate) output_bytes: u64,
    pub(crate) logs: Option<LogPlace>,
    /// The directory that may not outgrow its room, where nothing else bounds it.
    pub(crate) disk: Option<(PathBuf, Room)>,
}

/// How it ended, as the gate sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signal(i32),
    NotFound,
    NotExecutable(i32),
    TimedOut,
    CpuLimit,
    OutOfMemory,
    DiskFull,
    OutputLimit,
    Cancelled,
}

/// All that is known afterwards.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) stragglers_killed: u32,
    pub(crate) process_limit_hit: bool,
    pub(crate) kept: Kept,
}

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttendError {
    #[error("{stage} failed")]
    System { stage: &'static str, source: io::Error },
    #[error("the init refused at {0}")]
    Refused(Refusal),
    #[error(
        "the init ended without a word; an executable that runs commands calls `gate_exec::init::take_over_if_asked()` first in `main`, and no command may kill it"
    )]
    Lost,
}

/// Does work that may block on a thread of its own. When it is cancelled, or this future is dropped, the pipe that it got is closed.
pub(crate) async fn with_thread<T: Send + 'static>(
    work: impl FnOnce(&PipeReader) -> T + Send + 'static,
    cancel: &CancellationToken,
) -> io::Result<T> {
    let (cancelled, hold) = io::pipe()?;
    let mut thread = tokio::task::spawn_blocking(move || work(&cancelled));
    let joined = tokio::select! {
        joined = &mut thread => joined,
        () = cancel.cancelled() => {
            drop(hold);
            thread.await
        }
    };
    joined.map_err(io::Error::other)
}

/// An init whose walls stand.
#[derive(Debug)]
pub(crate) struct Init {
    process: Box<dyn Held>,
    line: UnixStream,
    mark: Mark,
    pub(crate) ready: Ready,
    /// Where the gate's proxy is asked, if it was asked for.
    pub(crate) proxy: Option<TcpListener>,
    cgroup: Option<Cgroup>,
    /// Whether it does as it is told.
    healthy: bool,
}

impl Init {
    /// Starts one out of a nursery, and returns when its walls stand.
    pub(crate) fn fork(
        nursery: &Nursery,
        set_up: &SetUp,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, AttendError> {
        let line = nursery.init().map_err(system("starting the init"))?;
        Self::greet(line, None, set_up, cgroup)
    }

    /// Starts one of its own, and returns when its walls stand.
    pub(crate) fn start(set_up: &SetUp) -> Result<Self, AttendError> {
        let (child, line) = spawn::init().map_err(system("starting the init"))?;
        Self::greet(line, Some(KillOnDrop(child)), set_up, None)
    }

    fn greet(
        line: UnixStream,
        child: Option<KillOnDrop>,
        set_up: &SetUp,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, AttendError> {
        let patience = Some(Duration::from_secs(SET_UP_SECONDS));
        line.set_read_timeout(patience).map_err(system("setting a time limit"))?;
        let Ok(Some((Hello { pid }, _))) = wire::receive(&line) else {
            return Err(AttendError::Lost);
        };
        // It waits for its set-up, so that it is there still.
        let process = Process::of(pid, child).map_err(system("watching the init"))?;
        if let Some(cgroup) = &cgroup {
            cgroup.take_in(pid).map_err(system("putting the init into its cgroup"))?;
        }
        Self::over(line, Box::new(process), set_up, cgroup)
    }

    /// One that runs already, and knows nothing yet. Returns when its walls stand.
    pub(crate) fn over(
        line: UnixStream,
        process: Box<dyn Held>,
        set_up: &SetUp,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, AttendError> {
        let mark = Mark::new();
        let patience = Some(Duration::from_secs(SET_UP_SECONDS));
        line.set_read_timeout(patience).map_err(system("setting a time limit"))?;
        let mut set_up = set_up.clone();
        set_up.variables.push(mark.variable());
        wire::send(&line, &set_up, &[]).or(Err(AttendError::Lost))?;
        let answer = wire::receive::<Result<Ready, Refusal>>(&line);
        let (ready, passed) = match answer.map_err(system("setting up the sandbox"))? {
            Some((Ok(ready), passed)) => (ready, passed),
            Some((Err(refusal), _)) => return Err(AttendError::Refused(refusal)),
            None => return Err(AttendError::Lost),
        };
        let proxy = passed.into_iter().next().map(TcpListener::from);
        Ok(Self { process, line, mark, ready, proxy, cgroup, healthy: true })
    }

    /// Runs one command to its end. Closing the other end of `cancelled` ends it.
    pub(crate) fn run(
        &mut self,
        task: &Task,
        cancelled: &PipeReader,
    ) -> Result<Finished, AttendError> {
        if !self.healthy {
            return Err(AttendError::Lost);
        }
        // Until it has answered, nothing is known of it.
        self.healthy = false;
        let before = self.cgroup.as_ref().map(Cgroup::counts).unwrap_or_default();
        let watch = task.disk.clone().map(|(directory, room)| DiskWatch::start(directory, room));
        let (walking, full) = watch.transpose().map_err(system("watching the disk"))?.unzip();
        let started = Instant::now();
        let (stdout, for_stdout) = io::pipe().map_err(system("making a pipe"))?;
        let (stderr, for_stderr) = io::pipe().map_err(system("making a pipe"))?;
        let order = Order::Run { words: task.words.clone() };
        wire::send(&self.line, &order, &[for_stdout.as_fd(), for_stderr.as_fd()])
            .or(Err(AttendError::Lost))?;
        drop((for_stdout, for_stderr));
        let mut watch = Watch {
            init: self,
            stdout: Some(File::from(OwnedFd::from(stdout))),
            stderr: Some(File::from(OwnedFd::from(stderr))),
            capture: Capture::new(task.output_bytes, task.logs.as_ref()),
            full,
            decided: None,
            cut_at: None,
            answer: None,
        };
        watch
            .until_answered(started + task.time, cancelled)
            .map_err(system("reading the command's output"))?;
        let Watch { capture, decided, answer, .. } = watch;
        drop(walking);
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut record = self.heed(answer, decided)?;
        if record.how != HowItEnded::Exited(0)
            && let Some((directory, room)) = &task.disk
        {
            record.disk_was_full |= disk::is_full(directory, *room);
        }
        let after = self.cgroup.as_ref().map(Cgroup::counts).unwrap_or_default();
        let kept = capture.finish().map_err(system("writing the logs"))?;
        Ok(Finished {
            ending: ending(decided, &record, after.out_of_memory > before.out_of_memory),
            usage: Usage {
                duration_ms,
                cpu_ms: record.cpu_us / 1000,
                memory_peak_bytes: record.memory_peak_bytes,
            },
            stragglers_killed: record.stragglers_killed,
            process_limit_hit: record.process_limit_hit
                || after.process_limit > before.process_limit,
            kept,
        })
    }

    /// What the last command wrote into files that match, each with its name relative to the workspace.
    pub(crate) fn results(&mut self, globs: Vec<String>) -> Result<Vec<ResultFile>, AttendError> {
        let (Results(found), passed) =
            self.ask(&Order::Results { globs }, &[], "reading what a command wrote")?;
        let mut bytes = File::from(passed.into_iter().next().ok_or(AttendError::Lost)?);
        let read = |(name, size): (String, u64)| {
            let mut read = Vec::new();
            (&mut bytes).take(size).read_to_end(&mut read)?;
            Ok(ResultFile { name, bytes: read })
        };
        let read: io::Result<Vec<ResultFile>> = found.into_iter().map(read).collect();
        read.map_err(system("reading what a command wrote"))
    }

    /// Whether each of these is there for a command.
    pub(crate) fn look(&mut self, wanted: Vec<Named>) -> Result<Vec<bool>, AttendError> {
        let there = self.ask(&Order::Look { wanted }, &[], "looking for what commands name");
        there.map(|it| it.0)
    }

    /// Puts those protected files back that a command has altered.
    pub(crate) fn restore(&mut self, protected: &ProtectedFiles) -> Result<Restored, AttendError> {
        let stage = "putting protected files back";
        for part in protected.parts() {
            let order = Order::Altered { files: part.to_vec() };
            let (altered, _) = self.ask::<Vec<usize>>(&order, &[], stage)?;
            for file in altered.into_iter().filter_map(|it| part.get(it)) {
                let bytes = protected.open(file).map_err(system(stage))?;
                let passed: Vec<_> = bytes.iter().map(|it| it.as_fd()).collect();
                let order = Order::Restore { file: file.clone() };
                if let (Restored::NoRoom, _) = self.ask(&order, &passed, stage)? {
                    return Ok(Restored::NoRoom);
                }
            }
        }
        Ok(Restored::AsPrepared)
    }

    /// One order that it answers at once.
    fn ask<T: DeserializeOwned>(
        &mut self,
        order: &Order,
        passed: &[BorrowedFd<'_>],
        stage: &'static str,
    ) -> Result<(T, Vec<OwnedFd>), AttendError> {
        if !self.healthy {
            return Err(AttendError::Lost);
        }
        self.healthy = false;
        wire::send(&self.line, order, passed).or(Err(AttendError::Lost))?;
        match wire::receive::<Result<T, Refusal>>(&self.line).map_err(system(stage))? {
            Some((Ok(answer), passed)) => {
                self.healthy = true;
                Ok((answer, passed))
            }
            Some((Err(refusal), _)) => Err(AttendError::Refused(refusal)),
            None => Err(AttendError::Lost),
        }
    }

    /// Takes it down, and returns when nothing of it is left.
    pub(crate) fn close(mut self) -> Result<(), AttendError> {
        self.end().map_err(system("taking the sandbox down"))
    }

    fn heed(
        &mut self,
        answer: Option<Result<Record, Refusal>>,
        decided: Option<Ending>,
    ) -> Result<Record, AttendError> {
        match answer {
            Some(Ok(record)) => {
                self.healthy = true;
                Ok(record)
            }
            Some(Err(refusal)) => Err(AttendError::Refused(refusal)),
            None => {
                let swept = self.end().map_err(system("ending what a lost init left"));
                swept?;
                // The gate itself cut it off: that it took the init with it changes nothing.
                let how = decided.map(|_| HowItEnded::CutOff).ok_or(AttendError::Lost)?;
                Ok(Record::plain(how))
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.line.shutdown(Shutdown::Both).ok();
        let gone = self.process.wait_for(Duration::from_millis(KILL_GRACE_MS));
        let killed = self.process.kill();
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.remove()?;
        }
        killed?;
        // An init that went as it was told has ended everything before.
        if gone && self.healthy { Ok(()) } else { self.mark.sweep().map(drop) }
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        // After `close` there is nothing left to do; else somebody stopped waiting for it.
        if self.process.is_alive()
            && let Err(error) = self.end()
        {
            tracing::warn!(error = %error, "a sandbox was not taken down; the next start sweeps it");
        }
    }
}

fn system(stage: &'static str) -> impl FnOnce(io::Error) -> AttendError {
    move |source| AttendError::System { stage, source }
}

/// What the gate decided comes first, then what the kernel did to it, then what it did itself.
fn ending(decided: Option<Ending>, record: &Record, out_of_memory: bool) -> Ending {
    if let Some(decided) = decided {
        return decided;
    }
    match record.how {
        HowItEnded::Exited(0) => Ending::Exited(0),
        HowItEnded::Exited(_) | HowItEnded::Signal(_) if out_of_memory => Ending::OutOfMemory,
        HowItEnded::Exited(_) | HowItEnded::Signal(_) if record.disk_was_full => Ending::DiskFull,
        HowItEnded::Signal(libc::SIGXCPU) => Ending::CpuLimit,
        HowItEnded::Exited(code) => Ending::Exited(code),
        HowItEnded::Signal(signal) => Ending::Signal(signal),
        HowItEnded::NotFound => Ending::NotFound,
        HowItEnded::NotExecutable(errno) => Ending::NotExecutable(errno),
        HowItEnded::OutOfMemory => Ending::OutOfMemory,
        HowItEnded::CpuLimit => Ending::CpuLimit,
        HowItEnded::DiskFull => Ending::DiskFull,
        HowItEnded::CutOff => Ending::Cancelled,
    }
}

struct Watch<'a> {
    init: &'a mut Init,
    stdout: Option<File>,
    stderr: Option<File>,
    capture: Capture,
    /// Ends when the disk is full.
    full: Option<PipeReader>,
    /// The end, where the gate decided it.
    decided: Option<Ending>,
    cut_at: Option<Instant>,
    answer: Option<Result<Record, Refusal>>,
}

impl Watch<'_> {
    /// Until the init has answered and both pipes are closed, or time for that is up.
    fn until_answered(&mut self, deadline: Instant, cancelled: &PipeReader) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut drain_until = None;
        let mut lost = false;
        while (self.answer.is_none() && !lost) || self.stdout.is_some() || self.stderr.is_some() {
            let now = Instant::now();
            if self.answer.is_some() || lost {
                let until =
                    *drain_until.get_or_insert_with(|| now + Duration::from_millis(DRAIN_MS));
                if now >= until {
                    return Ok(());
                }
            }
            if self.decided.is_none() && now >= deadline && self.answer.is_none() {
                self.cut(Ending::TimedOut);
            }
            if self.cut_at.is_some_and(|it| now >= it + Duration::from_millis(KILL_GRACE_MS)) {
                // It is stopped or stuck: what it leaves is found by its mark.
                if let Err(error) = self.init.process.kill() {
                    tracing::warn!(error = %error, "a sandbox that did not end was not killed");
                }
            }
            let ready = self.wait(deadline, drain_until, cancelled)?;
            if ready.cancelled && self.decided.is_none() {
                self.cut(Ending::Cancelled);
            }
            if ready.full && self.decided.is_none() {
                self.cut(Ending::DiskFull);
            }
            if ready.stdout {
                read_some(&mut self.stdout, LogStream::Stdout, &mut self.capture, &mut chunk)?;
            }
            if ready.stderr {
                read_some(&mut self.stderr, LogStream::Stderr, &mut self.capture, &mut chunk)?;
            }
            if self.capture.is_over_limit() && self.decided.is_none() {
                self.cut(Ending::OutputLimit);
            }
            if ready.line {
                match wire::receive(&self.init.line) {
                    Ok(Some((answer, _))) => self.answer = Some(answer),
                    Ok(None) | Err(_) => lost = true,
                }
            }
        }
        Ok(())
    }

    fn cut(&mut self, ending: Ending) {
        self.decided = Some(ending);
        self.cut_at = Some(Instant::now());
        // It fails only when the init is gone already.
        wire::send(&self.init.line, &Order::CutOff, &[]).ok();
    }

    fn wait(
        &self,
        deadline: Instant,
        drain_until: Option<Instant>,
        cancelled: &PipeReader,
    ) -> io::Result<Spoke> {
        let kill_at = self.cut_at.map(|it| it + Duration::from_millis(KILL_GRACE_MS));
        let next = kill_at
            .unwrap_or(deadline)
            .min(drain_until.unwrap_or(deadline + Duration::from_hours(1)));
        let left = next.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let fds = [
            self.answer.is_none().then(|| self.init.line.as_fd()),
            self.stdout.as_ref().map(|it| it.as_fd()),
            self.stderr.as_ref().map(|it| it.as_fd()),
            self.decided.is_none().then(|| cancelled.as_fd()),
            self.full.as_ref().filter(|_| self.decided.is_none()).map(|it| it.as_fd()),
        ];
        let mut places = [None; 5];
        let mut watched = Vec::with_capacity(5);
        for (place, fd) in places.iter_mut().zip(fds) {
            if let Some(fd) = fd {
                *place = Some(watched.len());
                watched.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
            }
        }
        match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoke =
            |place: Option<usize>| place.is_some_and(|it| !watched[it].revents().is_empty());
        let [line, stdout, stderr, cancelled, full] = places.map(spoke);
        Ok(Spoke { line, stdout, stderr, cancelled, full })
    }
}

#[expect(clippy::struct_excessive_bools, reason = "one for each descriptor")]
struct Spoke {
    line: bool,
    stdout: bool,
    stderr: bool,
    cancelled: bool,
    full: bool,
}

fn read_some(
    pipe: &mut Option<File>,
    stream: LogStream,
    capture: &mut Capture,
    chunk: &mut [u8],
) -> io::Result<()> {
    let Some(file) = pipe else { return Ok(()) };
    match file.read(chunk) {
        Ok(0) => *pipe = None,
        Ok(count) => capture.take(stream, &chunk[..count])?,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
