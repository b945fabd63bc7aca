//! Node's own runner, `node --test`, with its TAP and its spec reporter.

mod uncaught;

use std::collections::HashSet;
use std::ops::Range;

use gate_core::Location;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static FIGURE: Pattern = Pattern::new(|| {
    pattern(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$")
});
static NOT_OK: Pattern =
    Pattern::new(|| pattern(r"^(\s*)not ok \d+(?: - (.*?))?(?: # (TODO|SKIP).*)?$"));
static FIELD: Pattern = Pattern::new(|| pattern(r"^\s*(location|failureType|error|stack): (.*)$"));
static PLACE: Pattern = Pattern::new(|| pattern(r"^'?(.+?):(\d+):(\d+)'?$"));
static TEST_AT: Pattern = Pattern::new(|| pattern(r"^test at (.+?):(\d+):(\d+)$"));
static CROSS: Pattern =
    Pattern::new(|| pattern(r"^\s*✖ (.+?)(?: \([\d.]+ms\))?(?: # (TODO|SKIP).*)?$"));

/// A file in which no test ended counts as one test that passed: there was none, or the process ended before.
static EMPTY_FILE: Pattern =
    Pattern::new(|| pattern(r"^(?:✔|ok \d+ -) \S+\.[cm]?[jt]sx?(?: \([\d.]+ms\))?$"));
/// Lines of one failure's details.
const DETAILS_LINES_MAX: usize = 200;

/// See the module.
#[derive(Debug)]
pub(crate) struct NodeTest;

impl LogParser for NodeTest {
    fn tool(&self) -> &'static str {
        "node-test"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "node" | "nodejs") && call.has_arg("--test")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.chooses(&["--test-reporter"], &["spec", "tap"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["# cancelled ", "ℹ cancelled "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("# cancelled ") || line.starts_with("ℹ cancelled ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut counts: Option<Counts> = None;
        let mut at = None;
        let mut seen = HashSet::new();
        let mut empty_files = 0;
        for (index, line) in cx.lines() {
            if EMPTY_FILE.is_match(line) {
                empty_files += 1;
            } else if let Some(found) = FIGURE.captures(line) {
                let count: u64 = group(&found, 2).parse().unwrap_or(0);
                match (group(&found, 1), &mut counts) {
                    ("tests", _) => counts = Some(Counts::NONE),
                    ("pass", Some(counts)) => counts.passed = Some(count),
                    ("fail" | "cancelled", Some(counts)) => counts.failed += count,
                    ("skipped" | "todo", Some(counts)) => counts.skipped += count,
                    ("duration_ms", _) => {
                        let passed = counts.as_mut().and_then(|it| it.passed.as_mut());
                        passed.into_iter().for_each(|it| *it = it.saturating_sub(empty_files));
                        empty_files = 0;
                        runs.extend(counts.take());
                    }
                    (_, _) => {}
                }
            } else if let Some(found) = NOT_OK.captures(line) {
                if found.get(3).is_none() {
                    draft.failures.extend(tap(cx, index, group(&found, 2)));
                }
            } else if let Some(found) = TEST_AT.captures(line) {
                at = Some((index, cx.paths.location(group(&found, 1), number(&found, 2))));
            } else if let Some((_, location)) = at.take_if(|it| it.0 + 1 == index)
                && let Some(found) = CROSS.captures(line).filter(|it| it.get(2).is_none())
            {
                // The list at the end has leaves only; the tree above has their parents too.
                let name = group(&found, 1);
                if seen.insert((name.to_owned(), location.file.clone(), location.line)) {
                    let mut failure = spec(cx, index, name);
                    failure.location.get_or_insert(location);
                    draft.failures.push(failure);
                }
            }
        }
        // Of one run, the figures that are printed last are the runner's own.
        if js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        runs.into_iter().for_each(|it| draft.add_counts(it));
        uncaught::tell(cx, &mut draft);
        coverage::add(cx, &mut draft);
        draft
    }
}

/// `not ok` with its YAML block; a parent fails because of its children and is left out.
fn tap(cx: &Context<'_>, index: usize, name: &str) -> Option<Failure> {
    let mut end = index + 1;
    let mut failure = Failure { name: name.to_owned(), ..Failure::default() };
    let mut keys = vec![index];
    // The indent of `error: |-`, while its text goes on below.
    let mut error_indent = None;
    for (at, line) in cx.log.slice(index + 1..cx.log.len()).take(DETAILS_LINES_MAX) {
        end = at + 1;
        let text = line.trim();
        if text == "..." || (at == index + 1 && text != "---") {
            break;
        }
        if let Some(found) = FIELD.captures(line) {
            let value = group(&found, 2);
            let is_block = group(&found, 1) == "error" && value.starts_with('|');
            error_indent = is_block.then(|| indent(line));
            match group(&found, 1) {
                "failureType" if value.contains("subtestsFailed") => return None,
                "location" => {
                    let place = PLACE.captures(value);
                    failure.location =
                        place.map(|it| cx.paths.location(group(&it, 1), number(&it, 2)));
                }
                "error" if !value.starts_with('|') => {
                    value.trim_matches('\'').clone_into(&mut failure.message);
                }
                _ => {}
            }
        } else if error_indent.is_some_and(|it| text.is_empty() || indent(line) > it) {
            failure.message.push_str(text);
            failure.message.push(' ');
            keys.push(at);
        } else {
            error_indent = None;
        }
    }
    // The stack names the place of the assertion, `location` that of the test.
    if let Some((at, place)) = stack_place(cx, index..end) {
        failure.location = Some(place);
        keys.push(at);
    }
    failure.cut = Cut::new(index..end, keys);
    Some(failure)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Frames in TAP's YAML have no `at`.
fn stack_place(cx: &Context<'_>, range: Range<usize>) -> Option<(usize, Location)> {
    let mut lines = cx.log.slice(range);
    lines.find(|it| it.1.trim_start().starts_with("stack: "))?;
    lines.find_map(|(at, line)| {
        let text = line.trim();
        let inner = text.rsplit_once('(').map_or(text, |it| it.1).trim_end_matches(')');
        let found = PLACE.captures(inner.trim_start_matches("async "))?;
        let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
        place.is_own.then_some((at, place.location))
    })
}

fn spec(cx: &Context<'_>, index: usize, name: &str) -> Failure {
    let is_end = |it: &(usize, &str)| TEST_AT.is_match(it.1) || it.1.starts_with('✖');
    let limit = cx.log.len().min(index + DETAILS_LINES_MAX);
    let end = cx.log.slice(index + 1..limit).find(is_end).map_or(limit, |it| it.0);
    let mut text = cx.log.slice(index + 1..end).filter(|it| !it.1.trim().is_empty());
    let (at, first) = text.next().unwrap_or((index, ""));
    let mut message = first.trim().to_owned();
    if message.ends_with(':')
        && let Some((_, line)) = text.next()
    {
        message = format!("{message} {}", line.trim());
    }
    let own = js::own_frame(cx, index + 1..end);
    let mut keys = vec![index, at];
    keys.extend(own.as_ref().map(|it| it.0));
    Failure {
        name: name.to_owned(),
        message,
        location: own.map(|it| it.1.location),
        cut: Cut::new(index..end, keys),
        ..Failure::default()
    }
}
