//! Keeps what the server says, within a bound: one file, and the one before it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ChildStderr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::warn;

use crate::PostgresError;

/// A file that has grown to this size becomes the old one.
const LOG_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How long the log may be behind a server that has ended.
const LAG_MAX: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What an error shows of the log.
const TAIL_BYTES_MAX: usize = 4 * 1024;

/// Copies from the server's pipe until all of its processes have closed it; what is returned ends then.
pub(crate) fn keep(mut pipe: ChildStderr, path: PathBuf) -> Result<JoinHandle<()>, PostgresError> {
    let file = open(&path)?;
    let copy = move || {
        if let Err(error) = copy(&mut pipe, file, &path) {
            // The pipe closes here. The server goes on, its messages are lost.
            warn!(error = %error, "the log of the PostgreSQL server can no longer be written");
        }
    };
    let thread = thread::Builder::new().name("postgres-log".to_owned()).spawn(copy);
    thread.map_err(PostgresError::io("start a thread for", Path::new("the server's log")))
}

/// Waits until the last words of a server that has ended are in the log; not for long, in case that a process of it lives on.
pub(crate) fn catch_up(copying: &JoinHandle<()>) {
    let began = Instant::now();
    while !copying.is_finished() && began.elapsed() < LAG_MAX {
        thread::sleep(LOOK_EVERY);
    }
}

/// The end of the log, in whole lines.
pub(crate) fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let start = bytes.len().saturating_sub(TAIL_BYTES_MAX);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let whole = if start == 0 {
        &text[..]
    } else {
        text.split_once('\n').map_or(&text[..], |(_, rest)| rest)
    };
    whole.trim_end().to_owned()
}

fn open(path: &Path) -> Result<File, PostgresError> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.map_err(PostgresError::io("open the log", path))
}

fn copy(pipe: &mut impl Read, mut file: File, path: &Path) -> io::Result<()> {
    let mut buffer = [0; 8 * 1024];
    loop {
        let count = match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() >= LOG_BYTES_MAX {
            fs::rename(path, path.with_extension("log.1"))?;
            file = open(path).map_err(io::Error::other)?;
        }
        file.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_stays_within_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        let endless = io::repeat(b'x').take(3 * LOG_BYTES_MAX);
        copy(&mut { endless }, open(&path).unwrap(), &path).unwrap();
        let kept: u64 =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().metadata().unwrap().len()).sum();
        assert!(kept <= 2 * (LOG_BYTES_MAX + 8 * 1024), "{kept}");
    }

    #[test]
    fn the_tail_begins_with_a_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        fs::write(&path, format!("{}\nFATAL: the reason\n", "first ".repeat(2000))).unwrap();
        assert_eq!(tail(&path), "FATAL: the reason");
    }
}
