//! `deno test`, and the type errors of `deno check`.

use std::collections::HashSet;
use std::ops::Range;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static SUMMARY: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed(?: \([^)]*\))?((?: \| .+?)*)(?: \([^()]*\))?$",
    )
});
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+) (ignored|measured|filtered out)"));
static RUNNING: Pattern = Pattern::new(|| pattern(r"^running (\d+) tests? from (\S.*)$"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^(\S.*?) => (\S+?):(\d+):(\d+)$"));
static UNCAUGHT: Pattern = Pattern::new(|| pattern(r"^(\S+) \(uncaught error\)$"));
static TYPE_ERROR: Pattern = Pattern::new(|| pattern(r"^(TS\d+) \[ERROR\]: (.+)$"));
static NO_TESTS: Pattern = Pattern::new(|| pattern(r"^error: No test modules found$"));

/// Lines of one failure.
const DETAILS_LINES_MAX: usize = 200;
/// Lines of a message.
const MESSAGE_LINES_MAX: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct DenoTest;

impl LogParser for DenoTest {
    fn tool(&self) -> &'static str {
        "deno"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "deno" && matches!(call.subcommand(), "test" | "check" | "bench")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.chooses(&["--reporter"], &["pretty", "dot"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" passed", "running "]
    }

    fn is_banner(&self, line: &str) -> bool {
        SUMMARY.is_match(line) || (line.starts_with("running ") && RUNNING.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut seen = HashSet::new();
        let mut open: Option<(usize, String, Option<gate_core::Location>)> = None;
        let (mut is_list, mut is_running) = (false, false);
        for (index, line) in cx.lines() {
            let text = line.trim();
            let is_title = is_list && (TITLE.is_match(line) || UNCAUGHT.is_match(line));
            let is_end = is_title || text == "FAILURES" || SUMMARY.is_match(line);
            if is_end && let Some((start, name, location)) = open.take() {
                draft.failures.push(failure(cx, start..index, name, location));
            }
            if text == "ERRORS" || text == "FAILURES" {
                is_list = text == "ERRORS";
            } else if let Some(found) = TITLE.captures(line).filter(|_| is_title) {
                let name = group(&found, 1).replace(" ... ", " > ");
                let location = cx.paths.location(group(&found, 2), number(&found, 3));
                if seen.insert((name.clone(), location.file.clone())) {
                    open = Some((index, name, Some(location)));
                }
            } else if let Some(found) = UNCAUGHT.captures(line).filter(|_| is_title) {
                let location = cx.paths.location(group(&found, 1), None);
                open = Some((index, location.file.clone(), Some(location)));
            } else if let Some(found) = SUMMARY.captures(line) {
                is_running = false;
                runs.push(counts(&found));
            } else if RUNNING.is_match(line) {
                is_running = true;
            } else if let Some(found) = TYPE_ERROR.captures(line) {
                draft.problems.push(type_error(cx, index, &found));
            } else if NO_TESTS.is_match(line) {
                runs.push(Counts::NONE);
                draft.problems.push(Problem::error(line, Cut::line(index)));
            }
        }
        if js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        draft.unfinished = u32::from(is_running);
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

fn counts(found: &regex::Captures<'_>) -> Counts {
    let figure = |at| group(found, at).parse::<u64>().unwrap_or(0);
    let others = FIGURE.captures_iter(group(found, 3));
    let ignored = others
        .filter(|it| group(it, 2) == "ignored")
        .filter_map(|it| group(&it, 1).parse::<u64>().ok());
    Counts { passed: Some(figure(1)), failed: figure(2), errors: 0, skipped: ignored.sum() }
}

fn failure(
    cx: &Context<'_>,
    block: Range<usize>,
    name: String,
    at: Option<gate_core::Location>,
) -> Failure {
    let block = block.start..block.end.min(block.start + DETAILS_LINES_MAX);
    let mut keys = vec![block.start];
    let mut message = String::new();
    let body = block.start + 1..block.end;
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        // The line that threw follows, and a caret below it.
        let is_source = cx.log.line(at + 1).trim_start().starts_with('^');
        if is_source || js::frame(cx, line).is_some() || keys.len() > MESSAGE_LINES_MAX {
            break;
        }
        message = format!("{message} {}", line.strip_prefix("error: ").unwrap_or(line).trim());
        keys.push(at);
    }
    let own = js::own_frame(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location).or(at);
    let message = message.trim().to_owned();
    Failure { name, message, location, cut: Cut::new(block, keys), ..Failure::default() }
}

/// Its place stands below the source.
fn type_error(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let below = cx.log.slice(index + 1..index + 12);
    let place = { below }.find_map(|(at, line)| Some((at, js::frame(cx, line)?)));
    let end = place.as_ref().map_or(index, |it| it.0) + 1;
    let problem = Problem::error(group(found, 2), Cut::new(index..end, vec![index]));
    let code = Some(group(found, 1).to_owned());
    Problem { code, ..problem.at(place.map(|it| it.1.location)) }
}
