//! Reads the output of an acceptance command: which tests failed and where, what was counted, the telling lines.
//!
//! It informs and never decides: no reading turns a failed command into a passed one. It never fails, for any bytes;
//! time is linear in their number, and memory and output are bounded. It reads no file and no clock.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod choose;
mod clean;
mod command;
mod draft;
mod limits;
#[cfg(test)]
mod linear;
mod localize;
mod nest;
mod parsers;
mod paths;
mod pattern;
mod redact;
mod select;

use gate_core::{LogStream, Reading};

pub use draft::Counts;

/// What the gate knows of one execution.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The log, raw.
    pub bytes: &'a [u8],
    /// The words that were run.
    pub command: &'a [String],
    /// The exit status, where it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the gate ended it at its time limit.
    pub timed_out: bool,
    /// Which log it is.
    pub stream: LogStream,
    /// Where the workspace stood for the command; cut from every path.
    pub roots: &'a [&'a str],
}

impl Input<'_> {
    /// Whether the command said that it succeeded.
    pub(crate) fn is_green(&self) -> bool {
        self.exit_code == Some(0) && self.signal.is_none() && !self.timed_out
    }
}

/// Reads a log.
#[must_use]
pub fn read(input: &Input<'_>) -> Reading {
    read_with_counts(input).0
}

/// Reads a log, and gives the runner's figures as fine as it printed them.
#[must_use]
pub fn read_with_counts(input: &Input<'_>) -> (Reading, Option<Counts>) {
    let (reading, counts) = choose::read(input, &parsers::PARSERS, &parsers::Fallback);
    (localize::localize(reading, input.roots), counts)
}
