//! `RSpec`: its numbered failures, errors outside of examples, and its summary.

use std::ops::Range;

use super::{Context, LogParser, lines, ruby};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static SUMMARY: Pattern = Pattern::new(|| {
    pattern(
        r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$",
    )
});
static TITLE: Pattern = Pattern::new(|| pattern(r"^  (\d+)\) (\S.*)$"));
static OUTSIDE: Pattern = Pattern::new(|| {
    pattern(
        r"^An error occurred (?:while loading (\S+?)\.?(?: - Did you mean\?)?|in an? `[^`]*` hook\.)$",
    )
});
/// A syntax error has its place in its message.
static SYNTAX: Pattern = Pattern::new(|| pattern(r"^\s*(?:# )?(\S+\.rb):(\d+): "));
static CAUSE: Pattern = Pattern::new(|| pattern(r"^\s*# ([A-Z][\w:]*):$"));
static FRAME: Pattern = Pattern::new(|| pattern(r"^\s*# (\S.*?):(\d+)(?::in .*)?$"));

/// Lines of one failure.
const BLOCK_LINES_MAX: usize = 400;
/// Lines of its message.
const MESSAGE_LINES_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rspec;

impl LogParser for Rspec {
    fn tool(&self) -> &'static str {
        "rspec"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "rspec" | "parallel_rspec" | "turbo_tests")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let told = ["p", "progress", "d", "doc", "documentation"];
        call.chooses(&["--format", "-f"], &told)
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" example", "Failed examples:"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.contains(" example") && SUMMARY.is_match(line)) || line == "Failed examples:"
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut block: Option<(usize, usize)> = None;
        let mut in_failures = false;
        let mut blocks = Vec::new();
        for (index, line) in cx.lines() {
            let ends = line.starts_with("Finished in ")
                || line == "Failed examples:"
                || line == "Pending:";
            if line == "Failures:" {
                in_failures = true;
                // The runner's own list is the last one.
                blocks.clear();
            }
            let title = TITLE.captures(line).and_then(|it| group(&it, 1).parse::<usize>().ok());
            let is_next = in_failures && title == Some(block.map_or(0, |it| it.1) + 1);
            if ends || is_next || line == "Failures:" {
                blocks.extend(block.take().map(|it| (it.0..index, it.1)));
            }
            in_failures &= !ends;
            if is_next {
                block = Some((index, title.unwrap_or(0)));
            } else if let Some(found) = SUMMARY.captures(line).filter(|_| is_finished(cx, index)) {
                runs.push(counts(&found));
            } else if let Some(found) = OUTSIDE.captures(line) {
                draft.problems.push(outside(cx, index, &found));
            }
        }
        blocks.extend(block.map(|it| (it.0..cx.log.len(), it.1)));
        lines::keep_own(cx, self, &mut runs);
        draft.failures = blocks.into_iter().map(|it| failure(cx, it.0)).collect();
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

/// Its summary stands right below the time that it took.
fn is_finished(cx: &Context<'_>, index: usize) -> bool {
    index > 0 && cx.log.line(index - 1).starts_with("Finished in ")
}

fn counts(found: &regex::Captures<'_>) -> Counts {
    let [all, failed, skipped, errors] = [1, 2, 3, 4].map(|it| lines::count(group(found, it)));
    // What failed outside of examples is not among them.
    let passed = Some(all.saturating_sub(failed).saturating_sub(skipped));
    Counts { passed, failed, errors, skipped }
}

fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = FRAME.captures(line)?;
    Some(ruby::place(cx, group(&found, 1), number(&found, 2)))
}

/// What stands between `Failure/Error:` and the frames: its first paragraph is source, the others say what is wrong.
fn told(cx: &Context<'_>, range: Range<usize>) -> (String, Vec<usize>, Option<Place>) {
    let start = cx.log.slice(range.clone()).find(|it| it.1.contains("Failure/Error: "));
    let start = start.map_or(range.start, |it| it.0);
    let frames = cx.log.slice(start..range.end).find(|it| FRAME.is_match(it.1));
    let frames_at = frames.map_or(range.end, |it| it.0);
    let end = frames_at.min(start + 1 + MESSAGE_LINES_MAX);
    let below = || cx.log.slice(start + 1..end);
    let blank = below().find(|it| it.1.trim().is_empty()).map(|it| it.0);
    let has_more =
        blank.is_some_and(|blank| cx.log.slice(blank..end).any(|it| !it.1.trim().is_empty()));
    // A message of one's own stands right below the source.
    let from = blank.filter(|_| has_more).unwrap_or(start + 1);
    let body: Vec<(usize, &str)> =
        below().filter(|it| it.0 >= from && !it.1.trim().is_empty()).collect();
    let is_marker = |it: &str| it.trim().bytes().all(|byte| byte == b'^');
    // The source that an error shows again is left out.
    let is_shown = |at: usize| is_marker(cx.log.line(at)) || is_above_marker(cx, at);
    let text = body.iter().filter(|it| !is_shown(it.0));
    let mut message = match body.is_empty() {
        true => cx.log.line(start).trim().to_owned(),
        false => lines::joined(text.map(|it| it.1)),
    };
    if let Some(cause) = cause(cx, frames_at..range.end) {
        message = format!("{message} (caused by {cause})");
    }
    let own = lines::first_own(cx, start..range.end, |line| frame(cx, line));
    let own = own.or_else(|| {
        lines::first_own(cx, start..end, |line| {
            let found = SYNTAX.captures(line)?;
            Some(ruby::place(cx, group(&found, 1), number(&found, 2)))
        })
    });
    let mut keys = vec![range.start, start];
    keys.extend(body.iter().map(|it| it.0));
    keys.extend(own.as_ref().map(|it| it.0));
    (message, keys, own.map(|it| it.1))
}

fn is_above_marker(cx: &Context<'_>, at: usize) -> bool {
    let below = cx.log.line(at + 1).trim();
    !below.is_empty() && below.bytes().all(|it| it == b'^')
}

/// The last exception of a chain, below `--- Caused by: ---`.
fn cause(cx: &Context<'_>, range: Range<usize>) -> Option<String> {
    let mut found = cx.log.slice(range.clone()).filter(|it| it.1.contains("# --- Caused by: ---"));
    let at = found.by_ref().last()?.0;
    let mut below = cx.log.slice(at + 1..range.end);
    let class = CAUSE.captures(below.next()?.1)?;
    let said = below.next().map_or("", |it| it.1.trim_start_matches([' ', '#']));
    Some(format!("{}: {said}", group(&class, 1)))
}

fn failure(cx: &Context<'_>, block: Range<usize>) -> Failure {
    let block = block.start..block.end.min(block.start + BLOCK_LINES_MAX);
    let name = TITLE
        .captures(cx.log.line(block.start))
        .map_or("", |it| it.get(2).map_or("", |it| it.as_str()));
    // One that was expected to fail.
    let name = name.strip_suffix(" FIXED").unwrap_or(name);
    let (message, keys, place) = told(cx, block.clone());
    let location = place.map(|it| it.location);
    Failure {
        name: name.to_owned(),
        message,
        location,
        cut: Cut::new(block, keys),
        ..Failure::default()
    }
}

/// A file that could not be loaded: none of its examples ran.
fn outside(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let below = cx.log.slice(index + 1..index + BLOCK_LINES_MAX);
    let is_end = |it: &str| {
        OUTSIDE.is_match(it)
            || SUMMARY.is_match(it)
            || it.starts_with("Finished in ")
            || it == "No examples found."
    };
    let end = below.take_while(|it| !is_end(it.1)).last().map_or(index, |it| it.0) + 1;
    let (message, keys, place) = told(cx, index..end);
    let named = found.get(1).map(|it| cx.paths.location(it.as_str(), None));
    let location = place.map(|it| it.location).or(named);
    let head = cx.log.line(index).trim_end_matches('.');
    let message =
        if message == cx.log.line(index) { message } else { format!("{head}: {message}") };
    Problem::error(message, Cut::new(index..end, keys)).at(location)
}
