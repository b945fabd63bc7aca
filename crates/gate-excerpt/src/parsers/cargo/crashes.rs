//! A test binary that started and printed no summary: it crashed, was ended, or left by itself.

use std::ops::Range;

use gate_core::Location;

use super::failures::without_mode;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::parsers::{Context, panics};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static TEST: Pattern = Pattern::new(|| pattern(r"^test (\S.*?) \.\.\. ?(.*)$"));
static SLOW: Pattern =
    Pattern::new(|| pattern(r"^test (\S.*) has been running for over \d+ seconds"));
static OVERFLOW: Pattern =
    Pattern::new(|| pattern(r"^thread '(.+?)'(?: \(\d+\))? (has overflowed its stack)"));
static PROCESS: Pattern = Pattern::new(|| {
    pattern(r"process didn't exit successfully: .*\(((?:signal|exit status|exit code): ?[^)]*)\)")
});

/// `     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)`
static RUNNING: Pattern = Pattern::new(|| pattern(r"^ +Running (?:unittests )?(\S+\.rs) \(.*\)$"));
static RERUN: Pattern =
    Pattern::new(|| pattern(r"^error: test failed, to rerun pass `(?:-p \S+ )?(.+)`$"));

/// Between the binary's name and its first line stands a blank one.
const LINES_ABOVE: usize = 3;

/// What is known of the binary.
#[derive(Debug, Default)]
struct Crash<'t> {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// Started, and nothing came after it.
    running: Option<(usize, &'t str)>,
    slow: Vec<(usize, &'t str)>,
    overflowed: Option<(usize, &'t str)>,
    ended: Option<(usize, &'t str)>,
}

/// Counts the results that it printed, and names the test that was running.
pub(super) fn read(cx: &Context<'_>, range: Range<usize>, draft: &mut Draft) {
    let crash = look(cx, range.clone());
    draft.add_counts(Counts {
        passed: Some(crash.passed),
        failed: crash.failed,
        errors: 0,
        skipped: crash.skipped,
    });
    let why = crash.ended.map_or("", |it| it.1);
    let end = crash.ended.map_or(range.end, |it| it.0 + 1);
    let cut = |first: usize, keys: Vec<usize>| {
        let keys = keys.into_iter().chain(crash.ended.map(|it| it.0)).collect();
        Cut::new(first..end.max(first + 1), keys)
    };
    let failures_before = draft.failures.len();
    let known = |draft: &Draft, name: &str| draft.failures.iter().any(|it| it.name == name);

    if let Some((at, name)) = crash.overflowed {
        let message = "the thread has overflowed its stack".to_owned();
        let cut = cut(at, vec![at]);
        draft.failures.push(Failure { name: name.to_owned(), message, cut, ..Failure::default() });
    } else if let Some(panic) = panics::first(cx, range.clone()).filter(|_| why.contains("SIGABRT"))
    {
        // A panic that aborts.
        let location = panic.place.is_own.then_some(panic.place.location);
        let cut = cut(panic.lines.start, panic.lines.collect());
        let name = crash.running.map_or(panic.thread, |it| it.1).to_owned();
        draft.failures.retain(|it| it.name != name);
        draft.failures.push(Failure {
            name,
            message: panic.message,
            location,
            cut,
            ..Failure::default()
        });
    } else if let Some((at, name)) = crash.running {
        let message = match why {
            "" => format!("`test {name} ...` started and has no result"),
            why => format!("the test's process was ended ({why})"),
        };
        let cut = cut(at, vec![at]);
        draft.failures.push(Failure { name: name.to_owned(), message, cut, ..Failure::default() });
    } else {
        for (at, name) in crash.slow.iter().filter(|it| !known(draft, it.1)).collect::<Vec<_>>() {
            let message = "it was still running when its process was ended".to_owned();
            let cut = Cut::line(*at);
            draft.failures.push(Failure {
                name: (*name).to_owned(),
                message,
                cut,
                ..Failure::default()
            });
        }
    }
    let is_told = draft.failures.len() > failures_before || crash.failed > 0;
    if !is_told && !why.is_empty() {
        let message = format!("a test binary ended without its summary ({why})");
        let cut = cut(range.start, vec![range.start]);
        // Beside failing tests, a problem would be passed over.
        match binary(cx, range).filter(|_| !draft.failures.is_empty()) {
            Some((name, location)) => {
                draft.failures.push(Failure { name, message, location, cut, ..Failure::default() });
            }
            None => draft.problems.push(Problem::error(message, cut)),
        }
    }
}

/// The binary's name: its root file, which stands above what it printed, or what runs it again.
fn binary(cx: &Context<'_>, range: Range<usize>) -> Option<(String, Option<Location>)> {
    let above = cx.log.slice(range.start.saturating_sub(LINES_ABOVE)..range.start);
    if let Some(found) = above.filter_map(|it| RUNNING.captures(it.1)).next_back() {
        let file = group(&found, 1);
        return Some((file.to_owned(), Some(cx.paths.location(file, None))));
    }
    let found = cx.log.slice(range).find_map(|it| RERUN.captures(it.1))?;
    Some((group(&found, 1).to_owned(), None))
}

fn look<'a>(cx: &Context<'a>, range: Range<usize>) -> Crash<'a> {
    let mut crash = Crash::default();
    for (index, line) in cx.lines_in(range) {
        if let Some(found) = OVERFLOW.captures(line) {
            crash.overflowed = found.get(1).map(|it| (index, it.as_str()));
        } else if let Some(found) = PROCESS.captures(line) {
            crash.ended = crash.ended.or(found.get(1).map(|it| (index, it.as_str())));
        } else if let Some(found) = SLOW.captures(line) {
            crash.slow.extend(found.get(1).map(|it| (index, it.as_str())));
        } else if let Some(found) = line.strip_prefix("test ").and_then(|_| TEST.captures(line)) {
            let name = found.get(1).map_or("", |it| without_mode(it.as_str()));
            let result = group(&found, 2);
            crash.running = None;
            crash.slow.retain(|it| it.1 != name);
            match result {
                "ok" => crash.passed += 1,
                "FAILED" => crash.failed += 1,
                _ if result.starts_with("ignored") => crash.skipped += 1,
                _ => crash.running = Some((index, name)),
            }
        } else if crash.running.is_some() && matches!(line, "ok" | "FAILED") {
            // What the test printed tore the line apart.
            crash.running = None;
            crash.passed += u64::from(line == "ok");
            crash.failed += u64::from(line == "FAILED");
        }
    }
    crash
}
