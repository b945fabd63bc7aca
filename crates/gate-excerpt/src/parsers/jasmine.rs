//! Jasmine's own reporter.

use std::ops::Range;

use gate_core::TestPhase;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static SUMMARY: Pattern = Pattern::new(|| {
    pattern(r"^(?:Ran \d+ of )?(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?$")
});
static NUMBERED: Pattern = Pattern::new(|| pattern(r"^(\d+)\) (\S.*)$"));
static SUITE: Pattern =
    Pattern::new(|| pattern(r"^(?:Suite error|Afterall): (\S.*)$|^(Suite error|Top level suite)$"));

/// Lines of the messages of one failure.
const MESSAGE_LINES_MAX: usize = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct Jasmine;

impl LogParser for Jasmine {
    fn tool(&self) -> &'static str {
        "jasmine"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "jasmine" | "jasmine-ts" | "jasmine-node")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.values(&["--reporter"]).next().is_none()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Randomized with seed ", " failure"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Randomized with seed ") || SUMMARY.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        // The reporter lists the failures after everything that the specs printed.
        let mut list = None;
        let mut runs: Vec<(usize, Option<usize>, Counts)> = Vec::new();
        let mut has_started = false;
        for (index, line) in cx.lines() {
            if line == "Failures:" {
                list = Some(index);
            } else if line == "Started" {
                has_started = true;
            } else if line == "No specs found" {
                runs.push((index, None, Counts::NONE));
                let problem = Problem::error(line, Cut::line(index));
                draft.problems.extend((!cx.input.is_green()).then_some(problem));
            } else if let Some(found) = SUMMARY.captures(line) {
                let figure = |at| group(&found, at).parse::<u64>().unwrap_or(0);
                let (specs, failed, pending) = (figure(1), figure(2), figure(3));
                let passed = Some(specs.saturating_sub(failed).saturating_sub(pending));
                let counts = Counts { passed, failed, errors: 0, skipped: pending };
                runs.push((index, list.take(), counts));
            }
        }
        if js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        draft.unfinished = u32::from(runs.is_empty() && has_started);
        for (end, list, mut counts) in runs {
            let failures = list.map_or(Vec::new(), |it| failures(cx, it + 1..end));
            // A suite's own error counts as a failure, but is none of the specs.
            let suites = failures.iter().filter(|it| it.1).count() as u64;
            counts.errors = suites.min(counts.failed);
            counts.failed -= counts.errors;
            counts.passed = counts.passed.map(|it| it + counts.errors);
            draft.add_counts(counts);
            draft.failures.extend(failures.into_iter().map(|it| it.0));
        }
        coverage::add(cx, &mut draft);
        draft
    }
}

/// The listed failures, and whether each is that of a suite.
fn failures(cx: &Context<'_>, list: Range<usize>) -> Vec<(Failure, bool)> {
    let mut starts: Vec<(usize, String, bool)> = Vec::new();
    let mut end = list.end;
    let mut known = 0;
    for (index, line) in cx.log.slice(list) {
        let is_next = |it: &regex::Captures<'_>| group(it, 1).parse() == Ok(known + 1);
        if line == "Pending:" {
            end = index;
            break;
        } else if let Some(found) = NUMBERED.captures(line).filter(is_next) {
            known += 1;
            starts.push((index, group(&found, 2).to_owned(), false));
        } else if let Some(found) = SUITE.captures(line) {
            let name = format!("{}{}", group(&found, 1), group(&found, 2));
            starts.push((index, name, true));
        }
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|it| it.0).chain([end]).collect();
    let failure = |((start, name, is_suite), end): ((usize, String, bool), usize)| {
        let phase = if is_suite { TestPhase::Setup } else { TestPhase::Call };
        (Failure { phase, ..failure(cx, start..end, name) }, is_suite)
    };
    starts.into_iter().zip(ends).map(failure).collect()
}

fn failure(cx: &Context<'_>, block: Range<usize>, name: String) -> Failure {
    let mut message = String::new();
    let mut keys = vec![block.start];
    let mut is_message = false;
    for (at, line) in cx.log.slice(block.start + 1..block.end) {
        match line.trim() {
            "Message:" => is_message = true,
            "Stack:" => is_message = false,
            text if is_message && keys.len() <= MESSAGE_LINES_MAX => {
                message = format!("{message} {text}");
                keys.push(at);
            }
            _ => {}
        }
    }
    let own = js::own_frame(cx, block.clone());
    keys.extend(own.as_ref().map(|it| it.0));
    Failure {
        name,
        message: message.trim().to_owned(),
        location: own.map(|it| it.1.location),
        cut: Cut::new(block, keys),
        ..Failure::default()
    }
}
