//! cargo-nextest: its status lines, its summary, and the panics in what the tests printed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Context, LogParser, panics};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static SUMMARY: Pattern =
    Pattern::new(|| pattern(r"^ +Summary \[.*?\] +(\d+)(?:/(\d+))? tests? run: (.*)$"));
static FIGURE: Pattern =
    Pattern::new(|| pattern(r"(\d+) (passed|failed|timed out|exec failed|skipped)"));
static START: Pattern = Pattern::new(|| pattern(r"^ +Starting (\d+) tests? across "));
static STATUS: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^ *(?:TRY \d+ )?(FAIL|TIMEOUT|ABORT|SIG[A-Z0-9]+|XFAIL|LEAK-FAIL|PASS|SKIP|FLAKY \d+/\d+|LEAK|SLOW)",
        r" +\[[ >]*[\d.]+s\] (?:\([^)]*\) )?(\S+) (\S.*)$",
    ))
});
static ERROR: Pattern = Pattern::new(|| pattern(r"^error: (no tests to run)$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct Nextest;

impl LogParser for Nextest {
    fn tool(&self) -> &'static str {
        "cargo-nextest"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "cargo-nextest" || (call.program == "cargo" && call.has_arg("nextest"))
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" Nextest run ID ", "Summary ["]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with(" Nextest run ID ") || SUMMARY.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut run = Run::default();
        for (index, line) in cx.lines() {
            if let Some(found) = SUMMARY.captures(line) {
                run.summary = Some(index);
                run.counts = Some(counts(group(&found, 3)));
            } else if START.is_match(line) {
                // A run that starts after a summary is the next one of a script.
                if run.summary.is_some() {
                    std::mem::take(&mut run).finish(cx, index, &mut draft);
                }
                run.start.get_or_insert(index);
            } else if let Some(found) = STATUS.captures(line) {
                run.status(index, group(&found, 1), group(&found, 2), group(&found, 3));
            } else if ERROR.is_match(line) {
                run.counts.get_or_insert(Counts::NONE);
                draft.problems.push(Problem::error("no tests to run", Cut::line(index)));
            }
        }
        let end = cx.log.len();
        run.finish(cx, end, &mut draft);
        draft
    }
}

/// One run of nextest.
#[derive(Debug, Default)]
struct Run {
    start: Option<usize>,
    summary: Option<usize>,
    counts: Option<Counts>,
    /// In the order of their first failure.
    failed: Vec<String>,
    /// The lines that call a test failed; a retry prints it again.
    lines: HashMap<String, Vec<usize>>,
    /// All status lines: each ends the output of the test before it.
    status: Vec<usize>,
    after_summary: HashSet<String>,
}

impl Run {
    fn status(&mut self, index: usize, status: &str, binary: &str, test: &str) {
        self.status.push(index);
        let is_failure = matches!(status, "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "LEAK-FAIL")
            || status.starts_with("SIG");
        if !is_failure {
            return;
        }
        let name = format!("{binary} {test}");
        if self.summary.is_some() {
            self.after_summary.insert(name.clone());
        }
        let lines = self.lines.entry(name.clone()).or_default();
        if lines.is_empty() {
            self.failed.push(name);
        }
        lines.push(index);
    }

    fn finish(self, cx: &Context<'_>, end: usize, draft: &mut Draft) {
        if let Some(counts) = self.counts {
            draft.add_counts(counts);
        } else if self.start.is_some() {
            draft.unfinished += 1;
        }
        // A test that passed at a later try is not in the list after the summary.
        let is_listed =
            |it: &&String| self.summary.is_none() || self.after_summary.contains(it.as_str());
        for name in self.failed.iter().filter(is_listed) {
            draft.failures.push(self.failure(cx, name));
        }
        if let Some(start) = self.start {
            draft.taken.push(start..end);
        }
    }

    fn failure(&self, cx: &Context<'_>, name: &str) -> Failure {
        let lines = self.lines.get(name).map_or(&[][..], Vec::as_slice);
        let blocks: Vec<Range<usize>> = lines.iter().map(|it| self.output_of(cx, *it)).collect();
        let found =
            blocks.iter().find_map(|block| Some((panics::first(cx, block.clone())?, block.end)));
        let name = name.to_owned();
        if let Some((panic, end)) = found {
            let cut = Cut::new(panic.lines.start..end, panic.lines.collect());
            let location = panic.place.is_own.then_some(panic.place.location);
            return Failure { name, message: panic.message, location, cut, ..Failure::default() };
        }
        let block = blocks.into_iter().max_by_key(ExactSizeIterator::len).unwrap_or(0..0);
        let message = cx.log.line(block.start).trim().to_owned();
        let keys = vec![block.start];
        Failure { name, message, location: None, cut: Cut::new(block, keys), ..Failure::default() }
    }

    /// From a status line to the next one, or to the rule above the summary.
    fn output_of(&self, cx: &Context<'_>, index: usize) -> Range<usize> {
        let next = self.status.partition_point(|it| *it <= index);
        let end = self.status.get(next).copied().unwrap_or(cx.log.len());
        let rule = cx.log.slice(index..end).find(|it| it.1.starts_with("────"));
        index..rule.map_or(end, |it| it.0).max(index + 1)
    }
}

fn counts(figures: &str) -> Counts {
    let mut counts = Counts::NONE;
    for found in FIGURE.captures_iter(figures) {
        let count = group(&found, 1).parse().unwrap_or(0);
        match group(&found, 2) {
            "passed" => counts.passed = Some(count),
            "skipped" => counts.skipped += count,
            _ => counts.failed += count,
        }
    }
    counts
}
