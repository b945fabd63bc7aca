//! What a line of the table consists of, and how to write one shortly.

use gate_core::Outcome;

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Its number in the list that it was taken from; some take several commands.
    pub(super) number: u8,
    pub(super) name: &'static str,
    pub(super) run: Run,
    /// Its wall time. Short where its end is what is waited for, long where a slow machine must not matter.
    pub(super) seconds: u64,
    pub(super) cpu_seconds: u32,
    /// Programs without which it says nothing.
    pub(super) needs: &'static [&'static str],
    pub(super) namespace: Option<Want>,
    pub(super) landlock: Option<Want>,
    /// Where the gate is an ordinary user, if it differs.
    pub(super) landlock_as_user: Option<Want>,
    pub(super) process: Option<Want>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    Sh(&'static str),
    Words(&'static [&'static str]),
    /// A script of the workspace, and its words.
    Python(&'static str, &'static [&'static str]),
}

/// What must come of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    /// One of these.
    pub(super) ends: &'static [Ends],
    /// Exactly this, on standard output.
    pub(super) prints: Option<&'static [u8]>,
    pub(super) stragglers: Option<u32>,
    pub(super) process_limit: ProcessLimit,
}

/// Whether it must be told that no further process could be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessLimit {
    Unasked,
    Told,
    /// Processes that come and go are only seen by a kernel that counts them.
    ToldWhereCounted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Exits(i32),
    Killed(i32),
    TimedOut,
    CpuLimit,
    OutOfMemory,
    DiskLimit,
    OutputLimit,
    NotFound,
    NotExecutable(i32),
}

impl Ends {
    pub(super) fn of(outcome: Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Exited { code } => Self::Exits(code),
            Outcome::Killed { signal } => Self::Killed(signal),
            Outcome::TimedOut { .. } => Self::TimedOut,
            Outcome::CpuLimitExceeded { .. } => Self::CpuLimit,
            Outcome::OutOfMemory { .. } => Self::OutOfMemory,
            Outcome::DiskLimitExceeded { .. } => Self::DiskLimit,
            Outcome::OutputLimitExceeded { .. } => Self::OutputLimit,
            Outcome::NotFound => Self::NotFound,
            Outcome::NotExecutable { errno } => Self::NotExecutable(errno),
            Outcome::NotRun => return None,
        })
    }
}

impl Want {
    pub(super) const fn ends(ends: &'static [Ends]) -> Option<Self> {
        Some(Self { ends, prints: None, stragglers: None, process_limit: ProcessLimit::Unasked })
    }

    pub(super) const fn prints(text: &'static [u8]) -> Option<Self> {
        let ends = &[Ends::Exits(0)];
        Some(Self {
            ends,
            prints: Some(text),
            stragglers: None,
            process_limit: ProcessLimit::Unasked,
        })
    }

    pub(super) const fn stragglers(text: &'static [u8], stragglers: u32) -> Option<Self> {
        let ends = &[Ends::Exits(0)];
        let stragglers = Some(stragglers);
        Some(Self { ends, prints: Some(text), stragglers, process_limit: ProcessLimit::Unasked })
    }

    pub(super) const fn process_limit(
        ends: &'static [Ends],
        process_limit: ProcessLimit,
    ) -> Option<Self> {
        Some(Self { ends, prints: None, stragglers: None, process_limit })
    }
}

const PATIENCE_SECONDS: u64 = 40;
const CUT_SECONDS: u64 = 3;

/// Nothing may be printed, and nothing is promised without walls.
const WALLED: Row = Row {
    number: 0,
    name: "",
    run: Run::Sh(""),
    seconds: PATIENCE_SECONDS,
    cpu_seconds: 60,
    needs: &[],
    namespace: Want::prints(b""),
    landlock: Want::prints(b""),
    landlock_as_user: None,
    process: None,
};

/// The same in every tier.
pub(super) const fn everywhere(
    number: u8,
    name: &'static str,
    run: Run,
    want: Option<Want>,
) -> Row {
    Row { number, name, run, namespace: want, landlock: want, process: want, ..WALLED }
}

pub(super) const fn walled(number: u8, name: &'static str, run: Run) -> Row {
    Row { number, name, run, ..WALLED }
}

pub(super) const fn cut(row: Row) -> Row {
    Row { seconds: CUT_SECONDS, ..row }
}

pub(super) const fn needs(needs: &'static [&'static str], row: Row) -> Row {
    Row { needs, ..row }
}

pub(super) const TIMED_OUT: Option<Want> = Want::ends(&[Ends::TimedOut]);
pub(super) const EXITS_0: Option<Want> = Want::ends(&[Ends::Exits(0)]);
pub(super) const PYTHON: &[&str] = &["python3"];
