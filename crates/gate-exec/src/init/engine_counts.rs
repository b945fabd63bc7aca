//! What the cgroup that a container engine made says, read from within the container.

use std::fs;
use std::path::{Path, PathBuf};

/// Where engines show a container its own cgroup.
const CGROUP: &str = "/sys/fs/cgroup";

/// How often the kernel said no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EngineCounts {
    /// Processes that were killed because there was no memory left.
    pub(super) out_of_memory: u64,
    /// Processes that could not be started because there were too many.
    pub(super) process_limit: u64,
}

impl EngineCounts {
    /// Nothing, where the cgroup cannot be seen.
    pub(super) fn now() -> Self {
        Self::in_directory(Path::new(CGROUP))
    }

    /// Whether both memory and processes are bounded, and by no more than this.
    pub(super) fn are_within(memory_bytes: u64, processes: u64) -> bool {
        within(Path::new(CGROUP), memory_bytes, processes)
    }

    /// Memory of all processes together, what they share counted once; without files, of which so much is in memory.
    pub(super) fn memory_bytes(files_bytes: u64) -> Option<u64> {
        memory_in(Path::new(CGROUP), files_bytes)
    }

    fn in_directory(root: &Path) -> Self {
        let count = |files: [&str; 2], word: &str| {
            let text = read(root, files).unwrap_or_default();
            text.lines().find_map(|it| it.strip_prefix(word)?.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            out_of_memory: count(["memory.events", "memory/memory.oom_control"], "oom_kill "),
            process_limit: count(["pids.events", "pids/pids.events"], "max "),
        }
    }
}

fn memory_in(root: &Path, files_bytes: u64) -> Option<u64> {
    let text = read(root, ["memory.stat", "memory/memory.stat"])?;
    let of_all = |words: [&str; 2]| -> Option<u64> {
        let value =
            |line: &str| words.iter().find_map(|it| line.strip_prefix(it))?.trim().parse().ok();
        text.lines().find_map(value)
    };
    let own = of_all(["anon ", "total_rss "])?;
    let shared = of_all(["shmem ", "total_shmem "]).unwrap_or(0);
    Some(own + shared.saturating_sub(files_bytes))
}

fn within(root: &Path, memory_bytes: u64, processes: u64) -> bool {
    let is_at_most = |files, most: u64| {
        // Without a limit, it is a word, or a number that is larger than any.
        read(root, files).and_then(|it| it.trim().parse().ok()).is_some_and(|it: u64| it <= most)
    };
    is_at_most(["memory.max", "memory/memory.limit_in_bytes"], memory_bytes)
        && is_at_most(["pids.max", "pids/pids.max"], processes)
}

/// The file of version 2, or that of version 1.
fn read(root: &Path, files: [&str; 2]) -> Option<String> {
    let paths: [PathBuf; 2] = files.map(|it| root.join(it));
    paths.iter().find_map(|it| fs::read_to_string(it).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn both_versions_are_read() {
        let second = group(&[
            ("memory.max", "1073741824\n"),
            ("memory.stat", "anon 4096\nfile 8192\nshmem 1024\nanon_thp 1\n"),
            ("memory.events", "low 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n"),
            ("pids.max", "256\n"),
            ("pids.events", "max 5\n"),
        ]);
        let first = group(&[
            ("memory/memory.limit_in_bytes", "1073741824\n"),
            (
                "memory/memory.stat",
                "cache 1\nrss 2\ntotal_cache 8192\ntotal_rss 4096\ntotal_shmem 1024\n",
            ),
            ("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
            ("pids/pids.max", "256\n"),
            ("pids/pids.events", "max 5\n"),
        ]);
        for root in [first.path(), second.path()] {
            assert!(within(root, 1 << 30, 256));
            // Those of something larger that the container is in are not its own.
            assert!(!within(root, (1 << 30) - 1, 256) && !within(root, 1 << 30, 255));
            assert_eq!(memory_in(root, 1000), Some(4096 + 24));
            let counts = EngineCounts::in_directory(root);
            assert_eq!(counts, EngineCounts { out_of_memory: 3, process_limit: 5 });
        }
    }

    #[test]
    fn what_is_not_bounded_or_not_there_is_told_so() {
        for files in [
            &[][..],
            &[("memory.max", "max\n"), ("pids.max", "256\n")],
            &[("memory.max", "1024\n"), ("pids.max", "max\n")],
            &[("memory/memory.limit_in_bytes", "9223372036854771712\n"), ("pids/pids.max", "9\n")],
        ] {
            let root = group(files);
            assert!(!within(root.path(), 1 << 30, 256), "{files:?}");
            assert_eq!(EngineCounts::in_directory(root.path()), EngineCounts::default());
        }
    }
}
