//! Jest.

use std::collections::HashSet;
use std::ops::Range;

use gate_core::TestPhase;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static TESTS: Pattern = Pattern::new(|| pattern(r"^Tests: +((?:\d+ [a-z]+, )*\d+ total)$"));
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+) ([a-z]+)"));
static FILE: Pattern =
    Pattern::new(|| pattern(r"^ ?(?:FAIL|PASS) +(?:\S+ )??(\S+\.\w+)(?: \([\d.]+ m?s\))?$"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^  ● (\S.*)$"));
static NO_TESTS: Pattern = Pattern::new(|| pattern(r"^No tests found, exiting with code \d+$"));

/// Lines of a comparison that go into the message.
const SIDES_MAX: usize = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct Jest;

impl LogParser for Jest {
    fn tool(&self) -> &'static str {
        "jest"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "jest"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.chooses(&["--reporters"], &["default", "verbose", "summary"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Test Suites: ", "Tests: ", "No tests found, exiting"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Test Suites: ") || TESTS.is_match(line) || NO_TESTS.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut seen = HashSet::new();
        let mut file = String::new();
        let mut block: Option<(usize, String)> = None;
        for (index, line) in cx.lines() {
            let is_end =
                TITLE.is_match(line) || FILE.is_match(line) || line.starts_with("Test Suites: ");
            if is_end && let Some((start, of_file)) = block.take() {
                add(cx, start..index, &of_file, &mut seen, &mut draft);
            }
            if let Some(found) = FILE.captures(line) {
                file = cx.paths.relative(group(&found, 1));
            } else if TITLE.is_match(line) {
                block = Some((index, file.clone()));
            } else if let Some(found) = TESTS.captures(line) {
                runs.push(counts(group(&found, 1)));
            } else if NO_TESTS.is_match(line) {
                runs.push(Counts::NONE);
                draft.problems.push(Problem::error(line, Cut::new(index..index + 3, vec![index])));
            }
        }
        if let Some((start, of_file)) = block {
            add(cx, start..cx.log.len(), &of_file, &mut seen, &mut draft);
        }
        coverage::add(cx, &mut draft);
        finish(self, cx, runs, &mut draft);
        draft
    }
}

/// Suites that failed to load have no tests: the summary does not speak of them.
fn finish(parser: &Jest, cx: &Context<'_>, mut runs: Vec<Counts>, draft: &mut Draft) {
    if js::is_one_run(cx, parser) {
        runs.drain(..runs.len().saturating_sub(1));
    }
    let broken = draft.failures.iter().filter(|it| is_file_failure(it)).count() as u64;
    if let Some(last) = runs.last_mut() {
        last.errors = broken;
    }
    // A green run explains nothing.
    if cx.input.is_green() {
        draft.problems.clear();
    }
    runs.into_iter().for_each(|it| draft.add_counts(it));
}

fn is_file_failure(failure: &Failure) -> bool {
    failure
        .location
        .as_ref()
        .is_some_and(|it| failure.name == it.file || failure.name.ends_with(&it.file))
        && !failure.name.contains(" > ")
}

fn counts(figures: &str) -> Counts {
    let mut counts = Counts::NONE;
    for found in FIGURE.captures_iter(figures) {
        let count: u64 = group(&found, 1).parse().unwrap_or(0);
        match group(&found, 2) {
            "passed" => counts.passed = Some(count),
            "failed" => counts.failed += count,
            "total" => {}
            _ => counts.skipped += count,
        }
    }
    counts
}

fn add(
    cx: &Context<'_>,
    block: Range<usize>,
    file: &str,
    seen: &mut HashSet<String>,
    draft: &mut Draft,
) {
    let title = TITLE
        .captures(cx.log.line(block.start))
        .map_or(String::new(), |it| group(&it, 1).to_owned());
    // What tests printed is no failure.
    let is_other = matches!(
        title.as_str(),
        "Console"
            | "Cannot log after tests are done. Did you forget to wait for something async in your test?"
    );
    // All failures are printed again at the end of a long run.
    if is_other || !seen.insert(format!("{file} {title}")) {
        return;
    }
    let is_file = title == "Test suite failed to run";
    let name = if is_file { file.to_owned() } else { title.replace(" › ", " > ") };
    let body = block.start + 1..block.end;
    let mut keys = vec![block.start];
    let mut message = String::new();
    let mut sides = 0;
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        let is_stack = js::frame(cx, line).is_some() || line.trim_start().starts_with('>');
        if is_stack {
            break;
        }
        let is_side = js::is_side(line) && sides < SIDES_MAX;
        if message.is_empty() || is_side {
            sides += usize::from(is_side);
            message.push_str(line.trim());
            message.push(' ');
            keys.push(at);
        } else if line.contains("SyntaxError: ") {
            // Jest explains at length before it says what it is.
            message = line.trim().to_owned();
            keys.push(at);
        }
    }
    let own = js::own_frame(cx, body.clone());
    let marked = js::code_frame_line(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    keys.extend(marked.map(|it| it.0));
    let location = match own {
        Some((_, place)) if !is_file || place.location.file == file => Some(place.location),
        Some(_) | None if file.is_empty() => None,
        Some(_) | None => Some(cx.paths.location(file, marked.map(|it| it.1))),
    };
    // Its file could not be loaded, or the process died before a test could tell.
    let phase = if is_file { TestPhase::Collection } else { TestPhase::Call };
    draft.failures.push(Failure {
        name,
        phase,
        message,
        location,
        cut: Cut::new(block, keys),
        ..Failure::default()
    });
}
