//! The one line that an init says to the gate: how the command ended, and what it used.

use std::io;

use gate_core::Usage;

/// A line is never longer than this.
pub(crate) const RECORD_BYTES_MAX: usize = 1024;

/// How the init saw it end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HowItEnded {
    Exited(i32),
    Signal(i32),
    NotFound,
    NotExecutable(i32),
    /// The gate said so, or was gone.
    CutOff,
    /// The init itself could not do its work.
    Failed(String),
}

/// What all children used together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChildrenUsage {
    pub(crate) cpu_us: u64,
    pub(crate) memory_peak_bytes: u64,
}

impl ChildrenUsage {
    pub(crate) fn with_duration(self, duration_ms: u64) -> Usage {
        Usage { duration_ms, cpu_ms: self.cpu_us / 1000, memory_peak_bytes: self.memory_peak_bytes }
    }
}

/// What the init says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) how: HowItEnded,
    pub(crate) usage: ChildrenUsage,
    pub(crate) stragglers_killed: u32,
}

impl Record {
    pub(crate) fn plain(how: HowItEnded) -> Self {
        Self { how, usage: ChildrenUsage::default(), stragglers_killed: 0 }
    }

    pub(crate) fn failed(stage: &str, error: &io::Error) -> Self {
        Self::plain(HowItEnded::Failed(format!("{stage}: {error}").replace('\n', " ")))
    }

    pub(crate) fn not_executable(error: &io::Error) -> Self {
        Self::plain(HowItEnded::NotExecutable(error.raw_os_error().unwrap_or(libc::EINVAL)))
    }

    /// `killed` counts the command itself where it was cut off.
    pub(crate) fn ended(how: HowItEnded, usage: ChildrenUsage, killed: u32, cut_off: bool) -> Self {
        Self { how, usage, stragglers_killed: killed.saturating_sub(u32::from(cut_off)) }
    }

    pub(crate) fn to_line(&self) -> String {
        let (word, detail) = match &self.how {
            HowItEnded::Exited(code) => ("exited", code.to_string()),
            HowItEnded::Signal(signal) => ("signal", signal.to_string()),
            HowItEnded::NotFound => ("not-found", String::from("0")),
            HowItEnded::NotExecutable(errno) => ("not-executable", errno.to_string()),
            HowItEnded::CutOff => ("cut-off", String::from("0")),
            HowItEnded::Failed(text) => ("failed", text.chars().take(200).collect()),
        };
        let Self { usage, stragglers_killed, .. } = self;
        let ChildrenUsage { cpu_us, memory_peak_bytes } = usage;
        format!("{word} {cpu_us} {memory_peak_bytes} {stragglers_killed} {detail}\n")
    }

    /// `None` when the line is not whole: then nothing is known.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let mut fields = line.splitn(5, ' ');
        let mut next = || fields.next();
        let word = next()?;
        let usage = ChildrenUsage {
            cpu_us: next()?.parse().ok()?,
            memory_peak_bytes: next()?.parse().ok()?,
        };
        let stragglers_killed = next()?.parse().ok()?;
        let detail = next()?;
        let number = || detail.parse::<i32>().ok();
        let how = match word {
            "exited" => HowItEnded::Exited(number()?),
            "signal" => HowItEnded::Signal(number()?),
            "not-found" => HowItEnded::NotFound,
            "not-executable" => HowItEnded::NotExecutable(number()?),
            "cut-off" => HowItEnded::CutOff,
            "failed" => HowItEnded::Failed(detail.to_owned()),
            _ => return None,
        };
        Some(Self { how, usage, stragglers_killed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_what_it_says() {
        let usage = ChildrenUsage { cpu_us: 17, memory_peak_bytes: 4096 };
        let ways = [
            HowItEnded::Exited(3),
            HowItEnded::Signal(9),
            HowItEnded::NotFound,
            HowItEnded::NotExecutable(13),
            HowItEnded::CutOff,
            HowItEnded::Failed("set-up: no such thing".into()),
        ];
        for how in ways {
            let record = Record { how, usage, stragglers_killed: 2 };
            assert_eq!(Record::parse(record.to_line().as_bytes()), Some(record));
        }
    }

    #[test]
    fn half_a_record_says_nothing() {
        let line = Record::plain(HowItEnded::Exited(0)).to_line();
        for end in 0..line.len() {
            assert_eq!(Record::parse(&line.as_bytes()[..end]), None);
        }
        assert_eq!(Record::parse(b"exited 0 0 0 zero\n"), None);
    }
}
