//! `CTest`: its own list of tests and its summary. What a test printed belongs to the test.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Context, LogParser, fallback, gtest, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

/// ` 2/3 Test  #2: smoke ....***Failed    0.02 sec`
static RESULT: Pattern = Pattern::new(|| {
    pattern(
        r"^ *\d+/\d+ +(?:MemCheck|Test) +#(\d+): (.+?) \.*(?: +(Passed)|\*\*\*(.+?)) +[\d.]+ sec.*$",
    )
});
/// Since 4.0 nothing is said of failures where there are none.
static SUMMARY: Pattern = Pattern::new(|| {
    pattern(r"^\d+% tests passed(?:(?:, |; )(\d+) tests? failed)?(?: out of (\d+))?$")
});
static LISTED: Pattern = Pattern::new(|| pattern(r"^\t *\d+ - (.+) \(([^()]+)\)(?: +[\w ]*)?$"));
static START: Pattern = Pattern::new(|| pattern(r"^ +Start +\d+: (.+)$"));
/// With `-V` each line of a test has its number.
static NUMBERED: Pattern = Pattern::new(|| pattern(r"^(\d+): (.*)$"));

/// What ctest itself says behind a test's number.
const OWN: [&str; 4] =
    ["Test command:", "Working Directory:", "Environment variables:", "Test timeout computed"];

const NO_TESTS: &str = "No tests were found!!!";

/// See the module.
#[derive(Debug)]
pub(crate) struct Ctest;

/// A test with its result.
#[derive(Debug)]
struct Ended {
    index: usize,
    name: String,
    status: String,
    /// What it printed before, in verbose runs.
    output: Option<Range<usize>>,
}

impl LogParser for Ctest {
    fn tool(&self) -> &'static str {
        "ctest"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "ctest" || call.program == "ctest3"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        !call.has_arg("-Q") && !call.has_arg("--quiet")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Test project ", "No tests were found!!!", "% tests passed"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("Test project ") && line.contains(['/', '\\']))
            || line == NO_TESTS
            || (line.contains("% tests passed") && SUMMARY.is_match(line))
    }

    fn captured(&self, cx: &Context<'_>) -> Vec<Range<usize>> {
        Output::all(cx)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut listed = Vec::new();
        let mut results: Vec<Ended> = Vec::new();
        let mut spoken: HashMap<&str, Range<usize>> = HashMap::new();
        let mut summaries: Vec<Option<(u64, Option<u64>)>> = Vec::new();
        let outputs = Output::all(cx);
        let mut printed = vec![false; cx.log.len()];
        outputs.iter().for_each(|it| printed[it.clone()].fill(true));
        let mut is_list = false;

        for (index, line) in cx.lines() {
            // What a test prints is not ctest's word.
            if printed[index] && !NUMBERED.is_match(line) {
                continue;
            }
            is_list = (is_list && line.starts_with('\t')) || line == "The following tests FAILED:";
            if line.starts_with("Test project ") {
                summaries.push(None);
            }
            if let Some(found) = RESULT.captures(line) {
                let status = format!("{}{}", group(&found, 3), group(&found, 4));
                let output = spoken.remove(group(&found, 1));
                results.push(Ended { index, name: group(&found, 2).to_owned(), status, output });
            } else if let Some(found) = NUMBERED.captures(line) {
                let number = found.get(1).map_or("", |it| it.as_str());
                let is_own = OWN.iter().any(|it| group(&found, 2).starts_with(it));
                if !is_own {
                    let range = spoken.entry(number).or_insert(index..index);
                    range.end = index + 1;
                }
            } else if let Some(found) = SUMMARY.captures(line) {
                end(
                    &mut summaries,
                    (lines::count(group(&found, 1)), group(&found, 2).parse().ok()),
                );
            } else if line == NO_TESTS {
                end(&mut summaries, (0, Some(0)));
            } else if is_list && let Some(found) = LISTED.captures(line) {
                listed.push((index, group(&found, 1).to_owned(), group(&found, 2).to_owned()));
            }
        }
        let skipped = results.iter().filter(|it| it.status.starts_with("Skipped")).count() as u64;
        draft.unfinished = summaries.iter().filter(|it| it.is_none()).map(|_| 1).sum();
        if summaries.iter().any(Option::is_some) {
            let told = || summaries.iter().flatten();
            let failed = told().map(|it| it.0).sum();
            let all: Option<u64> = told().map(|it| it.1).sum();
            // What is skipped is among those that passed.
            let passed = all.map(|it| it.saturating_sub(failed).saturating_sub(skipped));
            draft.add_counts(Counts { passed, failed, errors: 0, skipped });
        }
        let names: HashSet<&str> = listed.iter().map(|it| it.1.as_str()).collect();
        let below: HashMap<usize, &Range<usize>> =
            outputs.iter().map(|it| (it.start, it)).collect();
        for it in &results {
            let is_good = matches!(it.status.as_str(), "Passed" | "Skipped")
                || it.status.starts_with("Not Run (Disabled");
            if names.contains(it.name.as_str()) || (names.is_empty() && !is_good) {
                let output = it
                    .output
                    .clone()
                    .or_else(|| below.get(&(it.index + 1)).map(|it| (*it).clone()));
                draft.failures.push(failure(cx, it.index, &it.name, &it.status, output));
            }
        }
        let seen: HashSet<&str> = results.iter().map(|it| it.name.as_str()).collect();
        for (index, name, status) in &listed {
            if !seen.contains(name.as_str()) {
                draft.failures.push(failure(cx, *index, name, status, None));
            }
        }
        draft.taken = outputs;
        draft
    }
}

/// The last summary of a run is its own.
fn end(summaries: &mut Vec<Option<(u64, Option<u64>)>>, summary: (u64, Option<u64>)) {
    match summaries.last_mut() {
        Some(last) => *last = Some(summary),
        None => summaries.push(Some(summary)),
    }
}

/// What tests printed.
struct Output;

impl Output {
    /// From each result to the next line of ctest's own.
    fn all(cx: &Context<'_>) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut start: Option<usize> = None;
        for (index, line) in cx.log.slice(0..cx.log.len()) {
            let is_result = line.contains(" #") && RESULT.is_match(line);
            let is_own = is_result || START.is_match(line) || SUMMARY.is_match(line);
            if is_own {
                ranges.extend(start.take().map(|it| it..index));
            } else if NUMBERED.is_match(line) && start.is_none() {
                match ranges.last_mut() {
                    Some(last) if last.end == index => last.end = index + 1,
                    Some(_) | None => ranges.push(index..index + 1),
                }
            }
            if is_result {
                start = Some(index + 1);
            }
        }
        ranges
    }
}

fn failure(
    cx: &Context<'_>,
    index: usize,
    name: &str,
    status: &str,
    output: Option<Range<usize>>,
) -> Failure {
    let status = status.trim();
    let mut failure = Failure {
        name: name.to_owned(),
        message: status.to_owned(),
        cut: Cut::line(index),
        ..Failure::default()
    };
    let inside = output.filter(|it| !it.is_empty()).and_then(|range| {
        gtest::first(cx, range.clone()).or_else(|| fallback::first_error(cx, range))
    });
    if let Some(inside) = inside {
        failure.message = lines::joined([inside.message.as_str(), &format!("({status})")]);
        failure.location = inside.location;
        failure.cut = inside.cut;
    }
    failure
}
