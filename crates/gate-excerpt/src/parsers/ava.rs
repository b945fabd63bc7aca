//! AVA's default reporter; its TAP is read as TAP.

use std::collections::VecDeque;
use std::ops::Range;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Before version 4 without words in brackets.
static RESULT: Pattern = Pattern::new(|| {
    pattern(
        r"^  (?:([✔✓√])(?: \[expected fail\]:?)?|([✖✘×])(?:\s+\[fail\]:)?|[-–](?: \[(?:skip|todo)\])?) (\S.*)$",
    )
});
static FIGURE: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^  (\d+) (tests? passed|tests? failed|tests? skipped|tests? todo|known failures?|hooks? failed",
        r"|uncaught exceptions?|unhandled rejections?|tests? remained pending.*)$"
    ))
});
/// What is wrong with a file or the run, not with a test.
static FAULT: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^  (?:[✖✘×] )?((?:Uncaught exception|Unhandled rejection) in (\S+)|No tests found in (\S+?),?(?: .*)?",
        r"|(\S+) exited (?:with a non-zero exit code: \d+|due to \w+)|Couldn’t find any files to test.*",
        r"|Timed out while running tests|(?:Failed to|Could not) (?:load|import|resolve) .*)$"
    ))
});
static PLACE: Pattern = Pattern::new(|| pattern(r"^  (\S+\.\w+):(\d+)$"));
static SOURCE: Pattern = Pattern::new(|| pattern(r"^ +\d+: |^ +\d+:$"));

/// The line between the results, the details, and the figures.
const RULE: &str = "  ─";
/// Lines of a message.
const MESSAGE_LINES_MAX: usize = 5;
/// Lines of one failure's details.
const DETAILS_LINES_MAX: usize = 300;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ava;

impl LogParser for Ava {
    fn tool(&self) -> &'static str {
        "ava"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "ava" && !call.has_arg("--tap") && !call.has_arg("-t")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["[fail]: ", RULE]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("  ✘ [fail]: ") || line.starts_with("  ✖ [fail]: ") || line == RULE
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut counts: Option<Counts> = None;
        let (mut ticks, mut marked, mut known) = (0_u64, 0_u64, 0_u64);
        let (mut has_started, mut has_passed) = (false, false);
        let mut waiting: VecDeque<(usize, &str)> = VecDeque::new();
        let mut block: Option<(usize, &str)> = None;
        for (index, line) in cx.lines() {
            if let Some(found) = FAULT.captures(line) {
                let file = (2..5).map(|it| group(&found, it)).find(|it| !it.is_empty());
                draft.problems.push(fault(cx, index, group(&found, 1), file));
            } else if let Some(found) = RESULT.captures(line).filter(|_| block.is_none()) {
                has_started = true;
                let is_known = line.contains("[expected fail]");
                marked += u64::from(is_known);
                ticks += u64::from(found.get(1).is_some());
                if found.get(2).is_some() {
                    waiting.push_back((index, found.get(3).map_or("", |it| it.as_str())));
                }
            } else if let Some(found) = FIGURE.captures(line) {
                draft.failures.extend(block.take().map(|it| failure(cx, it.0..index, it.1)));
                let counts = counts.get_or_insert(Counts::NONE);
                let count: u64 = group(&found, 1).parse().unwrap_or(0);
                has_passed |= add(counts, group(&found, 2), count);
                known = if group(&found, 2).starts_with("known") { count } else { known };
            } else if line == RULE {
                // The figures stand below the last rule; a test may have printed others before.
                counts = None;
                draft.failures.extend(block.take().map(|it| failure(cx, it.0..index, it.1)));
            } else if let Some((_, text)) = waiting.front().filter(|it| is_title(line, it.1)) {
                let title = &text[..line.len() - 2];
                let last = block.replace((index, title));
                draft.failures.extend(last.map(|it| failure(cx, it.0..index, it.1)));
                waiting.pop_front();
            }
        }
        draft.failures.extend(block.map(|it| failure(cx, it.0..cx.log.len(), it.1)));
        let untold = waiting.into_iter().map(|(index, text)| Failure {
            name: text.to_owned(),
            cut: Cut::line(index),
            ..Failure::default()
        });
        draft.failures.extend(untold);
        match counts {
            Some(mut counts) => {
                // Beside failures it does not say how many passed; the results do.
                let is_red = counts.failed + counts.errors > 0;
                counts.passed = if has_passed {
                    counts.passed
                } else {
                    is_red.then_some(ticks.saturating_sub(known.max(marked)))
                };
                draft.add_counts(counts);
            }
            None if draft.problems.iter().any(|it| is_empty_run(&it.message)) => {
                draft.add_counts(Counts::NONE);
            }
            None => draft.unfinished = u32::from(has_started),
        }
        if cx.input.is_green() {
            draft.problems.clear();
        }
        coverage::add(cx, &mut draft);
        draft
    }
}

/// Gives whether it says how many passed.
fn add(counts: &mut Counts, figure: &str, count: u64) -> bool {
    let is = |word: &str| figure.contains(word);
    if is("passed") {
        counts.passed = Some(count);
        return true;
    } else if figure.starts_with("test") && is("failed") {
        counts.failed = count;
    } else if is("skipped") || is("todo") || is("known") {
        counts.skipped += count;
    } else {
        counts.errors += count;
    }
    false
}

fn is_empty_run(message: &str) -> bool {
    message.starts_with("No tests found") || message.starts_with("Couldn’t find any files")
}

/// The title of a failure's details; its result line may say more behind it.
fn is_title(line: &str, result: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|title| {
        !title.is_empty()
            && result.strip_prefix(title).is_some_and(|it| it.is_empty() || it.starts_with(' '))
    })
}

/// The error stands in the lines below.
fn fault(cx: &Context<'_>, index: usize, text: &str, file: Option<&str>) -> Problem {
    let mut end = (index + DETAILS_LINES_MAX).min(cx.log.len());
    let mut keys = vec![index];
    let mut message = text.to_owned();
    for (at, line) in cx.log.slice(index + 1..end).filter(|it| !it.1.trim().is_empty()) {
        let is_end = line == RULE || FIGURE.is_match(line) || FAULT.is_match(line);
        if is_end || js::frame(cx, line).is_some() {
            end = at + usize::from(!is_end);
            break;
        }
        if keys.len() < MESSAGE_LINES_MAX && line.starts_with("  ") && !SOURCE.is_match(line) {
            keys.push(at);
            message = format!("{message} {}", line.trim());
        }
    }
    let own = js::own_frame(cx, index..end);
    let location = own.map(|it| it.1.location);
    let location = location.or_else(|| file.map(|it| cx.paths.location(it, None)));
    Problem::error(message, Cut::new(index..end, keys)).at(location)
}

fn failure(cx: &Context<'_>, block: Range<usize>, name: &str) -> Failure {
    let mut place = None;
    let mut keys = vec![block.start];
    let mut told: Vec<&str> = Vec::new();
    let mut thrown = None;
    let body = block.start + 1..block.end.min(block.start + DETAILS_LINES_MAX);
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        if let Some(found) = PLACE.captures(line).filter(|_| place.is_none()) {
            place = Some(cx.paths.location(group(&found, 1), number(&found, 2)));
            keys.push(at);
        } else if js::frame(cx, line).is_some() {
            // Of an error that was thrown, the stack's first line says it all.
            thrown = cx.log.line(at - 1).trim().split("\n").next().filter(|it| it.contains(": "));
            keys.push(at - 1);
            break;
        } else if !SOURCE.is_match(line) && told.len() < 2 * MESSAGE_LINES_MAX {
            told.push(line.trim());
            keys.push(at);
        }
    }
    let own = js::own_frame(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    Failure {
        name: name.replace(" › ", " > "),
        message: thrown.map_or_else(|| told.join(" "), str::to_owned),
        location: own.map(|it| it.1.location).or(place),
        cut: Cut::new(block, keys),
        ..Failure::default()
    }
}
