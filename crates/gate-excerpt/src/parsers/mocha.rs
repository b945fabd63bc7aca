//! Mocha's reporters that end with `N passing`: spec, dot, min, list, and others.

use std::ops::Range;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static PASSING: Pattern = Pattern::new(|| pattern(r"^  +(\d+) passing \([^)]*\)$"));
static OTHER: Pattern = Pattern::new(|| pattern(r"^  +(\d+) (pending|failing)$"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^  (\d+)\) (\S.*)$"));

/// Lines of a title: suites and the test.
const TITLE_LINES_MAX: usize = 30;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mocha;

/// One run's summary and its list of failures.
#[derive(Debug, Default)]
struct Run {
    counts: Counts,
    failures: Vec<Failure>,
}

impl LogParser for Mocha {
    fn tool(&self) -> &'static str {
        "mocha"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "mocha" | "_mocha")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" passing ("]
    }

    fn is_banner(&self, line: &str) -> bool {
        PASSING.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut runs: Vec<Run> = Vec::new();
        let mut block: Option<usize> = None;
        for (index, line) in cx.lines() {
            if let Some(found) = PASSING.captures(line) {
                let passed = group(&found, 1).parse().ok();
                let counts = Counts { passed, ..Counts::NONE };
                runs.push(Run { counts, failures: Vec::new() });
                block = None;
            }
            let Some(run) = runs.last_mut() else { continue };
            if let Some(found) = OTHER.captures(line) {
                let count = group(&found, 1).parse().unwrap_or(0);
                match group(&found, 2) {
                    "pending" => run.counts.skipped = count,
                    _ => run.counts.failed = count,
                }
            } else if is_next(line, run.failures.len() + usize::from(block.is_some())) {
                run.failures.extend(block.replace(index).map(|it| failure(cx, it..index)));
            } else if line.starts_with("npm ") || line.starts_with("> ") {
                run.failures.extend(block.take().map(|it| failure(cx, it..index)));
            }
        }
        if let Some(run) = runs.last_mut() {
            run.failures.extend(block.map(|it| failure(cx, it..cx.log.len())));
        }
        if cx.is_named && cx.calls.iter().filter(|it| self.is_called(it)).count() == 1 {
            runs.drain(..runs.len().saturating_sub(1));
        }
        let mut draft = Draft::default();
        for run in runs {
            draft.add_counts(run.counts);
            draft.failures.extend(run.failures);
        }
        draft
    }
}

/// The failures are numbered; what else looks like a title has another number.
fn is_next(line: &str, known: usize) -> bool {
    TITLE.captures(line).is_some_and(|it| group(&it, 1).parse() == Ok(known + 1))
}

fn failure(cx: &Context<'_>, block: Range<usize>) -> Failure {
    let first = TITLE.captures(cx.log.line(block.start)).map_or("", |it| group(&it, 2));
    let mut parts = vec![first.to_owned()];
    let mut body = block.start + 1;
    if !first.ends_with(':') {
        for (at, line) in cx.log.slice(block.start + 1..block.end).take(TITLE_LINES_MAX) {
            parts.push(line.trim().to_owned());
            body = at + 1;
            if line.ends_with(':') {
                break;
            }
        }
    }
    let name = parts.join(" > ").trim_end_matches(':').to_owned();
    let mut text = cx.log.slice(body..block.end).filter(|it| !it.1.trim().is_empty());
    let (message_at, message) = text.next().unwrap_or((block.start, ""));
    let own = js::own_frame(cx, body..block.end);
    let mut keys: Vec<usize> =
        (message_at..own.as_ref().map_or(message_at, |it| it.0).max(message_at) + 1).collect();
    keys.truncate(40);
    Failure {
        name,
        message: message.trim().to_owned(),
        location: own.map(|it| it.1.location),
        cut: Cut::new(block, keys),
        ..Failure::default()
    }
}
