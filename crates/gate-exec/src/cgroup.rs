//! Control groups, where this process may make them: memory and processes of one run, counted and bounded by the kernel.
//!
//! Whether it may is found out by doing it. Version 2 is taken where it has both controllers, else
//! version 1. A group is named after the process that made it, so that a later one can tell which
//! are nobody's any more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gate_core::MemoryBound;
use rustix::process::getpid;

use crate::limits::KILL_GRACE_MS;
use crate::stop::own_start_ticks;

const PREFIX: &str = "donegate";

/// Counts the groups of this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Where groups are made.
#[derive(Debug, Clone)]
pub(crate) enum Cgroups {
    V1 { memory: PathBuf, pids: PathBuf },
    V2 { all: PathBuf },
}

/// The group of one run.
#[derive(Debug)]
pub(crate) struct Cgroup {
    kind: MemoryBound,
    /// One in each hierarchy.
    directories: Vec<PathBuf>,
}

/// What the kernel has counted in a group since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) out_of_memory: u64,
    pub(crate) process_limit: u64,
}

impl Cgroups {
    /// Makes one, to see whether it can, and removes what dead processes left.
    pub(crate) fn find() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let mut refused = io::Error::other("no cgroup hierarchy is mounted");
        for candidate in [v2(&mounts, &own), v1(&mounts, &own)] {
            match candidate.and_then(Self::proven) {
                Ok(found) => {
                    found.sweep();
                    return Ok(found);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    pub(crate) const fn kind(&self) -> MemoryBound {
        match self {
            Self::V1 { .. } => MemoryBound::CgroupV1,
            Self::V2 { .. } => MemoryBound::CgroupV2,
        }
    }

    /// A group for one run.
    pub(crate) fn make(&self, memory_bytes: u64, processes: u64) -> io::Result<Cgroup> {
        let name = format!(
            "{PREFIX}-{}-{}-{}",
            getpid().as_raw_nonzero(),
            own_start_ticks(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let mut group = Cgroup { kind: self.kind(), directories: Vec::new() };
        let mut make = |parent: &Path, settings: &[(&str, u64)]| {
            let directory = parent.join(&name);
            fs::create_dir(&directory)?;
            group.directories.push(directory.clone());
            settings
                .iter()
                .try_for_each(|(file, value)| fs::write(directory.join(file), value.to_string()))
        };
        match self {
            Self::V1 { memory, pids } => {
                make(memory, &[("memory.limit_in_bytes", memory_bytes)])?;
                make(pids, &[("pids.max", processes)])?;
            }
            Self::V2 { all } => {
                make(all, &[("memory.max", memory_bytes), ("pids.max", processes)])?;
                // Where there is no swap there is no such file.
                let swap = all.join(&name).join("memory.swap.max");
                if swap.exists() {
                    fs::write(swap, "0")?;
                }
            }
        }
        Ok(group)
    }

    fn proven(self) -> io::Result<Self> {
        let group = self.make(64 * 1024 * 1024, 16)?;
        let readable = group.read_counts();
        group.remove()?;
        readable.map(|_| self)
    }

    /// Groups whose makers are gone. What cannot be removed is somebody else's.
    fn sweep(&self) {
        let parents: &[&PathBuf] = match self {
            Self::V1 { memory, pids } => &[memory, pids],
            Self::V2 { all } => &[all],
        };
        for parent in parents {
            for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if maker_is_gone(&name) {
                    let directories = vec![entry.path()];
                    Cgroup { kind: self.kind(), directories }.remove().ok();
                }
            }
        }
    }
}

impl Cgroup {
    /// The process, and all that it starts from now on.
    pub(crate) fn take_in(&self, pid: i32) -> io::Result<()> {
        let write = |it: &PathBuf| fs::write(it.join("cgroup.procs"), pid.to_string());
        self.directories.iter().try_for_each(write)
    }

    /// What cannot be read has counted nothing.
    pub(crate) fn counts(&self) -> Counts {
        self.read_counts().unwrap_or_default()
    }

    /// Ends what is left in it, and removes it.
    pub(crate) fn remove(mut self) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from_millis(KILL_GRACE_MS);
        for directory in std::mem::take(&mut self.directories) {
            remove_group(&directory, deadline)?;
        }
        Ok(())
    }

    fn read_counts(&self) -> io::Result<Counts> {
        let read = |file: &str, word: &str| {
            let path = self.directories.iter().map(|it| it.join(file)).find(|it| it.exists());
            let text = fs::read_to_string(path.ok_or(io::ErrorKind::NotFound)?)?;
            let value = text.lines().find_map(|it| it.strip_prefix(word)?.trim().parse().ok());
            value.ok_or_else(|| io::Error::other(format!("{file} does not count {word}")))
        };
        let memory = match self.kind {
            MemoryBound::CgroupV2 => "memory.events",
            _ => "memory.oom_control",
        };
        Ok(Counts {
            out_of_memory: read(memory, "oom_kill ")?,
            process_limit: read("pids.events", "max ")?,
        })
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(KILL_GRACE_MS);
        for directory in &self.directories {
            // A later start sweeps what is left.
            remove_group(directory, deadline).ok();
        }
    }
}

fn remove_group(directory: &Path, deadline: Instant) -> io::Result<()> {
    loop {
        match fs::remove_dir(directory) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => kill_all(directory)?,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kill_all(directory: &Path) -> io::Result<()> {
    if fs::write(directory.join("cgroup.kill"), "1").is_ok() {
        return Ok(());
    }
    let pids = fs::read_to_string(directory.join("cgroup.procs"))?;
    for pid in pids.lines().filter_map(|it| it.parse().ok()) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
    Ok(())
}

/// Whether a name is one of ours, and the process in it does not live any more.
fn maker_is_gone(name: &str) -> bool {
    let mut parts = name.split('-');
    if parts.next() != Some(PREFIX) {
        return false;
    }
    let (Some(pid), Some(start)) = (parts.next(), parts.next()) else { return false };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_ascii_whitespace().nth(19) != Some(start)
}

fn v1(mounts: &str, own: &str) -> io::Result<Cgroups> {
    let find = |controller: &str| {
        let missing = || io::Error::other(format!("no cgroup of version 1 counts {controller}"));
        let mount = mount_point(mounts, "cgroup", Some(controller)).ok_or_else(missing)?;
        let path = own.lines().find_map(|it| {
            let mut fields = it.splitn(3, ':').skip(1);
            fields.next()?.split(',').any(|it| it == controller).then(|| fields.next())?
        });
        Ok::<_, io::Error>(below(&mount, path.ok_or_else(missing)?))
    };
    Ok(Cgroups::V1 { memory: find("memory")?, pids: find("pids")? })
}

fn v2(mounts: &str, own: &str) -> io::Result<Cgroups> {
    let missing = || io::Error::other("no cgroup of version 2 is mounted");
    let mount = mount_point(mounts, "cgroup2", None).ok_or_else(missing)?;
    let path = own.lines().find_map(|it| it.strip_prefix("0::")).ok_or_else(missing)?;
    let all = below(&mount, path);
    let has = |file: &str| {
        let text = fs::read_to_string(all.join(file))?;
        let found = |it: &str| text.split_whitespace().any(|word| word == it);
        Ok::<_, io::Error>(found("memory") && found("pids"))
    };
    if !has("cgroup.controllers")? {
        return Err(io::Error::other("the cgroup of version 2 has no memory and pids controllers"));
    }
    if !has("cgroup.subtree_control")? {
        fs::write(all.join("cgroup.subtree_control"), "+memory +pids")?;
    }
    Ok(Cgroups::V2 { all })
}

fn below(mount: &Path, path: &str) -> PathBuf {
    let whole = mount.join(path.trim_start_matches('/'));
    // In a cgroup namespace, or where a container sees only its own part, the path is not below the mount.
    if whole.is_dir() { whole } else { mount.to_owned() }
}

/// Where a hierarchy of this kind, with this option, is mounted.
fn mount_point(mounts: &str, kind: &str, option: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let right_kind = after.next()? == kind;
        let options = after.nth(1)?;
        let right_option = option.is_none_or(|it| options.split(',').any(|word| word == it));
        (right_kind && right_option).then(|| before.split(' ').nth(4).map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn a_hierarchy_is_found_by_its_kind_and_option() {
        let found = |kind, option| mount_point(MOUNTS, kind, option);
        assert_eq!(found("cgroup", Some("memory")), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(found("cgroup", Some("pids")), None);
        assert_eq!(found("cgroup2", None), Some("/sys/fs/cgroup/unified".into()));
    }

    #[test]
    fn only_groups_of_dead_makers_are_swept() {
        let own = format!("{PREFIX}-{}-{}-0", getpid().as_raw_nonzero(), own_start_ticks());
        assert!(!maker_is_gone(&own));
        assert!(maker_is_gone(&format!("{PREFIX}-{}-1-0", getpid().as_raw_nonzero())));
        assert!(!maker_is_gone("system.slice") && !maker_is_gone(PREFIX));
    }

    #[test]
    fn a_group_that_can_be_made_counts_and_goes() {
        let Ok(cgroups) = Cgroups::find() else {
            println!("not run: this user may not make cgroups here");
            return;
        };
        let group = cgroups.make(64 * 1024 * 1024, 16).unwrap();
        let directories = group.directories.clone();
        let mut sleep = crate::spawn::plain("sleep").arg("1000").spawn().unwrap();
        group.take_in(sleep.id().try_into().unwrap()).unwrap();
        assert_eq!(group.counts(), Counts::default());
        // It ends what is in it.
        let waiting = std::thread::spawn(move || sleep.wait().unwrap());
        group.remove().unwrap();
        assert!(!waiting.join().unwrap().success());
        assert!(directories.iter().all(|it| !it.exists()));
    }
}
