//! How an execution ended, in words.

use std::fmt;

use crate::Outcome;

/// A shell gives this plus N for a process that signal N ended.
const SIGNALLED: i32 = 128;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => match exit_meaning(*code) {
                Some(meaning) => write!(f, "exit status {code} ({meaning})"),
                None => write!(f, "exit status {code}"),
            },
            Self::Killed { signal } => match signal_name(*signal) {
                Some(name) => write!(f, "ended by signal {signal}, {name}"),
                None => write!(f, "ended by signal {signal}"),
            },
            Self::TimedOut { limit_ms } => write!(f, "ended at its time limit of {limit_ms} ms"),
            Self::OutputLimitExceeded { limit_bytes } => {
                write!(f, "ended at its limit of {limit_bytes} bytes of output")
            }
            Self::CpuLimitExceeded { limit_ms } => {
                write!(f, "ended at its limit of {limit_ms} ms of CPU time")
            }
            Self::OutOfMemory { limit_bytes } => {
                write!(f, "ended at its limit of {limit_bytes} bytes of memory")
            }
            Self::DiskLimitExceeded { limit_bytes } => {
                write!(f, "failed with its {limit_bytes} bytes of disk used up")
            }
            Self::NotFound => f.write_str("there is no such program"),
            Self::NotExecutable { errno } => write!(f, "not executable (errno {errno})"),
            Self::NotRun => f.write_str("did not run: the run's time was used up before"),
        }
    }
}

/// What an exit status means by convention, whatever the program.
#[must_use]
pub fn exit_meaning(code: i32) -> Option<String> {
    match code {
        124 => Some("a time limit was hit".to_owned()),
        126 => Some("found, but not executable".to_owned()),
        127 => Some("command not found".to_owned()),
        129..=192 => {
            let signal = code - SIGNALLED;
            let name = signal_name(signal).map(|it| format!(", {it}")).unwrap_or_default();
            Some(format!("a process was ended by signal {signal}{name}"))
        }
        _ => None,
    }
}

/// The name of a signal that ends processes.
#[must_use]
pub const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL: often out of memory",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_says_what_it_means() {
        let cases = [
            (Outcome::Exited { code: 101 }, "exit status 101"),
            (Outcome::Exited { code: 127 }, "exit status 127 (command not found)"),
            (
                Outcome::Exited { code: 139 },
                "exit status 139 (a process was ended by signal 11, SIGSEGV)",
            ),
            (Outcome::Killed { signal: 9 }, "ended by signal 9, SIGKILL: often out of memory"),
            (Outcome::Killed { signal: 64 }, "ended by signal 64"),
            (Outcome::TimedOut { limit_ms: 1000 }, "ended at its time limit of 1000 ms"),
        ];
        for (outcome, words) in cases {
            assert_eq!(outcome.to_string(), words);
        }
    }
}
