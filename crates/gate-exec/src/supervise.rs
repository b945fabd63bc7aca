//! Stays with one attended process from its start to its end: drains its output, keeps its time, ends it.
//!
//! One blocking loop over four descriptors, on a thread of its own: no flood of output can starve
//! the clock, and the call returns in time whatever the process does.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use gate_core::{LogStream, Usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use crate::capture::{Capture, Kept};
use crate::limits::{DRAIN_MS, KILL_GRACE_MS};
use crate::logs::LogPlace;
use crate::record::{HowItEnded, RECORD_BYTES_MAX, Record};
use crate::spawn::{self, Attended, Start};
use crate::stop;

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The bounds of one attended process.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) output_bytes: u64,
    pub(crate) logs: Option<LogPlace>,
}

/// How it ended, as the gate sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signal(i32),
    NotFound,
    NotExecutable(i32),
    TimedOut,
    OutputLimit,
    Cancelled,
}

/// All that is known afterwards.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) stragglers_killed: u32,
    pub(crate) kept: Kept,
}

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuperviseError {
    #[error("{stage} failed")]
    System { stage: &'static str, source: io::Error },
    #[error("the init could not {0}")]
    Init(String),
    #[error(
        "the init ended without a word; an executable that runs commands calls `gate_exec::init::take_over_if_asked()` first in `main`, and no command may kill it"
    )]
    InitLost,
}

/// Runs it to its end. Dropping the future ends it too.
pub(crate) async fn supervise(
    start: Start,
    bounds: Bounds,
    cancel: &CancellationToken,
) -> Result<Finished, SuperviseError> {
    let (cancelled, hold) = io::pipe().map_err(system("making a pipe"))?;
    let mut thread = tokio::task::spawn_blocking(move || watch(&start, &bounds, &cancelled));
    let joined = tokio::select! {
        joined = &mut thread => joined,
        () = cancel.cancelled() => {
            drop(hold);
            thread.await
        }
    };
    joined.map_err(|error| SuperviseError::System {
        stage: "the watching thread",
        source: io::Error::other(error),
    })?
}

fn system(stage: &'static str) -> impl FnOnce(io::Error) -> SuperviseError {
    move |source| SuperviseError::System { stage, source }
}

fn watch(
    start: &Start,
    bounds: &Bounds,
    cancelled: &PipeReader,
) -> Result<Finished, SuperviseError> {
    let mark = stop::Mark::new();
    let mut start = start.clone();
    start.variables.push(mark.variable());
    let started = Instant::now();
    let Attended { init, line, stdout, stderr } =
        spawn::attended(&start).map_err(system("starting the init"))?;
    let mut watch = Watch {
        init: stop::KillOnDrop(init),
        line,
        said: Vec::new(),
        stdout: Some(File::from(stdout)),
        stderr: Some(File::from(stderr)),
        capture: Capture::new(bounds.output_bytes, bounds.logs.as_ref()),
        decided: None,
        cut_at: None,
        line_open: true,
    };
    let result = watch.until_gone(started + bounds.time, cancelled);
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    watch.conclude(result, &mark, duration_ms)
}

struct Watch {
    init: stop::KillOnDrop,
    line: std::os::unix::net::UnixStream,
    said: Vec<u8>,
    stdout: Option<File>,
    stderr: Option<File>,
    capture: Capture,
    /// The end, where the gate decided it.
    decided: Option<Ending>,
    cut_at: Option<Instant>,
    line_open: bool,
}

impl Watch {
    /// Until the init is gone and both pipes are closed, or time for that is up.
    fn until_gone(&mut self, deadline: Instant, cancelled: &PipeReader) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut drain_until = None;
        while self.line_open || self.stdout.is_some() || self.stderr.is_some() {
            let now = Instant::now();
            if !self.line_open {
                let until =
                    *drain_until.get_or_insert_with(|| now + Duration::from_millis(DRAIN_MS));
                if now >= until {
                    return Ok(());
                }
            }
            if self.decided.is_none() && now >= deadline {
                self.cut(Ending::TimedOut);
            }
            if self.cut_at.is_some_and(|it| now >= it + Duration::from_millis(KILL_GRACE_MS)) {
                // It was stopped or is stuck: what it leaves is found by its mark.
                self.init.kill();
            }
            let ready = self.wait(deadline, drain_until, cancelled)?;
            if ready.cancelled && self.decided.is_none() {
                self.cut(Ending::Cancelled);
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
                self.listen();
            }
        }
        Ok(())
    }

    fn cut(&mut self, ending: Ending) {
        self.decided = Some(ending);
        self.cut_at = Some(Instant::now());
        // It fails only when the other end is gone already.
        self.line.shutdown(Shutdown::Write).ok();
    }

    fn wait(
        &self,
        deadline: Instant,
        drain_until: Option<Instant>,
        cancelled: &PipeReader,
    ) -> io::Result<Ready> {
        let kill_at = self.cut_at.map(|it| it + Duration::from_millis(KILL_GRACE_MS));
        let next = kill_at
            .unwrap_or(deadline)
            .min(drain_until.unwrap_or(deadline + Duration::from_hours(1)));
        let left = next.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let mut watched = Vec::with_capacity(4);
        let mut add = |fd| watched.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let mut places = [None; 4];
        let mut at = 0;
        let fds = [
            self.line_open.then(|| self.line.as_fd()),
            self.stdout.as_ref().map(AsFd::as_fd),
            self.stderr.as_ref().map(AsFd::as_fd),
            self.decided.is_none().then(|| cancelled.as_fd()),
        ];
        for (place, fd) in places.iter_mut().zip(fds) {
            if let Some(fd) = fd {
                add(fd);
                *place = Some(at);
                at += 1;
            }
        }
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoke =
            |place: Option<usize>| place.is_some_and(|it| !watched[it].revents().is_empty());
        let [line, stdout, stderr, cancelled] = places.map(spoke);
        Ok(Ready { line, stdout, stderr, cancelled })
    }

    fn listen(&mut self) {
        let mut bytes = [0; 256];
        match self.line.read(&mut bytes) {
            Ok(count @ 1..) if self.said.len() < RECORD_BYTES_MAX => {
                self.said.extend_from_slice(&bytes[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => self.line_open = false,
        }
    }

    fn conclude(
        mut self,
        result: io::Result<()>,
        mark: &stop::Mark,
        duration_ms: u64,
    ) -> Result<Finished, SuperviseError> {
        let record = Record::parse(&self.said);
        let clean = record.as_ref().is_some_and(|it| !matches!(it.how, HowItEnded::Failed(_)));
        self.init.kill();
        let mut swept = 0;
        if !clean {
            swept = mark.sweep().map_err(system("ending what a lost init left"))?;
        }
        result.map_err(system("reading the command's output"))?;
        let (mut stragglers_killed, usage) =
            record.as_ref().map(|it| (it.stragglers_killed, it.usage)).unwrap_or_default();
        stragglers_killed += swept;
        let ending = match (self.decided, record.map(|it| it.how)) {
            (Some(decided), _) => decided,
            (None, Some(HowItEnded::Exited(code))) => Ending::Exited(code),
            (None, Some(HowItEnded::Signal(signal))) => Ending::Signal(signal),
            (None, Some(HowItEnded::NotFound)) => Ending::NotFound,
            (None, Some(HowItEnded::NotExecutable(errno))) => Ending::NotExecutable(errno),
            (None, Some(HowItEnded::Failed(text))) => return Err(SuperviseError::Init(text)),
            (None, Some(HowItEnded::CutOff) | None) => return Err(SuperviseError::InitLost),
        };
        let kept = self.capture.finish().map_err(system("writing the logs"))?;
        let usage = usage.with_duration(duration_ms);
        Ok(Finished { ending, usage, stragglers_killed, kept })
    }
}

#[expect(clippy::struct_excessive_bools, reason = "one for each descriptor")]
struct Ready {
    line: bool,
    stdout: bool,
    stderr: bool,
    cancelled: bool,
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
