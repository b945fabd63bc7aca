//! Keeps what a command prints: head and tail in memory, everything in the logs, up to the limit.

use std::io;

use gate_core::limits::{CAPTURE_HEAD_BYTES, CAPTURE_TAIL_BYTES};
use gate_core::{Captured, LogStream};

use crate::logs::{LogPlace, LogWriter, RawLog};

/// What was kept of one execution.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) merged: Captured,
    /// Stdout, stderr, merged; empty where none were asked for.
    pub(crate) logs: Vec<RawLog>,
}

/// Takes chunks as they come.
pub(crate) struct Capture {
    stdout: Stream,
    stderr: Stream,
    merged: Stream,
    left_bytes: u64,
    over_limit: bool,
}

impl Capture {
    /// `limit_bytes` bounds both streams together.
    pub(crate) fn new(limit_bytes: u64, place: Option<&LogPlace>) -> Self {
        let stream = |it| Stream::new(place.map(|place| place.path(it)));
        Self {
            stdout: stream(LogStream::Stdout),
            stderr: stream(LogStream::Stderr),
            merged: stream(LogStream::Merged),
            left_bytes: limit_bytes,
            over_limit: false,
        }
    }

    /// Keeps what is within the limit; tells of the rest by [`Capture::is_over_limit`].
    pub(crate) fn take(&mut self, stream: LogStream, bytes: &[u8]) -> io::Result<()> {
        let within = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(bytes.len());
        self.over_limit |= within < bytes.len();
        self.left_bytes -= within as u64;
        let bytes = &bytes[..within];
        if bytes.is_empty() {
            return Ok(());
        }
        match stream {
            LogStream::Stdout => self.stdout.take(bytes)?,
            LogStream::Stderr => self.stderr.take(bytes)?,
            LogStream::Merged => {}
        }
        self.merged.take(bytes)
    }

    pub(crate) fn is_over_limit(&self) -> bool {
        self.over_limit
    }

    pub(crate) fn finish(self) -> io::Result<Kept> {
        let mut kept = Kept::default();
        kept.stdout = self.stdout.finish(&mut kept.logs)?;
        kept.stderr = self.stderr.finish(&mut kept.logs)?;
        kept.merged = self.merged.finish(&mut kept.logs)?;
        Ok(kept)
    }
}

struct Stream {
    kept: Captured,
    log: Option<LogWriter>,
}

impl Stream {
    fn new(path: Option<std::path::PathBuf>) -> Self {
        Self { kept: Captured::default(), log: path.map(LogWriter::new) }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.append(bytes)?;
        }
        let Captured { head, tail, total_bytes } = &mut self.kept;
        *total_bytes += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(CAPTURE_HEAD_BYTES - head.len()));
        head.extend_from_slice(first);
        tail.extend_from_slice(rest);
        // Twice the room, so that bytes are moved seldom.
        if tail.len() > 2 * CAPTURE_TAIL_BYTES {
            tail.drain(..tail.len() - CAPTURE_TAIL_BYTES);
        }
        Ok(())
    }

    fn finish(mut self, logs: &mut Vec<RawLog>) -> io::Result<Captured> {
        let tail = &mut self.kept.tail;
        tail.drain(..tail.len().saturating_sub(CAPTURE_TAIL_BYTES));
        if let Some(log) = self.log {
            logs.push(log.finish()?);
        }
        Ok(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut capture = Capture::new(u64::MAX, None);
        let raw: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        raw.chunks(9_973).for_each(|it| capture.take(LogStream::Stdout, it).unwrap());
        let kept = capture.finish().unwrap();
        assert_eq!(kept.stdout, kept.merged);
        assert_eq!(kept.stdout.head, raw[..CAPTURE_HEAD_BYTES]);
        assert_eq!(kept.stdout.tail, raw[raw.len() - CAPTURE_TAIL_BYTES..]);
        assert_eq!(kept.stdout.left_out_bytes(), 400_000 - 2 * 65_536);
        assert_eq!(kept.stderr, Captured::default());
    }

    #[test]
    fn the_limit_counts_both_streams_together() {
        let mut capture = Capture::new(10, None);
        capture.take(LogStream::Stdout, b"1234567").unwrap();
        capture.take(LogStream::Stderr, b"890").unwrap();
        assert!(!capture.is_over_limit());
        capture.take(LogStream::Stderr, b"X").unwrap();
        assert!(capture.is_over_limit());
        let kept = capture.finish().unwrap();
        assert_eq!(kept.merged.head, b"1234567890");
        assert_eq!(kept.stderr.head, b"890");
    }
}
