//! Serves the commands of one run, one after the other, until the gate has no more or is gone.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::fstatvfs;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::command::{self, NotStarted, Started};
use super::engine_counts::EngineCounts;
use super::fence::Fence;
use super::kill::Domain;
use super::measure::{Looking, Reaping};
use super::results::{self, Moment};
use super::{protected, sys};
use crate::limits::{CONTAINER_DISK, OWN_PROCESSES};
use crate::wire::{
    self, Bounds, HowItEnded, Order, Ready, Record, Refusal, Restored, Results, SetUp, Walls,
};
use crate::workspace::Prepared;

/// Less than this left is a disk that is full.
const DISK_LEFT_BYTES_MIN: u64 = 4096;

/// Where the kernel does not count a command's processes alone, it is ended at this many times its limit.
const PROCESSES_TIMES_MAX: u64 = 2;

/// An init whose walls stand.
pub(super) struct Service<'a> {
    line: &'a UnixStream,
    set_up: &'a SetUp,
    fence: Fence,
    domain: Domain,
    /// Where the room that is left can be asked for.
    disks: Vec<File>,
    /// When the last command was started.
    started: Cell<Moment>,
}

/// Why a command is not waited for any longer.
enum End {
    /// It has ended by itself.
    Itself,
    Cut(HowItEnded),
    /// The gate is gone: nobody wants to know.
    Alone,
}

impl<'a> Service<'a> {
    pub(super) fn new(
        line: &'a UnixStream,
        set_up: &'a SetUp,
        fence: Fence,
        domain: Domain,
    ) -> Result<Self, Refusal> {
        let disks: &[&str] = match &set_up.walls {
            Walls::Namespace(_) => &["/tmp"],
            Walls::Container(_) => &[CONTAINER_DISK, "/tmp", "/var/tmp", "/run", "/dev/shm"],
            Walls::None | Walls::Landlock(_) => &[],
        };
        let disks: io::Result<Vec<File>> = disks.iter().map(File::open).collect();
        let disks = disks.map_err(Refusal::at("opening the disk of the run"))?;
        Ok(Self { line, set_up, fence, domain, disks, started: Cell::new(Moment::now()) })
    }

    pub(super) fn ready(&self) -> Ready {
        let loopback = match self.set_up.walls {
            Walls::None | Walls::Namespace(_) | Walls::Container(_) => true,
            Walls::Landlock(_) => false,
        };
        Ready { landlock_abi: self.fence.landlock_abi(), loopback }
    }

    pub(super) fn serve(&self) -> io::Result<()> {
        while let Some((order, output)) = wire::receive::<Order>(self.line)? {
            match order {
                Order::Run { words } => {
                    let missing = || io::Error::other("an order without its two descriptors");
                    let output: [OwnedFd; 2] = output.try_into().or(Err(missing()))?;
                    let answer = match self.run(&words, output) {
                        Ok(Some(record)) => Ok(record),
                        Ok(None) => return Ok(()),
                        Err(refusal) => Err(refusal),
                    };
                    wire::send(self.line, &answer, &[])?;
                }
                Order::Results { globs } => self.hand_over(&globs)?,
                Order::Look { wanted } => {
                    let answer = command::look(&wanted, self.set_up, &self.fence);
                    wire::send(self.line, &answer, &[])?;
                }
                Order::Altered { files } => {
                    let found = self.as_user(|| protected::altered(&self.set_up.directory, &files));
                    let answer = found.map_err(Refusal::at("comparing protected files"));
                    wire::send(self.line, &answer, &[])?;
                }
                Order::Restore { file } => {
                    let answer = self.restore(&file, output.into_iter().next());
                    wire::send(self.line, &answer, &[])?;
                }
                // A command that had ended before it was cut off has told so.
                Order::CutOff => {}
            }
        }
        Ok(())
    }

    /// `None` when the gate is gone.
    fn run(
        &self,
        words: &[std::ffi::OsString],
        output: [OwnedFd; 2],
    ) -> Result<Option<Record>, Refusal> {
        let before = self.engine_counts();
        self.started.set(Moment::now());
        let started = match command::start(words, output, self.set_up, &self.fence) {
            Ok(started) => started,
            Err(why) => {
                self.domain.end_all(&mut Reaping::default()).map_err(Refusal::at("reaping"))?;
                return match why {
                    NotStarted::Ended(how) => Ok(Some(Record::plain(how))),
                    NotStarted::Refused(refusal) => Err(refusal),
                };
            }
        };
        let Started(pid) = started;
        let mut watched = Watched::new(pid, self)?;
        let end = watched.until_end();
        let Watched { mut reaping, disk_was_full, process_limit_hit, memory_peak_bytes, .. } =
            watched;
        self.domain.end_all(&mut reaping).map_err(Refusal::at("ending what the command left"))?;
        let own = reaping.status;
        let how = match end.map_err(Refusal::at("waiting for the command"))? {
            End::Alone => return Ok(None),
            End::Cut(how) => how,
            End::Itself => how_it_ended(own).ok_or_else(|| {
                Refusal::says("waiting for the command", "it neither exited nor was killed")
            })?,
        };
        let counted = self.engine_counts();
        let how = match how {
            // An end that it survived is told by itself.
            HowItEnded::Exited(1..) | HowItEnded::Signal(_)
                if counted.out_of_memory > before.out_of_memory =>
            {
                HowItEnded::OutOfMemory
            }
            how => how,
        };
        Ok(Some(Record {
            how,
            cpu_us: reaping.cpu_us,
            memory_peak_bytes: reaping.memory_peak_bytes.max(memory_peak_bytes),
            stragglers_killed: reaping.killed,
            disk_was_full: disk_was_full || self.disk_is_full(),
            process_limit_hit: process_limit_hit || counted.process_limit > before.process_limit,
        }))
    }

    fn hand_over(&self, globs: &[String]) -> io::Result<()> {
        let found = results::collect(&self.set_up.directory, globs, self.started.get());
        // So that none of it looks as if the next command had written it.
        results::let_a_tick_pass();
        match found {
            Ok((results, bytes)) => {
                wire::send(self.line, &Ok::<_, Refusal>(results), &[bytes.as_fd()])
            }
            Err(error) => {
                let refusal = Refusal::at("reading what a command wrote")(error);
                wire::send(self.line, &Err::<Results, _>(refusal), &[])
            }
        }
    }

    fn restore(&self, file: &Prepared, bytes: Option<OwnedFd>) -> Result<Restored, Refusal> {
        let root = &self.set_up.directory;
        match self.as_user(|| protected::restore(root, file, bytes)) {
            Ok(()) => Ok(Restored::AsPrepared),
            // Where the disk is the host's, that is nothing that a command did within its limit.
            Err(error) if error.kind() == io::ErrorKind::StorageFull && !self.disks.is_empty() => {
                Ok(Restored::NoRoom)
            }
            Err(error) => Err(Refusal::at("putting a protected file back")(error)),
        }
    }

    /// Does something to files as the commands would, who own all that they may write.
    fn as_user<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.set_up.uid {
            Some(uid) => sys::as_user_of_files(uid, work),
            None => work(),
        }
    }

    /// Elsewhere, the gate counts in a cgroup of its own.
    fn engine_counts(&self) -> EngineCounts {
        match self.set_up.walls {
            Walls::Container(_) => EngineCounts::now(),
            Walls::None | Walls::Landlock(_) | Walls::Namespace(_) => EngineCounts::default(),
        }
    }

    fn disk_is_full(&self) -> bool {
        let mut left = self.disks.iter().filter_map(|it| fstatvfs(it).ok());
        left.any(|it| it.f_bavail * it.f_bsize < DISK_LEFT_BYTES_MIN || it.f_favail == 0)
    }

    /// What is written to file systems in memory, which have a limit of their own.
    fn files_bytes(&self) -> u64 {
        let used = self.disks.iter().filter_map(|it| fstatvfs(it).ok());
        used.map(|it| it.f_blocks.saturating_sub(it.f_bfree) * it.f_frsize).sum()
    }

    /// Some engines do not let the number of entries of a file system be set.
    fn has_too_many_entries(&self) -> bool {
        let used = self.disks.iter().filter_map(|it| fstatvfs(it).ok());
        let used: u64 = used.map(|it| it.f_files.saturating_sub(it.f_ffree)).sum();
        used > self.set_up.bounds.disk_entries
    }
}

/// However serving ends, no command goes on without its init.
impl Drop for Service<'_> {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        self.domain.end_all(&mut Reaping::default()).ok();
    }
}

fn how_it_ended(status: Option<i32>) -> Option<HowItEnded> {
    let status = status?;
    if libc::WIFEXITED(status) {
        return Some(HowItEnded::Exited(libc::WEXITSTATUS(status)));
    }
    libc::WIFSIGNALED(status).then(|| HowItEnded::Signal(libc::WTERMSIG(status)))
}

/// A command that runs.
struct Watched<'a> {
    service: &'a Service<'a>,
    end: OwnedFd,
    reaping: Reaping,
    looking: Looking,
    memory_peak_bytes: u64,
    disk_was_full: bool,
    process_limit_hit: bool,
}

impl<'a> Watched<'a> {
    fn new(command: Pid, service: &'a Service<'a>) -> Result<Self, Refusal> {
        Ok(Self {
            service,
            end: pidfd_open(command, PidfdFlags::empty())
                .map_err(Refusal::at("watching the command"))?,
            reaping: Reaping::of(command.as_raw_nonzero().get()),
            looking: Looking::new(service.domain, service.set_up.uid),
            memory_peak_bytes: 0,
            disk_was_full: false,
            process_limit_hit: false,
        })
    }

    fn until_end(&mut self) -> io::Result<End> {
        loop {
            let line = self.service.line;
            let mut watched = [
                PollFd::new(&self.end, PollFlags::IN),
                PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN),
            ];
            let pause = self.looking.until_next() + Duration::from_millis(1);
            match poll(&mut watched, Timespec::try_from(pause).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let gate_spoke = !watched[1].revents().is_empty();
            self.reaping.reap_all()?;
            if self.reaping.status.is_some() {
                return Ok(End::Itself);
            }
            if gate_spoke {
                match wire::receive::<Order>(line) {
                    Ok(Some((Order::CutOff, _))) => return Ok(End::Cut(HowItEnded::CutOff)),
                    Ok(Some((
                        Order::Run { .. }
                        | Order::Results { .. }
                        | Order::Look { .. }
                        | Order::Altered { .. }
                        | Order::Restore { .. },
                        _,
                    ))) => {}
                    Ok(None) | Err(_) => return Ok(End::Alone),
                }
            }
            if let Some(how) = self.look()? {
                return Ok(End::Cut(how));
            }
        }
    }

    /// Whether it is so also where what processes share is counted once.
    fn use_more_than(&mut self, most: u64) -> io::Result<bool> {
        match self.service.set_up.walls {
            // A container's init may not look into the processes of other users.
            Walls::Container(_) => {
                let used = EngineCounts::memory_bytes(self.service.files_bytes());
                Ok(used.is_none_or(|it| it > most))
            }
            Walls::None | Walls::Landlock(_) | Walls::Namespace(_) => {
                self.looking.use_more_than(most, self.service.files_bytes())
            }
        }
    }

    /// Whether the command and all of its own use too much together.
    fn look(&mut self) -> io::Result<Option<HowItEnded>> {
        let Some(living) = self.looking.look()? else { return Ok(None) };
        let Bounds { memory_bytes, cpu_ms, processes_max, .. } = self.service.set_up.bounds;
        self.disk_was_full |= self.service.disk_is_full();
        self.process_limit_hit |=
            processes_max.is_some_and(|most| living.processes + OWN_PROCESSES >= most);
        if processes_max.is_some_and(|most| living.processes >= most * PROCESSES_TIMES_MAX) {
            return Ok(Some(HowItEnded::Signal(libc::SIGKILL)));
        }
        if self.service.has_too_many_entries() {
            return Ok(Some(HowItEnded::DiskFull));
        }
        let most = memory_bytes.unwrap_or(u64::MAX);
        let shared = living.shared_bytes.saturating_sub(self.service.files_bytes());
        let used = living.memory_bytes + shared;
        if used > most && self.use_more_than(most)? {
            self.memory_peak_bytes = self.memory_peak_bytes.max(used);
            return Ok(Some(HowItEnded::OutOfMemory));
        }
        self.memory_peak_bytes = self.memory_peak_bytes.max(used.min(most));
        let used_ms = (self.reaping.cpu_us + living.cpu_us) / 1000;
        Ok(cpu_ms.is_some_and(|most| used_ms > most).then_some(HowItEnded::CpuLimit))
    }
}
