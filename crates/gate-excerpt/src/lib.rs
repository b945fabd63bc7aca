//! Reads the output of an acceptance command: which tests failed and where, what was counted, the telling lines.
//!
//! It informs and never decides: no reading turns a failed command into a passed one. It never fails, for any bytes;
//! time is linear in their number, and memory and output are bounded. It reads no file and no clock.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answer;
mod channels;
mod choose;
mod classify;
mod clean;
mod combine;
mod command;
mod compare;
mod draft;
mod limits;
#[cfg(test)]
mod linear;
mod localize;
mod many;
mod mask;
mod matcher;
mod matcher_file;
#[cfg(test)]
mod mutated;
mod nest;
mod parsers;
mod paths;
mod pattern;
mod prefix;
mod rank;
mod redact;
mod select;
mod table;
#[cfg(test)]
mod testing;

use gate_core::{LogStream, Reading};

pub use answer::{Answer, AnswerError, Asked, command_words};
pub use matcher::{Matcher, MatcherError, MatcherSpec, MatcherStep};
pub use matcher_file::{MatcherFault, read_matchers};
pub use redact::{Masker, redact};

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
    /// Machine-readable files that the command wrote.
    pub sides: &'a [Side<'a>],
    /// A project's own patterns, looked for beside the known tools.
    pub matchers: &'a [Matcher],
    /// The log of a green run on the baseline: what it prints too is no error.
    pub baseline: Option<&'a [u8]>,
}

/// A machine-readable file that the command wrote: `JUnit` XML, JSON of a runner or a linter, TAP, SARIF.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Relative to the workspace.
    pub name: &'a str,
    /// As written; one that is broken is noted, and the log is read.
    pub bytes: &'a [u8],
}

/// Of a command that printed nothing and ended by itself with 0.
impl Default for Input<'_> {
    fn default() -> Self {
        Self {
            bytes: &[],
            command: &[],
            exit_code: Some(0),
            signal: None,
            timed_out: false,
            stream: LogStream::Merged,
            roots: &[],
            sides: &[],
            matchers: &[],
            baseline: None,
        }
    }
}

impl Input<'_> {
    /// Whether the command said that it succeeded.
    pub(crate) fn is_green(&self) -> bool {
        self.exit_code == Some(0) && self.signal.is_none() && !self.timed_out
    }
}

/// Reads a log, and the files beside it.
#[must_use]
pub fn read(input: &Input<'_>) -> Reading {
    static MARKS: choose::Marks = choose::Marks::new();
    let readers = choose::Readers {
        parsers: parsers::PARSERS,
        marks: &MARKS,
        channels: channels::CHANNELS,
        fallback: &parsers::Fallback,
    };
    let reading = choose::read(input, &readers);
    localize::localize(reading, input.roots)
}
