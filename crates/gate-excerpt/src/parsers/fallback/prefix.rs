//! The names that tools which run several processes put before each line.

use crate::parsers::Context;
use crate::pattern::{Pattern, pattern};

static PREFIX: Pattern = Pattern::new(|| {
    pattern(r"(?-u)^(?:\[[\w./@:#-]{1,40}\] ?|[\w./@#-]{1,40} +\| |==\d+== ?|#\d+ [\d.]+ )")
});

/// Lines that are looked at to find out whether there are prefixes.
const SAMPLE_LINES: usize = 5_000;
/// Of these lines, so many in a hundred must have one.
const SHARE_PERCENT: usize = 80;

/// Whether the lines of this log have prefixes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefixes(bool);

impl Prefixes {
    pub(super) const NONE: Self = Self(false);

    pub(super) fn find(cx: &Context<'_>) -> Self {
        let lines = cx.log.slice(0..cx.log.len().min(SAMPLE_LINES));
        let (mut all, mut prefixed) = (0, 0);
        for (_, line) in lines.filter(|it| !it.1.trim().is_empty()) {
            all += 1;
            prefixed += usize::from(PREFIX.is_match(line));
        }
        Self(all > 1 && prefixed * 100 >= all * SHARE_PERCENT)
    }

    /// The prefix, and what stands behind it.
    pub(super) fn split(self, line: &str) -> (&str, &str) {
        let end = if self.0 { PREFIX.find(line).map_or(0, |it| it.end()) } else { 0 };
        line.split_at(end)
    }
}
