//! Finds what a command wrote for machines to read, and hands it over.
//!
//! No process of the command lives any more, so that nothing changes meanwhile. Links are not followed; what the
//! file system calls older than the command is somebody else's, whatever its name.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::limits::{RESULTS_BYTES_MAX, RESULTS_ENTRIES_MAX, RESULTS_MAX};
use crate::wire::Results;

/// No kernel's clock stands still for longer.
const TICK_MS_MAX: u32 = 50;

/// A moment, on the clock by which file systems say when a file was changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(Timespec);

impl Moment {
    pub(super) fn now() -> Self {
        Self(clock_gettime(ClockId::RealtimeCoarse))
    }

    /// Not the time that a command may set. What is as old counts too: the clock may stand still while a short command runs.
    fn is_not_after(self, file: &Metadata) -> bool {
        (file.ctime(), file.ctime_nsec()) >= (self.0.tv_sec, self.0.tv_nsec)
    }
}

/// Waits until whatever is written from now on is younger than what was written before: file systems look at a clock
/// that stands still for milliseconds at a time, and may run ahead of it.
pub(super) fn let_a_tick_pass() {
    let now = clock_gettime(ClockId::Realtime);
    let is_behind = |it: Timespec| (it.tv_sec, it.tv_nsec) <= (now.tv_sec, now.tv_nsec);
    for _ in 0..TICK_MS_MAX {
        if !is_behind(clock_gettime(ClockId::RealtimeCoarse)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The files below `root` that match and were written since, with all their bytes in one file.
pub(super) fn collect(root: &Path, globs: &[String], since: Moment) -> io::Result<(Results, File)> {
    let mut bytes = File::from(memfd_create(c"results", MemfdFlags::CLOEXEC)?);
    let mut results = Results(Vec::new());
    let mut left = RESULTS_BYTES_MAX;
    for (name, path) in find(root, globs, since)? {
        // What the command closed to everybody is as if it were not there.
        let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path)
        else {
            continue;
        };
        let copied = io::copy(&mut file.take(left), &mut bytes)?;
        left -= copied;
        results.0.push((name, copied));
    }
    bytes.rewind()?;
    Ok((results, bytes))
}

/// In the order of their names.
fn find(root: &Path, globs: &[String], since: Moment) -> io::Result<Vec<(String, PathBuf)>> {
    let wanted = compile(globs)?;
    let mut found = Vec::new();
    let mut seen = 0;
    let mut places: Vec<String> = globs.iter().map(|it| place(it)).collect();
    places.sort_unstable();
    // What lies below another one is looked through with it.
    places.dedup_by(|next, before| is_below(next, before));
    let mut pending: Vec<PathBuf> = Vec::new();
    for place in places {
        if leads_through_links(root, &place) {
            continue;
        }
        pending.push(root.join(place));
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                seen += 1;
                if seen > RESULTS_ENTRIES_MAX {
                    break;
                }
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if kind.is_dir() {
                    pending.push(path);
                } else if kind.is_file()
                    && let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str)
                    && wanted.is_match(name)
                    && entry.metadata().is_ok_and(|it| since.is_not_after(&it))
                {
                    found.push((name.to_owned(), path));
                }
            }
        }
    }
    found.sort_unstable();
    found.truncate(RESULTS_MAX);
    Ok(found)
}

fn compile(globs: &[String]) -> io::Result<GlobSet> {
    let mut all = GlobSetBuilder::new();
    for glob in globs {
        all.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(io::Error::other)?);
    }
    all.build().map_err(io::Error::other)
}

/// The directory in which all files lie that the glob can match.
fn place(glob: &str) -> String {
    let plain = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    glob[..plain].rsplit_once('/').map_or(String::new(), |it| it.0.to_owned())
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

fn leads_through_links(root: &Path, place: &str) -> bool {
    let mut path = root.to_owned();
    place.split('/').filter(|it| !it.is_empty()).any(|part| {
        path.push(part);
        path.is_symlink()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(root: &Path, globs: &[&str], since: Moment) -> Vec<String> {
        let globs: Vec<String> = globs.iter().map(|it| (*it).to_owned()).collect();
        collect(root, &globs, since).unwrap().0.0.into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn what_was_written_since_and_matches_is_handed_over_in_the_order_of_names() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        fs::create_dir_all(root.join("target/a/b")).unwrap();
        fs::write(root.join("target/old.xml"), "old").unwrap();
        fs::write(home.path().join("elsewhere"), "x").unwrap();
        let since = Moment(Timespec {
            tv_sec: fs::metadata(root.join("target/old.xml")).unwrap().ctime(),
            tv_nsec: fs::metadata(root.join("target/old.xml")).unwrap().ctime_nsec() + 1,
        });
        // As long as the file system's clock stands still, what is written is no younger.
        let mut turn = 0;
        while !since.is_not_after(&fs::metadata(root.join("elsewhere")).unwrap()) {
            turn += 1;
            fs::write(root.join("elsewhere"), turn.to_string()).unwrap();
        }
        fs::write(root.join("target/a/b/2.xml"), "two").unwrap();
        fs::write(root.join("target/a/1.xml"), "1").unwrap();
        fs::write(root.join("target/a/1.txt"), "text").unwrap();
        symlink("1.xml", root.join("target/a/link.xml")).unwrap();
        symlink("target", root.join("link")).unwrap();
        let globs = ["target/**/*.xml".to_owned(), "link/a/*.xml".to_owned()];
        let (results, mut bytes) = collect(root, &globs, since).unwrap();
        let expected = [("target/a/1.xml", 1), ("target/a/b/2.xml", 3)];
        assert_eq!(results.0, expected.map(|(name, size)| (name.to_owned(), size)));
        let mut text = String::new();
        bytes.read_to_string(&mut text).unwrap();
        assert_eq!(text, "1two");
        assert_eq!(names(root, &["none/*.xml", "target/a/1.txt"], since), ["target/a/1.txt"]);
        assert_eq!(names(root, &["*.xml"], since), [""; 0]);
    }

    #[test]
    fn what_is_too_much_is_cut_off_and_told_by_its_size() {
        let home = tempfile::tempdir().unwrap();
        let since = Moment(Timespec { tv_sec: 0, tv_nsec: 0 });
        for name in ["a", "b"] {
            let file = File::create(home.path().join(name)).unwrap();
            file.set_len(RESULTS_BYTES_MAX - 1).unwrap();
        }
        let (results, bytes) = collect(home.path(), &["*".to_owned()], since).unwrap();
        let sizes: Vec<u64> = results.0.iter().map(|it| it.1).collect();
        assert_eq!(sizes, [RESULTS_BYTES_MAX - 1, 1]);
        assert_eq!(bytes.metadata().unwrap().len(), RESULTS_BYTES_MAX);
    }

    #[test]
    fn only_the_directories_that_can_hold_a_match_are_looked_through() {
        for (glob, expected) in [
            ("*.xml", ""),
            ("a/b/*.xml", "a/b"),
            ("a/b.xml", "a"),
            ("a/{b,c}/d", "a"),
            ("b.xml", ""),
        ] {
            assert_eq!(place(glob), expected, "{glob}");
        }
        assert!(is_below("a/b", "a") && is_below("a", "a") && is_below("a", ""));
        assert!(!is_below("ab", "a"));
    }
}
