//! `GoogleTest`: what each test binary prints, with its own summary.

use std::collections::HashSet;
use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::nest::Nest;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static STARTS: Pattern = Pattern::new(|| {
    pattern(r"^\[==========\] Running (\d+) tests? from \d+ test (?:suite|case)s?\.$")
});
static ENDS: Pattern =
    Pattern::new(|| pattern(r"^\[==========\] (\d+) tests? from \d+ test (?:suite|case)s? ran\."));
static FIGURE: Pattern =
    Pattern::new(|| pattern(r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) tests?[.,]"));
static RESULT: Pattern = Pattern::new(|| {
    pattern(r"^\[  (FAILED |     OK|SKIPPED) +\] (.+?)(?:, where .*)? \(\d+ ms\)$")
});
static PLACE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:((?:[A-Za-z]:[\\/])?\S[^:]*?)(?::(\d+)|\((\d+)\))|unknown file): (?:Failure|error: ?)(.*)$",
    )
});

const RUN: &str = "[ RUN      ] ";
/// Lines of a test that are looked at.
const TEST_LINES_MAX: usize = 2_000;
/// Lines of the summary.
const SUMMARY_LINES: usize = 6;
/// Lines of one failure.
const MESSAGE_LINES_MAX: usize = 30;

/// See the module.
#[derive(Debug)]
pub(crate) struct Gtest;

impl LogParser for Gtest {
    fn tool(&self) -> &'static str {
        "gtest"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.args.iter().any(|it| it.starts_with("--gtest_"))
    }

    fn marks(&self) -> &'static [&'static str] {
        &["[==========] ", "[ RUN      ] "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("[==========] ") || line.starts_with(RUN)
    }

    fn captured(&self, cx: &Context<'_>) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut start = None;
        for (index, line) in cx.log.slice(0..cx.log.len()).filter(|it| it.1.starts_with('[')) {
            if line.starts_with(RUN) {
                start = Some(index + 1);
            } else if RESULT.is_match(line) {
                ranges.extend(start.take().map(|it| it..index));
            }
        }
        ranges
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut nest = Nest::default();
        let mut running: Option<(usize, &str)> = None;
        // With `--gtest_brief` a test has no line for its start: what stands below the last one's end is its own.
        let mut since = 0;
        let mut has_repeats = false;
        for (index, line) in cx.lines() {
            has_repeats |= line.starts_with("Repeating all tests (iteration ");
            if !line.starts_with('[') {
                continue;
            }
            if let Some(name) = line.strip_prefix(RUN) {
                running = Some((index, name));
            } else if let Some(found) = RESULT.captures(line) {
                let (start, _) = running.take().unwrap_or((since, ""));
                since = index + 1;
                if group(&found, 1) == "FAILED " {
                    draft.failures.push(failure(cx, group(&found, 2), start..index + 1));
                }
            } else if let Some(found) = STARTS.captures(line) {
                nest.start(index, group(&found, 1).parse().ok());
            } else if let Some(found) = ENDS.captures(line) {
                nest.end(index, summary(cx, index, lines::count(group(&found, 1))));
                since = index + 1;
            }
        }
        let suites = nest.close();
        if let Some((start, name)) = running {
            // It started, and the binary died.
            let end = cx.log.len().min(start + TEST_LINES_MAX);
            let mut crash = failure(cx, name, start..end);
            if crash.message.is_empty() {
                crash.message = "it started and never ended: the test binary died".to_owned();
            }
            draft.failures.push(crash);
        }
        let mut finished = suites.finished;
        // With `--gtest_brief` no start is printed.
        finished.extend(suites.lone);
        finished.sort_by_key(|it| it.end);
        if has_repeats {
            // The same tests again are not more tests.
            finished.drain(..finished.len().saturating_sub(1));
        }
        lines::keep_own(cx, self, &mut finished);
        if has_repeats || cx.is_named {
            let mut seen = HashSet::new();
            draft.failures.retain(|it| seen.insert(it.name.clone()));
        }
        finished.iter().for_each(|it| draft.add_counts(it.counts));
        draft.unfinished = u32::try_from(suites.unfinished.len()).unwrap_or(u32::MAX);
        draft.taken = finished.iter().map(|it| it.start..it.end + 1).collect();
        draft
    }
}

/// The figures below `N tests from M test suites ran.`
fn summary(cx: &Context<'_>, ends: usize, all: u64) -> Counts {
    let mut counts = Counts::NONE;
    let below = cx.log.slice(ends + 1..cx.log.len());
    let is_summary = |it: &(usize, &str)| it.1.starts_with("[  ");
    let figures = below.take_while(is_summary).filter_map(|it| FIGURE.captures(it.1));
    let mut told = Vec::new();
    for found in figures.take(SUMMARY_LINES) {
        let (kind, count) = (group(&found, 1).to_owned(), lines::count(group(&found, 2)));
        // Each is said once: what follows was printed by the tests of the next run.
        if told.contains(&kind) {
            break;
        }
        match kind.as_str() {
            "PASSED" => counts.passed = Some(count),
            "FAILED" => counts.failed = count,
            _ => counts.skipped = count,
        }
        told.push(kind);
    }
    // With `--gtest_brief` it does not say how many failed.
    let others = counts.passed.unwrap_or(0) + counts.skipped;
    counts.failed = counts.failed.max(all.saturating_sub(others));
    counts
}

/// A test from its start to its result: its first failure, with the lines up to the next one.
fn failure(cx: &Context<'_>, name: &str, range: Range<usize>) -> Failure {
    let name = name.to_owned();
    let start = range.start.max(range.end.saturating_sub(TEST_LINES_MAX));
    let mut found =
        cx.log.slice(start..range.end).filter_map(|(at, line)| Some((at, PLACE.captures(line)?)));
    let Some((at, head)) = found.next() else {
        let end = range.end.min(range.start + MESSAGE_LINES_MAX);
        return Failure {
            name,
            cut: Cut::new(range.start..end, vec![range.start]),
            ..Failure::default()
        };
    };
    let below = cx.log.slice(at + 1..range.end).take(MESSAGE_LINES_MAX);
    let body: Vec<(usize, &str)> = below
        .take_while(|(_, line)| !PLACE.is_match(line) && !line.starts_with("[  "))
        .take_while(|(_, line)| !line.starts_with("Google Test trace:"))
        .collect();
    let end = body.last().map_or(at, |it| it.0) + 1;
    let message = lines::joined([group(&head, 4)].into_iter().chain(body.iter().map(|it| it.1)));
    let (actual, expected) = sides(&body).unzip();
    let line = number(&head, 2).or_else(|| number(&head, 3));
    let location = head.get(1).map(|it| cx.paths.location(it.as_str(), line));
    Failure {
        name,
        message,
        expected,
        actual,
        location,
        cut: Cut::new(at..end, (at..end).collect()),
        ..Failure::default()
    }
}

/// Below `Expected equality of these values:` two expressions, each with its value where that is another text.
fn sides(body: &[(usize, &str)]) -> Option<(String, String)> {
    let at = body.iter().position(|it| it.1 == "Expected equality of these values:")?;
    let mut values: Vec<String> = Vec::new();
    for (_, line) in &body[at + 1..] {
        if let Some(value) = line.strip_prefix("    Which is: ") {
            *values.last_mut()? = value.to_owned();
        } else if line.starts_with("  ") && values.len() < 2 {
            values.push(line.trim().to_owned());
        } else {
            break;
        }
    }
    let mut values = values.into_iter();
    Some((values.next()?, values.next()?))
}

/// The first failure in the output of a test of another runner.
pub(super) fn first(cx: &Context<'_>, range: Range<usize>) -> Option<Failure> {
    let is_own = cx.log.slice(range.clone()).any(|it| PLACE.is_match(it.1));
    is_own.then(|| failure(cx, "", range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_an_equality_is_its_value() {
        let lines = "Expected equality of these values:\n  add(2, 3)\n    Which is: -1\n  5\nsum";
        let body: Vec<(usize, &str)> = lines.lines().enumerate().collect();
        assert_eq!(sides(&body), Some(("-1".to_owned(), "5".to_owned())));
        assert_eq!(sides(&body[1..]), None);
    }
}
