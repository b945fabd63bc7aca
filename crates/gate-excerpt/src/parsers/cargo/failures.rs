//! The failing tests of binaries that printed their summary.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::rustc;
use crate::draft::Failure;
use crate::nest::Suites;
use crate::parsers::{Context, panics};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static FAILED: Pattern = Pattern::new(|| pattern(r"^test (.+?) \.\.\. FAILED$"));
static BLOCK: Pattern = Pattern::new(|| pattern(r"^---- (.+) (?:stdout|stderr) ----$"));
static NOT_PANICKED: Pattern = Pattern::new(|| {
    pattern(r"^note: (test did not panic as expected)(?: at (.+?):(\d+)(?::\d+)?)?$")
});

/// One binary's failing tests.
#[derive(Debug, Default)]
struct Binary {
    start: usize,
    names: Vec<String>,
    seen: HashSet<String>,
    blocks: HashMap<String, Range<usize>>,
    open: Option<String>,
    in_list: bool,
}

/// In the order in which the runner names them.
pub(super) fn read(cx: &Context<'_>, suites: &Suites) -> Vec<Failure> {
    // What a test printed ends no binary.
    let ends: HashSet<usize> = suites.finished.iter().map(|it| it.end).collect();
    let mut failures = Vec::new();
    let mut binary = Binary::default();
    for (index, line) in cx.lines() {
        if ends.contains(&index) {
            failures.extend(binary.finish(cx, index));
            binary = Binary { start: index + 1, ..Binary::default() };
        } else {
            binary.line(index, line);
        }
    }
    // A binary without its summary is read elsewhere; what it listed is known all the same.
    failures.extend(binary.finish(cx, cx.log.len()));
    failures
}

/// What the failing tests printed.
pub(super) fn captured(cx: &Context<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open = None;
    for (index, line) in cx.lines() {
        if line == "failures:" {
            ranges.extend(open.take().map(|it| it..index));
        } else if line.starts_with("---- ") && BLOCK.is_match(line) {
            open.get_or_insert(index);
        }
    }
    ranges.extend(open.map(|it| it..cx.log.len()));
    ranges
}

impl Binary {
    fn line(&mut self, index: usize, line: &str) {
        if line == "failures:" {
            self.open = None;
            self.in_list = true;
        } else if let Some(found) = line.strip_prefix("---- ").and_then(|_| BLOCK.captures(line)) {
            let name = group(&found, 1).to_owned();
            self.name(&name);
            self.blocks.entry(name.clone()).or_insert(index..index + 1).end = index + 1;
            self.open = Some(name);
            self.in_list = false;
        } else if let Some(name) = &self.open {
            if let Some(block) = self.blocks.get_mut(name) {
                block.end = index + 1;
            }
        } else if self.in_list && line.starts_with("    ") {
            self.name(line.trim());
        } else if let Some(found) = line.strip_prefix("test ").and_then(|_| FAILED.captures(line)) {
            self.name(without_mode(group(&found, 1)));
        }
    }

    fn name(&mut self, name: &str) {
        if !name.is_empty() && self.seen.insert(name.to_owned()) {
            self.names.push(name.to_owned());
        }
    }

    fn finish(mut self, cx: &Context<'_>, end: usize) -> Vec<Failure> {
        let whole = self.start..end;
        // Without captured output the panics stand among the tests' lines.
        let mut loose: HashMap<&str, Failure> = HashMap::new();
        if self.names.iter().any(|it| !self.blocks.contains_key(it)) {
            for panic in panics::all(cx, whole) {
                let cut = Cut::new(panic.lines.clone(), panic.lines.clone().collect());
                loose.entry(panic.thread).or_insert(Failure {
                    name: panic.thread.to_owned(),
                    message: panic.message,
                    location: panic.place.is_own.then_some(panic.place.location),
                    cut,
                    ..Failure::default()
                });
            }
        }
        let failure = |name: String| match self.blocks.remove(&name) {
            Some(block) => from_block(cx, name, block),
            None => loose.remove(name.as_str()).unwrap_or(Failure { name, ..Failure::default() }),
        };
        self.names.into_iter().map(failure).collect()
    }
}

/// `a - should panic` is the test `a`.
pub(super) fn without_mode(name: &str) -> &str {
    let modes = [" - should panic", " - compile fail", " - compile"];
    modes.iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

fn from_block(cx: &Context<'_>, name: String, block: Range<usize>) -> Failure {
    let body = block.start + 1..block.end;
    let mut failure = Failure { name, cut: Cut::new(block, Vec::new()), ..Failure::default() };
    let not_panicked = || {
        cx.log.slice(body.clone()).find_map(|(at, line)| Some((at, NOT_PANICKED.captures(line)?)))
    };
    if let Some(panic) = panics::first(cx, body.clone()) {
        failure.cut.keys = panic.lines.clone().collect();
        let is_diff = |it: &(usize, &str)| is_difference(it.1);
        failure.cut.keys.extend(cx.log.slice(body.clone()).filter(is_diff).map(|it| it.0));
        failure.message = panic.message;
        failure.location = panic.place.is_own.then_some(panic.place.location);
        let expected = cx.log.slice(panic.lines.end..body.end);
        for (at, line) in expected.filter(|it| is_expectation(it.1)) {
            failure.cut.keys.push(at);
            failure.message =
                format!("{}; {}", failure.message, line.trim_start_matches("note: ").trim());
        }
    } else if let Some(problem) = rustc::first(cx, body.clone()) {
        // A documentation test that does not compile.
        failure.message = problem.message;
        failure.location = problem.location;
        failure.cut.keys = problem.cut.keys;
    } else if let Some((at, found)) = not_panicked() {
        failure.message = group(&found, 1).to_owned();
        let file = group(&found, 2);
        failure.location = (!file.is_empty()).then(|| cx.paths.location(file, number(&found, 3)));
        failure.cut.keys = vec![at];
    } else {
        let telling = |it: &&(usize, &str)| it.1.starts_with("Error: ");
        let lines: Vec<(usize, &str)> =
            cx.log.slice(body).filter(|it| !it.1.trim().is_empty()).collect();
        // An `Err` is printed last, after what the test printed.
        if let Some((at, line)) = lines.iter().rfind(telling).or(lines.first()) {
            failure.message = (*line).to_owned();
            failure.cut.keys = vec![*at];
        }
    }
    failure
}

/// A line of the diff that a snapshot or a comparison library prints before or after its panic.
fn is_difference(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '│', '|']);
    let text = text.trim_start_matches(|it: char| it.is_ascii_digit() || it == ' ');
    let in_table = text.strip_prefix('│').is_some_and(|it| it.starts_with(['-', '+']));
    in_table || (line.starts_with(['<', '>']) && line.len() > 1)
}

/// What `#[should_panic(expected = …)]` wanted.
fn is_expectation(line: &str) -> bool {
    line.starts_with("note: panic did not contain expected string")
        || line.trim_start().starts_with("expected substring:")
}
