//! `ExUnit` of Elixir, and the errors of its compiler.

use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `1 doctest, 3 tests, 2 failures, 1 excluded, 1 invalid, 1 skipped`; without a test only `0 failures`.
static SUMMARY: Pattern = Pattern::new(|| {
    pattern(r"^((?:\d+ [a-z_ ]+, )*)(\d+) failures?((?:, \d+ (?:excluded|invalid|skipped))*)$")
});
/// Newer versions: `Result: 2 passed, 1 failed`.
static RESULT: Pattern = Pattern::new(|| pattern(r"^Result: (\d+(?:/\d+)? \w+.*)$"));
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+)(?:/\d+)? ([a-z_]+)"));
static TITLE: Pattern = Pattern::new(|| pattern(r"^ {1,2}(\d+)\) (\S.* \([\w.]+\))$"));
/// All tests of a module whose `setup_all` failed.
static MODULE: Pattern =
    Pattern::new(|| pattern(r"^ {1,2}(\d+)\) (\S+: failure on setup_all callback.*)$"));
static PLACE: Pattern =
    Pattern::new(|| pattern(r"^\s+(?:\([\w_]+ [^)]*\) )?(\S+\.exs?):(\d+)(?::.*)?$"));
static TOP: Pattern = Pattern::new(|| {
    pattern(r"^\*\* \(([\w.]+)\) (?:([^\s:]+\.(?:exs?|eex|heex|leex)):(\d+)(?::\d+)?: )?(.*)$")
});
static LOGGED: Pattern = Pattern::new(|| pattern(r"^\s*└─ (\S+?):(\d+)(?::(\d+))?(?::.*)?$"));

/// Lines of one failure.
const BLOCK_LINES_MAX: usize = 300;
/// Lines of its message.
const MESSAGE_LINES_MAX: usize = 30;

/// See the module.
#[derive(Debug)]
pub(crate) struct Exunit;

impl LogParser for Exunit {
    fn tool(&self) -> &'static str {
        "exunit"
    }

    fn is_called(&self, call: &Call) -> bool {
        let is_mix =
            call.program == "mix" && matches!(call.subcommand(), "test" | "do" | "coveralls");
        is_mix || (call.program == "elixir" && call.args.iter().any(|it| it.ends_with(".exs")))
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.values(&["--formatter"]).next().is_none()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Randomized with seed ", "Running ExUnit with seed: ", "== Compilation error in file "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Randomized with seed ")
            || line.starts_with("== Compilation error in file ")
            || line.starts_with("Running ExUnit with seed: ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut block: Option<usize> = None;
        let (mut number, mut starts) = (0_u64, 0_usize);
        for (index, line) in cx.lines() {
            let counts = finished(cx, index).then(|| counts(line)).flatten();
            starts += usize::from(line.starts_with("Running ExUnit with seed: "));
            let title = TITLE.captures(line);
            let is_next = title.is_some_and(|it| group(&it, 1).parse() == Ok(number + 1));
            if MODULE.is_match(line) {
                draft.failures.extend(block.take().map(|it| failure(cx, it..index)));
                draft.problems.push(module(cx, index));
            }
            if is_next || counts.is_some() || line.starts_with("Finished in ") {
                draft.failures.extend(block.take().map(|it| failure(cx, it..index)));
            }
            if is_next {
                number += 1;
                block = Some(index);
            } else if counts.is_some() {
                number = 0;
            }
            runs.extend(counts);
        }
        let end = cx.log.len();
        draft.failures.extend(block.map(|it| failure(cx, it..end)));
        lines::keep_own(cx, self, &mut runs);
        lines::keep_started(starts, &mut runs);
        draft.unfinished = u32::from(starts > 0 && runs.is_empty());
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft.problems.extend(compiler(cx));
        draft
    }
}

/// Its summary stands below `Finished in`, whatever the slowest tests between them.
fn finished(cx: &Context<'_>, index: usize) -> bool {
    let above = cx.log.slice(index.saturating_sub(40)..index).rev();
    let line = cx.log.line(index);
    let looks = line.contains("failure") || line.starts_with("Result: ");
    looks && above.take_while(|it| !TITLE.is_match(it.1)).any(|it| it.1.starts_with("Finished in "))
}

fn counts(line: &str) -> Option<Counts> {
    let sum = |text: &str, words: &[&str]| -> u64 {
        let figures = FIGURE.captures_iter(text);
        let wanted = figures.filter(|it| words.iter().any(|word| group(it, 2).starts_with(word)));
        wanted.map(|it| lines::count(group(&it, 1))).sum()
    };
    if let Some(found) = RESULT.captures(line) {
        let text = group(&found, 1);
        let passed = Some(sum(text, &["passed"]));
        let skipped = sum(text, &["skipped", "excluded"]);
        return Some(Counts {
            passed,
            failed: sum(text, &["fail", "invalid"]),
            errors: 0,
            skipped,
        });
    }
    let found = SUMMARY.captures(line)?;
    let all: u64 =
        FIGURE.captures_iter(group(&found, 1)).map(|it| lines::count(group(&it, 1))).sum();
    let failed = lines::count(group(&found, 2));
    let rest = group(&found, 3);
    // Invalid tests did not run, because what they need failed.
    let (errors, skipped) = (sum(rest, &["invalid"]), sum(rest, &["excluded", "skipped"]));
    let passed = all.saturating_sub(failed).saturating_sub(errors).saturating_sub(skipped);
    Some(Counts { passed: Some(passed), failed, errors, skipped })
}

fn place(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = PLACE.captures(line)?;
    let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
    // `(elixir 1.14.0) lib/enum.ex:1` is a dependency's; the project's own application is named too.
    let is_library = line.trim_start().starts_with("(elixir ")
        || line.trim_start().starts_with("(ex_unit ")
        || line.trim_start().starts_with("(stdlib ")
        || place.location.file.starts_with("deps/");
    Some(Place { is_own: place.is_own && !is_library, ..place })
}

fn failure(cx: &Context<'_>, block: Range<usize>) -> Failure {
    let block = block.start..block.end.min(block.start + BLOCK_LINES_MAX);
    let head = cx.log.line(block.start);
    let name = head.trim_start().split_once(") ").map_or("", |it| it.1).to_owned();
    // Below the title stands where the test begins.
    let start = block.start + 2;
    let trace = cx.log.slice(start..block.end).find(|it| it.1.trim() == "stacktrace:");
    let trace_at = trace.map_or(block.end, |it| it.0);
    let is_output = |it: &str| it.trim() == "The following output was logged:";
    let text: Vec<(usize, &str)> = cx
        .log
        .slice(start..trace_at)
        .take(MESSAGE_LINES_MAX)
        .take_while(|it| !is_output(it.1))
        .filter(|it| !it.1.trim().is_empty())
        .collect();
    let message = lines::joined(text.iter().map(|it| it.1));
    let own = lines::first_own(cx, trace_at..block.end, |line| place(cx, line));
    let own = own.or_else(|| lines::first_own(cx, block.start + 1..start, |line| place(cx, line)));
    let mut keys = vec![block.start];
    keys.extend(text.iter().map(|it| it.0));
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location);
    Failure { name, message, location, cut: Cut::new(block, keys), ..Failure::default() }
}

/// A module whose `setup_all` failed: none of its tests ran.
fn module(cx: &Context<'_>, index: usize) -> Problem {
    let below = cx.log.slice(index + 1..index + MESSAGE_LINES_MAX);
    let end = below.take_while(|it| !it.1.trim().is_empty()).last().map_or(index, |it| it.0) + 1;
    let Failure { name, message, location, cut, .. } = failure(cx, index..end);
    // There is no line for where the test begins.
    let said = lines::joined([cx.log.line(index + 1), message.as_str()]);
    Problem::error(format!("{name}: {said}"), cut).at(location)
}

/// `error:` with the place below since 1.15; before, an exception with the place in its message.
fn compiler(cx: &Context<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in cx.lines() {
        if let Some(text) = line.trim_start().strip_prefix("error: ") {
            let below = cx.log.slice(index + 1..index + MESSAGE_LINES_MAX);
            let found = below.take_while(|it| !it.1.trim().is_empty());
            let place = found.into_iter().find_map(|(at, it)| Some((at, LOGGED.captures(it)?)));
            if let Some((at, found)) = place {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                let cut = Cut::new(index..at + 1, vec![index, at]);
                problems.push(Problem::error(text, cut).at(Some(place.location)));
            }
        } else if line.starts_with("Paths given to \"mix test\" did not match") {
            problems.push(Problem::error(line, Cut::line(index)));
        } else if line.starts_with("** (")
            && let Some(found) = TOP.captures(line)
        {
            let location = found.get(2).map(|it| cx.paths.location(it.as_str(), number(&found, 3)));
            let message = format!("** ({}) {}", group(&found, 1), group(&found, 4));
            problems.push(
                Problem::error(message, Cut::new(index..index + 6, vec![index])).at(location),
            );
        }
    }
    // The exception only says that errors have been logged.
    let is_echo = |it: &Problem| it.message.contains("errors have been logged");
    if problems.iter().any(|it| !is_echo(it)) {
        problems.retain(|it| !is_echo(it));
    }
    problems
}
