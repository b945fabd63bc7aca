//! Counts what a command writes to a directory of the host, where no file system of its own bounds it.
//!
//! It walks the directory again and again, not more than a twentieth of the time. So the limit is
//! noticed late, by a second or by a twentyfold of what one walk takes.

use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Between two walks.
const PAUSE: Duration = Duration::from_millis(500);
/// A walk may take one part of so many of the time.
const SHARE: u32 = 20;
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

/// What a directory may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

/// Walks until it is dropped.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    /// Its end ends the walking.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl DiskWatch {
    /// Begins. The pipe ends when there is more in the directory than its room.
    pub(crate) fn start(directory: PathBuf, room: Room) -> io::Result<(Self, PipeReader)> {
        let (stopped, stop) = io::pipe()?;
        let (full, hold) = io::pipe()?;
        let walk = move || {
            let _hold = hold;
            watch(&directory, room, &stopped);
        };
        let thread = std::thread::Builder::new().name("disk".into()).spawn(walk)?;
        Ok((Self { stop: Some(stop), thread: Some(thread) }, full))
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It panics never; and if it did, there would be nothing left to stop.
            thread.join().ok();
        }
    }
}

/// Returns when it is told to, or when there is more than the room.
fn watch(directory: &Path, room: Room, stopped: &PipeReader) {
    let mut pause = PAUSE;
    while !is_told(stopped, pause) {
        let started = Instant::now();
        match is_over(directory, room, stopped) {
            Some(false) => {}
            Some(true) => return,
            // Told to stop in the middle.
            None => return,
        }
        pause = PAUSE.max(started.elapsed() * SHARE);
    }
}

fn is_told(stopped: &PipeReader, within: Duration) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN)];
    let told = poll(&mut watched, Timespec::try_from(within).ok().as_ref());
    told.is_ok_and(|it| it > 0)
}

/// Whether there is no more room for a block: where no single file may be larger, that is as full as it gets.
pub(crate) fn is_full(directory: &Path, room: Room) -> bool {
    let room = Room { bytes: room.bytes.saturating_sub(BLOCK_BYTES), ..room };
    let Ok((stopped, _stop)) = io::pipe() else { return false };
    is_over(directory, room, &stopped) == Some(true)
}

/// Links are not followed; what cannot be read, or goes meanwhile, counts nothing.
fn is_over(directory: &Path, room: Room, stopped: &PipeReader) -> Option<bool> {
    let (mut bytes, mut entries) = (0, 0);
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        if is_told(stopped, Duration::ZERO) {
            return None;
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            entries += 1;
            bytes += metadata.blocks() * BLOCK_BYTES;
            if bytes > room.bytes || entries > room.entries {
                return Some(true);
            }
            if metadata.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_directory_that_outgrows_its_room_is_noticed_and_one_that_does_not_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("d")).unwrap();
        let room = Room { bytes: 1024 * 1024, entries: 10 };
        let (stopped, _stop) = io::pipe().unwrap();
        assert_eq!(is_over(home.path(), room, &stopped), Some(false));
        let (_watch, mut full) = DiskWatch::start(home.path().to_owned(), room).unwrap();
        fs::write(home.path().join("d/large"), vec![1; 2 * 1024 * 1024]).unwrap();
        // Returns when the pipe ends.
        full.read_to_end(&mut Vec::new()).unwrap();
        fs::remove_file(home.path().join("d/large")).unwrap();
        (0..20).for_each(|it| fs::write(home.path().join(it.to_string()), "").unwrap());
        assert_eq!(is_over(home.path(), room, &stopped), Some(true));
    }
}
