//! Failed tests and summaries of `dotnet test`.

use std::collections::HashSet;

use crate::draft::{Counts, Draft, Failure, Problem};
use crate::parsers::{Context, lines};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 12 ms - App.Tests.dll (net8.0)`
static VSTEST: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+\d+(?:,.*)?$",
    )
});
/// `Test summary: total: 5, failed: 1, succeeded: 4, skipped: 0, duration: 1.2s`
static TERMINAL: Pattern = Pattern::new(|| {
    pattern(
        r"^Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)(?:,.*)?$",
    )
});
const PLATFORM: &str = "Test run summary: ";
static PLATFORM_FIGURE: Pattern =
    Pattern::new(|| pattern(r"^\s+(total|failed|succeeded|skipped): (\d+)$"));
/// Older versions: `Total tests: 5`, with the others below.
static TOTAL: Pattern = Pattern::new(|| {
    pattern(r"^Total tests: (\d+)(?:\. Passed: (\d+)\. Failed: (\d+)\. Skipped: (\d+)\.)?$")
});
static TOTAL_FIGURE: Pattern = Pattern::new(|| pattern(r"^\s+(Passed|Failed|Skipped): (\d+)$"));
/// `  Failed App.Tests.Adds [12 ms]`, of the platform `failed Adds (12ms)`.
static FAILED: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:Failed (\S.*?) \[(?:< )?[\d.,]+ ?\w+(?: \d+ ?\w+)*\]|failed (\S.*?) \((?:[\d.,]+ ?\w+ ?)+\))$",
    )
});
static FRAME: Pattern = Pattern::new(|| pattern(r"^\s*at .* in (.+?):(?:line )?(\d+)$"));
static NOTHING: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:No test is available in .*|No test matches the given testcase filter .*|Zero tests ran.*)$",
    )
});

/// Lines of one failure.
const BLOCK_LINES_MAX: usize = 100;
/// Lines of a summary.
const SUMMARY_LINES: usize = 12;

pub(super) fn is_summary(line: &str) -> bool {
    line.starts_with(PLATFORM)
        || line.contains("! ") && VSTEST.is_match(line)
        || TERMINAL.is_match(line)
}

pub(super) fn read(cx: &Context<'_>) -> Draft {
    let mut draft = Draft::default();
    let mut terminal = None;
    let mut seen = HashSet::new();
    let mut has_nothing = false;
    for (index, line) in cx.lines() {
        if let Some(found) = VSTEST.captures(line) {
            let [failed, passed, skipped] = [1, 2, 3].map(|it| lines::count(group(&found, it)));
            draft.add_counts(Counts { passed: Some(passed), failed, errors: 0, skipped });
        } else if let Some(found) = TERMINAL.captures(line) {
            let [failed, passed, skipped] = [2, 3, 4].map(|it| lines::count(group(&found, it)));
            terminal = Some(Counts { passed: Some(passed), failed, errors: 0, skipped });
        } else if line.starts_with(PLATFORM) {
            draft.add_counts(figures(cx, index, &PLATFORM_FIGURE));
        } else if let Some(found) = TOTAL.captures(line) {
            let counts = match found.get(2) {
                Some(_) => {
                    let [passed, failed, skipped] =
                        [2, 3, 4].map(|it| lines::count(group(&found, it)));
                    Counts { passed: Some(passed), failed, errors: 0, skipped }
                }
                None => figures(cx, index, &TOTAL_FIGURE),
            };
            draft.add_counts(counts);
        } else if NOTHING.is_match(line) {
            has_nothing = true;
        } else if line.contains("ailed ")
            && let Some(found) = FAILED.captures(line)
        {
            let name = found.get(1).or_else(|| found.get(2)).map_or("", |it| it.as_str());
            if seen.insert(name) {
                draft.failures.push(failure(cx, index, name));
            }
        } else if let Some(text) = line.strip_prefix("The active test run was aborted.") {
            draft.unfinished += 1;
            let message = format!("The active test run was aborted.{text}");
            draft.problems.push(Problem::error(message, Cut::new(index..index + 4, vec![index])));
        }
    }
    // It sums up what each test assembly said before.
    draft.counts = terminal.or(draft.counts).or(has_nothing.then_some(Counts::NONE));
    draft
}

fn figures(cx: &Context<'_>, index: usize, figure: &Pattern) -> Counts {
    let mut counts = Counts::NONE;
    let below = cx.log.slice(index + 1..index + 1 + SUMMARY_LINES);
    for found in below.filter_map(|it| figure.captures(it.1)) {
        let count = lines::count(group(&found, 2));
        match group(&found, 1).to_ascii_lowercase().as_str() {
            "passed" | "succeeded" => counts.passed = Some(count),
            "failed" => counts.failed = count,
            "skipped" => counts.skipped = count,
            _ => {}
        }
    }
    counts
}

fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = FRAME.captures(line)?;
    Some(cx.paths.place(group(&found, 1), number(&found, 2), None))
}

fn failure(cx: &Context<'_>, index: usize, name: &str) -> Failure {
    let below = cx.log.slice(index + 1..index + 1 + BLOCK_LINES_MAX);
    let is_end = |it: &str| {
        FAILED.is_match(it)
            || is_summary(it)
            || it.starts_with("Total tests:")
            || it.starts_with("  Passed ")
    };
    let body: Vec<(usize, &str)> = below.take_while(|it| !is_end(it.1)).collect();
    let end = body.last().map_or(index, |it| it.0) + 1;
    let is_label = |it: &str| {
        matches!(it.trim(), "Error Message:" | "Stack Trace:" | "Standard Output Messages:")
    };
    let is_frame =
        |it: &str| it.trim_start().starts_with("at ") || it.trim_start().starts_with("--- ");
    let message = lines::joined(
        body.iter()
            .map(|it| it.1)
            .take_while(|it| {
                !is_frame(it) && !matches!(it.trim(), "Stack Trace:" | "Standard Output Messages:")
            })
            .filter(|it| !is_label(it) && !it.starts_with("  from ")),
    );
    let own = lines::first_own(cx, index + 1..end, |line| frame(cx, line));
    let mut keys: Vec<usize> = (index..end).take(6).collect();
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location);
    let last = keys.iter().max().copied().unwrap_or(index);
    Failure {
        name: name.to_owned(),
        message,
        location,
        cut: Cut::new(index..last + 1, keys),
        ..Failure::default()
    }
}
