//! What the processes of a command use, while they live and when they are reaped.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use super::descendants;
use super::kill::Domain;
use super::sys;

/// How often the living are looked at.
pub(super) const LOOK_EVERY_MS: u64 = 100;
/// And how often at least, however long a look takes on a machine that does much else.
const LOOK_AT_LEAST_EVERY_MS: u64 = 1_000;
/// How long memory may be counted page by page.
const COUNT_FOR_MS: u64 = 50;
/// The unit of times in `/proc/<pid>/stat`, which is the same on all of Linux's architectures.
const TICK_US: u64 = 10_000;

/// Counts what is reaped, and looks out for one child.
#[derive(Debug, Default)]
pub(super) struct Reaping {
    command: i32,
    pub(super) status: Option<i32>,
    pub(super) cpu_us: u64,
    pub(super) memory_peak_bytes: u64,
    /// Others than the command that SIGKILL ended.
    pub(super) killed: u32,
}

impl Reaping {
    pub(super) fn of(command: i32) -> Self {
        Self { command, ..Self::default() }
    }

    /// Reaps whatever has ended, and tells whether children are left.
    pub(super) fn reap_all(&mut self) -> io::Result<bool> {
        loop {
            match sys::reap() {
                Ok(Some(reaped)) => self.count(reaped),
                Ok(None) => return Ok(true),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn count(&mut self, reaped: sys::Reaped) {
        self.cpu_us += reaped.cpu_us;
        self.memory_peak_bytes = self.memory_peak_bytes.max(reaped.memory_peak_bytes);
        if reaped.pid == self.command {
            self.status = Some(reaped.status);
        } else if libc::WIFSIGNALED(reaped.status) && libc::WTERMSIG(reaped.status) == libc::SIGKILL
        {
            self.killed += 1;
        }
    }
}

/// What the living use together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Living {
    /// Memory of each that is no file's. A page that two share since their fork counts twice.
    pub(super) memory_bytes: u64,
    /// Memory that is meant to be shared, and files in memory that are mapped; once for each process.
    pub(super) shared_bytes: u64,
    /// Since each started, with the children that it has waited for.
    pub(super) cpu_us: u64,
    /// And threads.
    pub(super) processes: u64,
}

/// Looks at all processes of the domain, not more often than [`LOOK_EVERY_MS`].
#[derive(Debug)]
pub(super) struct Looking {
    domain: Domain,
    /// The user of the commands, where it is not this one.
    uid: Option<u32>,
    next: Instant,
}

impl Looking {
    pub(super) fn new(domain: Domain, uid: Option<u32>) -> Self {
        Self { domain, uid, next: Instant::now() + Duration::from_millis(LOOK_EVERY_MS) }
    }

    pub(super) fn until_next(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// `None` while it is too early.
    pub(super) fn look(&mut self) -> io::Result<Option<Living>> {
        let now = Instant::now();
        if now < self.next {
            return Ok(None);
        }
        let mut sum = Living::default();
        for pid in self.pids()? {
            let one = one(pid).unwrap_or_default();
            sum.memory_bytes += one.memory_bytes;
            sum.shared_bytes += one.shared_bytes;
            sum.cpu_us += one.cpu_us;
            sum.processes += one.processes;
        }
        // Looking may not cost more than a twentieth of the time.
        let pause = (now.elapsed() * 20).clamp(
            Duration::from_millis(LOOK_EVERY_MS),
            Duration::from_millis(LOOK_AT_LEAST_EVERY_MS),
        );
        self.next = Instant::now() + pause;
        Ok(Some(sum))
    }

    /// Whether all of them together use more, where a page that several share counts once, and what is
    /// written to files in memory does not count here. What is not counted in time is taken to be like the rest.
    pub(super) fn use_more_than(&self, most: u64, files_bytes: u64) -> io::Result<bool> {
        let pids = self.pids()?;
        // A root without all capabilities, as in a container, may not look at other users' pages.
        Ok(match self.uid {
            Some(uid) => sys::as_user_of_files(uid, || count_more_than(&pids, most, files_bytes)),
            None => count_more_than(&pids, most, files_bytes),
        })
    }

    fn pids(&self) -> io::Result<Vec<i32>> {
        match self.domain {
            Domain::Namespace => all_but_first(),
            Domain::Descendants | Domain::Scoped => descendants::living(),
        }
    }
}

fn all_but_first() -> io::Result<Vec<i32>> {
    let names = fs::read_dir("/proc")?.flatten().map(|it| it.file_name());
    let pids = names.filter_map(|it| it.to_str().and_then(|it| it.parse().ok()));
    Ok(pids.filter(|it| *it != 1).collect())
}

fn count_more_than(pids: &[i32], most: u64, files_bytes: u64) -> bool {
    let give_up = Instant::now() + Duration::from_millis(COUNT_FOR_MS);
    let (mut sum, mut counted) = (Part::default(), 0);
    for pid in pids {
        let part = part_of_memory(*pid).or_else(|| {
            let Living { memory_bytes, shared_bytes, .. } = one(*pid)?;
            Some(Part { own_bytes: memory_bytes, shared_bytes })
        });
        let part = part.unwrap_or_default();
        sum.own_bytes += part.own_bytes;
        sum.shared_bytes += part.shared_bytes;
        counted += 1;
        if sum.beside(files_bytes) > most || Instant::now() > give_up {
            break;
        }
    }
    let all = |it: u64| it / counted.max(1) * pids.len() as u64;
    let like = Part { own_bytes: all(sum.own_bytes), shared_bytes: all(sum.shared_bytes) };
    sum.beside(files_bytes) > most || like.beside(files_bytes) > most
}

/// A process's own pages, and its part of those that it shares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    own_bytes: u64,
    shared_bytes: u64,
}

impl Part {
    fn beside(self, files_bytes: u64) -> u64 {
        self.own_bytes + self.shared_bytes.saturating_sub(files_bytes)
    }
}

/// `None` where the kernel does not tell.
fn part_of_memory(pid: i32) -> Option<Part> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let own_bytes = kibibytes(&text, "Pss_Anon:")?;
    Some(Part { own_bytes, shared_bytes: kibibytes(&text, "Pss_Shmem:")? })
}

/// The value in bytes of a line with this word.
fn kibibytes(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|it| it.strip_prefix(word))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// `None` for a process that has ended meanwhile.
fn one(pid: i32) -> Option<Living> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, also parentheses.
    let after = stat.iter().rposition(|it| *it == b')')? + 1;
    let stat = String::from_utf8_lossy(&stat[after..]).into_owned();
    let mut fields = stat.split_ascii_whitespace().skip(11).map(|it| it.parse().unwrap_or(0));
    let ticks: u64 = fields.by_ref().take(4).sum();
    let processes = fields.nth(2)?;
    // One that has ended and waits to be reaped has no such lines.
    let memory_bytes = kibibytes(&status, "RssAnon:").unwrap_or(0);
    let shared_bytes = kibibytes(&status, "RssShmem:").unwrap_or(0);
    Some(Living { memory_bytes, shared_bytes, cpu_us: ticks * TICK_US, processes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_to_use_memory_and_time() {
        let block = vec![1_u8; 32 * 1024 * 1024];
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(30) {
            std::hint::black_box(&block);
        }
        let seen = one(rustix::process::getpid().as_raw_nonzero().get()).unwrap();
        assert!(seen.memory_bytes >= 32 * 1024 * 1024, "{seen:?}");
        assert!(seen.cpu_us >= TICK_US, "{seen:?}");
        // A kernel of before 5.4 does not tell.
        let part = part_of_memory(rustix::process::getpid().as_raw_nonzero().get());
        assert!(part.is_none_or(|it| it.own_bytes >= 32 * 1024 * 1024), "{part:?}");
    }
}
