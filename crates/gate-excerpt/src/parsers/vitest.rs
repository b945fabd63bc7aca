//! Vitest.

use std::ops::Range;

use gate_core::TestPhase;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static TESTS: Pattern = Pattern::new(|| {
    pattern(r"^ +Tests  +((?:\d+ [a-z ]+ \| )*\d+ [a-z ]+|no tests|)(?: ?\((\d+)\))?$")
});
static ERRORS: Pattern = Pattern::new(|| pattern(r"^ +Errors  +(\d+) errors?$"));
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+) ([a-z]+)"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^ ?FAIL  (\S.*)$"));
static NO_FILES: Pattern =
    Pattern::new(|| pattern(r"^No test files found, exiting with code \d+$"));

/// `⎯⎯⎯⎯ Unhandled Rejection ⎯⎯⎯⎯⎯`.
static RULED: Pattern = Pattern::new(|| pattern(r"^⎯{3,} ?(\S.*?) ?⎯{3,}$"));

/// Lines of an error that no test threw.
const UNHANDLED_LINES_MAX: usize = 60;
/// Lines of a comparison that go into the message.
const SIDES_MAX: usize = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct Vitest;

impl LogParser for Vitest {
    fn tool(&self) -> &'static str {
        "vitest"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "vitest"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        // The others are for machines, or for other pages.
        call.chooses(
            &["--reporter", "--reporters"],
            &["default", "basic", "verbose", "dot", "tree", "agent"],
        )
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Test Files", "Tests ", "No test files found"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with(" Test Files  ") || TESTS.is_match(line)) || NO_FILES.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut titles = Vec::new();
        let mut block = None;
        let mut broken = 0;
        for (index, line) in cx.lines() {
            if line.starts_with("⎯⎯⎯") {
                draft.problems.extend(unhandled(cx, index, line));
            }
            let is_title = line.trim_start().starts_with("FAIL  ") && TITLE.is_match(line);
            if is_title {
                // Tests that failed alike share their block.
                let is_shared = block.is_some_and(|it| it + 1 == index);
                if !is_shared {
                    titles.clear();
                }
                titles.push(index);
                block = Some(index);
            } else if line.starts_with("⎯⎯⎯")
                && let Some(start) = block.take()
            {
                broken += add(cx, &titles, start..index, &mut draft);
                titles.clear();
            } else if block.is_some() && line.is_empty() && is_next_title(cx, index) {
                let start = block.take().unwrap_or(index);
                broken += add(cx, &titles, start..index, &mut draft);
            }
            if let Some(found) = TESTS.captures(line) {
                runs.push(counts(group(&found, 1)));
            } else if let Some(found) = ERRORS.captures(line) {
                let errors = group(&found, 1).parse().unwrap_or(0);
                runs.last_mut().into_iter().for_each(|it| it.errors += errors);
            } else if NO_FILES.is_match(line) {
                runs.push(Counts::NONE);
                let problem =
                    Problem::error(line, Cut::new(index.saturating_sub(3)..index + 1, vec![index]));
                draft.problems.extend((!cx.input.is_green()).then_some(problem));
            }
        }
        if js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        runs.last_mut().into_iter().for_each(|it| it.errors += broken);
        runs.into_iter().for_each(|it| draft.add_counts(it));
        coverage::add(cx, &mut draft);
        draft
    }
}

/// An error that no test threw: under a title of its own, after the one that announces all of them.
fn unhandled(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = RULED.captures(line)?;
    let title = group(&found, 1);
    let is_sum = title.starts_with("Unhandled Errors")
        || title.starts_with("Failed ")
        || title.starts_with('[');
    if is_sum {
        return None;
    }
    let body = index + 1..(index + UNHANDLED_LINES_MAX).min(cx.log.len());
    let is_end = |it: &(usize, &str)| it.1.starts_with("⎯⎯⎯");
    let end = cx.log.slice(body.clone()).find(is_end).map_or(body.end, |it| it.0);
    let (at, message) = cx.log.slice(body.start..end).find(|it| !it.1.trim().is_empty())?;
    let own = js::own_frame(cx, body.start..end);
    let mut keys = vec![index, at];
    keys.extend(own.as_ref().map(|it| it.0));
    // Which test ran then stands in the last lines.
    keys.extend(
        cx.log
            .slice(body.start..end)
            .filter(|it| it.1.starts_with("This error originated"))
            .map(|it| it.0),
    );
    let message = format!("{title}: {message}");
    Some(Problem::error(message, Cut::new(index..end, keys)).at(own.map(|it| it.1.location)))
}

fn is_next_title(cx: &Context<'_>, index: usize) -> bool {
    TITLE.is_match(cx.log.line(index + 1))
}

fn counts(figures: &str) -> Counts {
    let mut counts = Counts::NONE;
    for found in FIGURE.captures_iter(figures) {
        let count: u64 = group(&found, 1).parse().unwrap_or(0);
        match group(&found, 2) {
            "passed" => counts.passed = Some(count),
            "failed" => counts.failed += count,
            _ => counts.skipped += count,
        }
    }
    counts
}

/// Adds the tests of the titles; gives how many of them are files that failed to load.
fn add(cx: &Context<'_>, titles: &[usize], block: Range<usize>, draft: &mut Draft) -> u64 {
    let body = block.start + 1..block.end;
    let mut message = String::new();
    let mut keys = titles.to_vec();
    let mut sides = 0;
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        if js::frame(cx, line).is_some() {
            break;
        }
        let is_side = js::is_side(line) && sides < SIDES_MAX;
        if message.is_empty() {
            message = line.trim().to_owned();
            keys.push(at);
        } else if is_side {
            sides += 1;
            keys.push(at);
        }
    }
    let own = js::own_frame(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location);
    let first = titles.first().copied().unwrap_or(block.start);
    let mut broken = 0;
    for title in titles {
        let Some(found) = TITLE.captures(cx.log.line(*title)) else { continue };
        let path = group(&found, 1);
        let (file, name, phase) = match path.split_once(" > ") {
            Some((file, name)) => (file, name, TestPhase::Call),
            None => {
                broken += 1;
                let file = path.split(" [ ").next().unwrap_or(path);
                (file, file, TestPhase::Collection)
            }
        };
        let file = file.rsplit("| ").next().unwrap_or(file);
        let location = location.clone().or_else(|| Some(cx.paths.location(file.trim(), None)));
        let cut = Cut::new(first..block.end, keys.clone());
        draft.failures.push(Failure {
            name: name.to_owned(),
            phase,
            message: message.clone(),
            location,
            cut,
            ..Failure::default()
        });
    }
    broken
}
