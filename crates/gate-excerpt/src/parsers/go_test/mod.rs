//! `go test`. Only with `-v` it prints the tests that passed; without, the reading has failures but no tally.

mod packages;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use gate_core::Location;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::limits::{BLOCK_LINES_MAX, FAILING_TESTS_MAX, SUBTEST_DEPTH_MAX};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;
use packages::Packages;

static RESULT: Pattern =
    Pattern::new(|| pattern(r"^(\s*)--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$"));
static PACKAGE: Pattern =
    Pattern::new(|| pattern(r"^(ok  |FAIL|\?   )\t(\S+)(?:\t(.*)| \[(.*)\])$"));
static LOG_LINE: Pattern = Pattern::new(|| pattern(r"^\s+(\S+\.go):(\d+): ?(.*)$"));
static PANIC: Pattern = Pattern::new(|| pattern(r"^(panic: .*|fatal error: .*)$"));
/// Another test goes on.
static SPEAKS: Pattern = Pattern::new(|| pattern(r"^=== (?:CONT|NAME)  (\S+)$"));
/// Below `running tests:` of a time limit.
static RUNNING: Pattern = Pattern::new(|| pattern(r"^(\S+) \([\d.hms]+\)$"));
/// What looks like the reason among the lines of a test.
static TELLS: Pattern = Pattern::new(|| {
    pattern(
        r"(?i)\b(?:want|got|expected|unexpected|error|fail\w*|mismatch|diff|not|nil|should|must|but|cannot|unable|invalid|missing|race)\b|!=",
    )
});
static FRAME: Pattern = Pattern::new(|| pattern(r"^\s+(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$"));
static FRAME_TEST: Pattern =
    Pattern::new(|| pattern(r"\.(Test\w+|Example\w*|Fuzz\w+)(?:\.func\d+)*\("));
static BUILD: Pattern = Pattern::new(|| pattern(r"^(?:vet: )?(\S+\.go):(\d+):(\d+): (.*)$"));

const RACED: &str = "race detected during execution of test";
/// Lines of one test that are remembered.
const LOGGED_MAX: usize = 200;

/// See the module.
#[derive(Debug)]
pub(crate) struct GoTest;

#[derive(Debug, Default)]
struct Run {
    is_verbose: bool,
    has_tests: bool,
    results: Vec<(usize, String, String)>,
    started: HashMap<String, usize>,
    /// With `-v`: for each test the lines that it logged.
    logged: HashMap<String, Vec<usize>>,
    /// The tests that a time limit found running.
    running: Vec<String>,

    panic: Option<usize>,
    race: Option<usize>,
    packages: Packages,
}

impl LogParser for GoTest {
    fn tool(&self) -> &'static str {
        "go-test"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "gotestsum" || (call.program == "go" && call.subcommand() == "test")
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["=== RUN   ", "\t"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("=== RUN   ") || line.contains('\t'))
            && (line.starts_with("===") || PACKAGE.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut run = Run::default();
        let mut in_build = false;
        let mut speaks = String::new();
        for (index, line) in cx.lines() {
            if let Some(test) = line.strip_prefix("=== RUN   ") {
                run.is_verbose = true;
                run.started.insert(test.trim().to_owned(), index);
                speaks = test.trim().to_owned();
            } else if let Some(test) = SPEAKS.captures(line) {
                speaks = group(&test, 1).to_owned();
            } else if let Some(found) = RESULT.captures(line) {
                run.has_tests = true;
                run.started.remove(group(&found, 3));
                run.results.push((index, group(&found, 2).to_owned(), group(&found, 3).to_owned()));
            } else if let Some(found) = PACKAGE.captures(line) {
                run.packages.add(index, group(&found, 2));
                let note = format!("{}{}", group(&found, 3), group(&found, 4));
                run.has_tests |=
                    !note.contains("no test files") && !note.contains("no tests to run");
                in_build = false;
            } else if line.starts_with("# ") {
                in_build = true;
            } else if in_build && let Some(found) = BUILD.captures(line) {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                let cut = Cut::new(index..index + 3, vec![index]);
                draft.problems.push(Problem::error(group(&found, 4), cut).at(Some(place.location)));
            } else if let Some(test) = line.strip_prefix("\t\t").and_then(|it| RUNNING.captures(it))
            {
                run.running.push(group(&test, 1).to_owned());
            } else if run.is_verbose && line.starts_with("    ") && LOG_LINE.is_match(line) {
                let lines = run.logged.entry(speaks.clone()).or_default();
                if lines.len() < LOGGED_MAX {
                    lines.push(index);
                }
            } else if PANIC.is_match(line) {
                run.panic.get_or_insert(index);
            } else if line == "WARNING: DATA RACE" {
                run.race.get_or_insert(index);
            }
        }
        run.finish(cx, &mut draft);
        draft
    }
}

impl Run {
    fn finish(self, cx: &Context<'_>, draft: &mut Draft) {
        // A parent fails with its subtests.
        let parents: HashSet<&str> = self.results.iter().flat_map(|it| ancestors(&it.2)).collect();
        let leaves = || self.results.iter().filter(|it| !parents.contains(it.2.as_str()));
        let count = |word: &str| leaves().filter(|it| it.1 == word).count() as u64;
        let mut failed = count("FAIL");
        for (index, _, name) in leaves().filter(|it| it.1 == "FAIL").take(FAILING_TESTS_MAX) {
            let mut failure = self.failure(cx, *index, name);
            self.packages.resolve(*index, failure.location.as_mut());
            draft.failures.push(failure);
        }
        if let Some(index) = self.panic.filter(|_| draft.failures.is_empty()) {
            let crashed = self.crashed(cx, index);
            if crashed.is_none() {
                let (message, location, cut) = stack(cx, index);
                draft.problems.push(Problem::error(message, cut).at(location));
            }
            draft.failures.extend(crashed);
            failed = failed.max(draft.failures.len() as u64);
        }
        let last = self.started.iter().max_by_key(|it| it.1).filter(|_| draft.failures.is_empty());
        if let Some((name, at)) = last.filter(|_| self.is_verbose && !cx.input.is_green()) {
            draft.failures.push(died(cx, name, *at));
        }
        // Tests that started, and the binary died.
        draft.unfinished += u32::from(self.is_verbose && !self.started.is_empty());
        if self.is_verbose {
            let passed = Some(count("PASS"));
            draft.add_counts(Counts { passed, failed, errors: 0, skipped: count("SKIP") });
        } else if !self.packages.is_empty() && !self.has_tests {
            draft.add_counts(Counts::NONE);
        } else if failed > 0 || !self.packages.is_empty() {
            // How many passed is not printed.
            draft.add_counts(Counts { passed: None, failed, errors: 0, skipped: count("SKIP") });
        }
    }

    fn failure(&self, cx: &Context<'_>, index: usize, name: &str) -> Failure {
        let name = name.to_owned();
        if let Some(at) = self.panic.filter(|it| *it == index + 1) {
            let (message, location, cut) = stack(cx, at);
            return Failure { name, message, location, cut, ..Failure::default() };
        }
        let is_raced = || {
            let below = cx.log.slice(index + 1..index + 1 + BLOCK_LINES_MAX);
            let mut own = below.take_while(|it| it.1.starts_with(' '));
            own.any(|it| it.1.contains(RACED))
                || self
                    .logged
                    .get(&name)
                    .is_some_and(|it| it.iter().any(|at| cx.log.line(*at).contains(RACED)))
        };
        if let Some(at) = self.race.filter(|it| *it < index && is_raced()) {
            let (message, location, mut cut) = stack(cx, at);
            cut.range.end = cut.range.end.max(index + 3);
            cut.keys.extend(index..index + 3);
            return Failure { name, message, location, cut, ..Failure::default() };
        }
        let indent = cx.log.line(index).len() - cx.log.line(index).trim_start().len();
        let is_part = |it: &(usize, &str)| it.1.len() - it.1.trim_start().len() > indent;
        let own: Vec<(usize, &str)> = cx
            .log
            .slice(index + 1..cx.log.len())
            .take(BLOCK_LINES_MAX)
            .take_while(is_part)
            .take_while(|it| !RESULT.is_match(it.1))
            .collect();
        if own.is_empty()
            && let Some(known) = self.logged.get(&name)
        {
            return self.told(cx, index, name, known);
        }
        if own.is_empty() && name.starts_with("Example") {
            return example(cx, index, name);
        }
        // With `-v` the output stands above the result.
        let above: Vec<(usize, &str)> = cx
            .log
            .slice(index.saturating_sub(BLOCK_LINES_MAX)..index)
            .rev()
            .take_while(|it| LOG_LINE.is_match(it.1) || it.1.starts_with("        "))
            .collect();
        let lines = if own.is_empty() { above.into_iter().rev().collect() } else { own };
        let first = lines.first().map_or(index, |it| it.0.min(index));
        let end = lines.last().map_or(index, |it| it.0.max(index)) + 1;
        let mut keys = vec![index];
        let logged: Vec<usize> =
            lines.iter().filter(|it| LOG_LINE.is_match(it.1)).map(|it| it.0).collect();
        let Some(at) = telling(cx, &logged) else {
            return Failure { name, cut: Cut::new(first..end, keys), ..Failure::default() };
        };
        let Some(found) = LOG_LINE.captures(cx.log.line(at)) else {
            return Failure { name, cut: Cut::new(first..end, keys), ..Failure::default() };
        };
        keys.push(at);
        let mut message = group(&found, 3).to_owned();
        let rest = lines.iter().filter(|it| it.0 > at).take_while(|it| !LOG_LINE.is_match(it.1));
        rest.take(4).for_each(|it| {
            message.push(' ');
            message.push_str(it.1.trim());
        });
        let location = Some(cx.paths.location(group(&found, 1), number(&found, 2)));
        Failure { name, message, location, cut: Cut::new(first..end, keys), ..Failure::default() }
    }

    /// With `-v`: by the lines that the test logged, wherever its result stands.
    fn told(&self, cx: &Context<'_>, index: usize, name: String, logged: &[usize]) -> Failure {
        let Some(at) = telling(cx, logged) else {
            return Failure { name, cut: Cut::line(index), ..Failure::default() };
        };
        let found = LOG_LINE.captures(cx.log.line(at));
        let message = found.as_ref().map_or("", |it| group(it, 3));
        let location = found.as_ref().map(|it| cx.paths.location(group(it, 1), number(it, 2)));
        let is_more = |it: &(usize, &str)| it.1.starts_with("        ") && !LOG_LINE.is_match(it.1);
        let rest: Vec<(usize, &str)> = cx.log.slice(at + 1..at + 5).take_while(is_more).collect();
        let message = lines::joined([message].into_iter().chain(rest.iter().map(|it| it.1)));
        let start = logged.first().copied().unwrap_or(at).max(at.saturating_sub(BLOCK_LINES_MAX));
        let end = rest.last().map_or(at, |it| it.0) + 1;
        let cut = Cut::new(start..end, (at..end).collect());
        Failure { name, message, location, cut, ..Failure::default() }
    }

    /// A panic that ended the binary before the result was printed: the test is in the dump.
    fn crashed(&self, cx: &Context<'_>, index: usize) -> Option<Failure> {
        let (message, location, cut) = stack(cx, index);
        let dump = cx.log.slice(index..cx.log.len()).take(BLOCK_LINES_MAX);
        let in_dump =
            dump.filter_map(|it| FRAME_TEST.captures(it.1)).map(|it| group(&it, 1).to_owned());
        let last = self.started.iter().max_by_key(|it| it.1).map(|it| it.0.clone());
        // `TestMain` is no test: it runs them.
        let in_dump = in_dump.into_iter().find(|it| it != "TestMain");
        let name = self.running.last().cloned().or(in_dump).or(last)?;
        Some(Failure { name, message, location, cut, ..Failure::default() })
    }
}

/// The line that most likely made the test fail: `t.Log` and `t.Error` print alike.
fn telling(cx: &Context<'_>, logged: &[usize]) -> Option<usize> {
    let text = |at: usize| LOG_LINE.captures(cx.log.line(at)).map(|it| group(&it, 3).to_owned());
    let mut tells = logged.iter().filter(|at| text(**at).is_some_and(|it| TELLS.is_match(&it)));
    tells.next().or(logged.last()).copied()
}

/// A test that ended the process, by `os.Exit` or `log.Fatal`: what it printed last.
fn died(cx: &Context<'_>, name: &str, started: usize) -> Failure {
    let below = cx.log.slice(started + 1..cx.log.len()).take(BLOCK_LINES_MAX);
    let mut said = below.take_while(|it| !PACKAGE.is_match(it.1) && it.1 != "FAIL");
    let (at, line) =
        said.by_ref().filter(|it| !it.1.trim().is_empty()).last().unwrap_or((started, ""));
    let message = match line.trim() {
        "" => "it started and never ended: the test binary died".to_owned(),
        line => line.to_owned(),
    };
    let cut = Cut::new(started..at + 1, vec![started, at]);
    Failure { name: name.to_owned(), message, cut, ..Failure::default() }
}

/// An example shows what it printed and what it should have printed, not indented.
fn example(cx: &Context<'_>, index: usize, name: String) -> Failure {
    let below = cx.log.slice(index + 1..index + 1 + BLOCK_LINES_MAX);
    let is_end = |it: &str| {
        RESULT.is_match(it) || PACKAGE.is_match(it) || it == "FAIL" || it.starts_with("=== ")
    };
    let body: Vec<(usize, &str)> = below.take_while(|it| !is_end(it.1)).collect();
    let message = lines::joined(body.iter().map(|it| it.1));
    let end = body.last().map_or(index, |it| it.0) + 1;
    Failure {
        name,
        message,
        cut: Cut::new(index..end, (index..end).collect()),
        ..Failure::default()
    }
}

fn ancestors(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').take(SUBTEST_DEPTH_MAX).map(|(at, _)| &name[..at])
}

/// A panic or a race: what it says, and the first frame in the project's own files.
pub(super) fn stack(cx: &Context<'_>, index: usize) -> (String, Option<Location>, Cut) {
    let limit = cx.log.len().min(index + BLOCK_LINES_MAX);
    let message = cx.log.line(index).trim_end_matches(" [recovered]").to_owned();
    let frames = cx.log.slice(index..limit).filter_map(|(at, line)| {
        let found = FRAME.captures(line)?;
        let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
        (place.is_own && group(&found, 1) != "_testmain.go").then_some((at, place.location))
    });
    let own: Option<(usize, Location)> = frames.into_iter().next();
    let end = own.as_ref().map_or(index, |it| it.0) + 1;
    let mut keys = vec![index];
    keys.extend(own.as_ref().map(|it| it.0));
    let range: Range<usize> = index..end;
    (message, own.map(|it| it.1), Cut::new(range, keys))
}
