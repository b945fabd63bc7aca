//! Mocha's reporters that end with `N passing`: spec, dot, min, list, and others. Cypress prints so for each of its
//! spec files.

use std::ops::Range;

use gate_core::TestPhase;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static PASSING: Pattern = Pattern::new(|| pattern(r"^  +(\d+) passing \([^)]*\)$"));
static OTHER: Pattern = Pattern::new(|| pattern(r"^  +(\d+) (pending|failing)$"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^  (\d+)\) (\S.*)$"));
/// A result of the spec reporter.
static RESULT: Pattern =
    Pattern::new(|| pattern(r"^ {2,}(?:[✔✓√] (\S.*?)(?: \(\d+ms\))?|(\d+)\) \S.*)$"));
/// Where a time-out's message says that the test is.
static IN_FILE: Pattern = Pattern::new(|| pattern(r"\((/[^()]+|[A-Za-z]:\\[^()]+)\)$"));

/// Lines of a title: suites and the test.
const TITLE_LINES_MAX: usize = 30;
/// Lines of a message that goes on below its colon.
const MESSAGE_LINES_MAX: usize = 3;

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
        matches!(call.program.as_str(), "mocha" | "_mocha") || is_cypress(call)
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let told = ["spec", "dot", "min", "list", "nyan", "landing", "progress"];
        is_cypress(call) || call.chooses(&["--reporter", "-R"], &told)
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
        let is_cypress = cx.calls.iter().any(is_cypress);
        if !is_cypress && js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        let mut draft = Draft { tool: is_cypress.then_some("cypress"), ..Draft::default() };
        if runs.is_empty() && cx.is_named {
            unfinished(cx, &mut draft);
        }
        for run in runs {
            draft.add_counts(run.counts);
            draft.failures.extend(run.failures);
        }
        coverage::add(cx, &mut draft);
        draft
    }
}

fn is_cypress(call: &Call) -> bool {
    call.program == "cypress" && call.subcommand() == "run"
}

/// The results that the spec reporter printed before the run ended without a summary.
fn unfinished(cx: &Context<'_>, draft: &mut Draft) {
    let mut counts = Counts::NONE;
    let mut last = None;
    for (index, line) in cx.lines().filter(|it| it.1.starts_with("  ")) {
        let Some(found) = RESULT.captures(line) else { continue };
        match found.get(1) {
            Some(_) => counts.passed = counts.passed.map(|it| it + 1),
            None => counts.failed += 1,
        }
        last = Some((index, line.trim()));
    }
    let Some((index, line)) = last else { return };
    draft.unfinished = 1;
    draft.add_counts(counts);
    let message = format!("the run ended without its summary; the last result is: {line}");
    let cut = Cut::new(index.saturating_sub(3)..index + 12, vec![index]);
    draft.problems.push(Problem::error(message, cut));
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
            // What is not indented is the rest of a title with a line end in it.
            match parts.last_mut().filter(|_| !line.starts_with(' ')) {
                Some(last) => *last = format!("{last} {}", line.trim()),
                None => parts.push(line.trim().to_owned()),
            }
            body = at + 1;
            if line.ends_with(':') {
                break;
            }
        }
    }
    let name = parts.join(" > ").trim_end_matches(':').to_owned();
    let mut text = cx.log.slice(body..block.end).filter(|it| !it.1.trim().is_empty());
    let (message_at, first) = text.next().unwrap_or((block.start, ""));
    let mut message = first.trim().to_owned();
    while message.ends_with(':') && message.lines().count() < MESSAGE_LINES_MAX {
        let Some((_, line)) = text.next() else { break };
        message = format!("{message}\n{}", line.trim());
    }
    let own = js::own_frame(cx, body..block.end);
    let in_file = || IN_FILE.captures(first).map(|it| cx.paths.location(group(&it, 1), None));
    let location = own.as_ref().map(|it| it.1.location.clone()).or_else(in_file);
    let last = own.map_or(message_at, |it| it.0).max(message_at);
    let mut keys: Vec<usize> = (message_at..last + 1).collect();
    keys.truncate(40);
    let phase = phase(&name);
    Failure { name, phase, message, location, cut: Cut::new(block, keys), ..Failure::default() }
}

/// `"before each" hook for "reads"`, also with the hook's own name.
fn phase(name: &str) -> TestPhase {
    let title = name.rsplit(" > ").next().unwrap_or(name);
    if title.starts_with("\"before ") && title.contains("\" hook") {
        TestPhase::Setup
    } else if title.starts_with("\"after ") && title.contains("\" hook") {
        TestPhase::Teardown
    } else {
        TestPhase::Call
    }
}
