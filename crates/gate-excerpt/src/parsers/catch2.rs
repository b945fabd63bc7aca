//! Catch2 (console and compact) and doctest: assertions of C++ test binaries, which print passed tests only as a count.

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `t.cpp:10: FAILED:`, `t.cpp(10): FAILED:`.
static FAILED: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:[A-Za-z]:[\\/])?\S[^:]*?)(?::(\d+)|\((\d+)\)): (FAILED:|failed: |FATAL ERROR: |ERROR: )(.*)$",
    )
});
/// `test cases: 3 | 1 passed | 2 failed`, of doctest with its name before it.
static CASES: Pattern =
    Pattern::new(|| pattern(r"^(\[doctest\] )?test cases: +(\d+)((?: *\| *\d+ [a-z ]+)*)\|?\s*$"));
static FIGURE: Pattern =
    Pattern::new(|| pattern(r"(\d+) (passed|failed as expected|failed|skipped)"));
static ALL_PASSED: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:All tests passed \(\d+ assertions? in (\d+) test cases?\)|Passed (?:all )?(\d+) test cases? with \d+ assertions?\.)$",
    )
});
/// Of the compact reporter.
static COMPACT: Pattern = Pattern::new(|| {
    pattern(r"^Failed (?:all |both )?(\d+) test cases?, failed (?:all |both )?\d+ assertions?\.$")
});
static NONE: Pattern = Pattern::new(|| {
    pattern(r"^(?:No tests? (?:cases? )?(?:ran|matched .*)|No test cases? matched .*)$")
});

/// Lines of one failure.
const MESSAGE_LINES_MAX: usize = 30;
/// Lines of a test's name.
const TITLE_LINES_MAX: usize = 40;
/// A rule is at least that long.
const RULE_BYTES_MIN: usize = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Catch2;

impl LogParser for Catch2 {
    fn tool(&self) -> &'static str {
        "catch2"
    }

    fn is_called(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "[doctest] ",
            " is a Catch",
            "All tests passed (",
            "test cases: ",
            "No test cases matched '",
            "Failed ",
        ]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("[doctest] ")
            || (line.contains(" is a Catch") && line.ends_with(" host application."))
            || (line.starts_with("All tests passed (") && ALL_PASSED.is_match(line))
            || line.starts_with("No test cases matched '")
            || (line.starts_with("Failed ") && COMPACT.is_match(line))
            || (line.starts_with("test cases: ") && CASES.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut is_doctest = false;
        let mut runs: Vec<Counts> = Vec::new();
        let mut titles = Titles::default();
        let mut starts = 0;
        for (index, line) in cx.lines() {
            titles.line(index, line);
            // Where all lines begin with its name, that was taken for a prefix.
            is_doctest |= line.starts_with("[doctest] ") || line.starts_with("doctest version is ");
            let bare = line.strip_prefix("[doctest] ").unwrap_or(line);
            starts += usize::from(bare.starts_with("doctest version is "));
            // A rule stands above what the runner itself says.
            let is_own = is_doctest || is_ruled(cx, index);
            if let Some(found) = CASES.captures(line).filter(|_| is_own) {
                runs.push(counts(&found));
            } else if let Some(found) = ALL_PASSED.captures(line).filter(|_| is_own) {
                let count = lines::count(&format!("{}{}", group(&found, 1), group(&found, 2)));
                runs.push(Counts { passed: Some(count), ..Counts::NONE });
            } else if let Some(found) = COMPACT.captures(line) {
                let failed = lines::count(group(&found, 1));
                runs.push(Counts { passed: None, failed, ..Counts::NONE });
            } else if NONE.is_match(line) {
                runs.push(Counts::NONE);
            } else if let Some(found) = FAILED.captures(line) {
                add(&mut draft.failures, failure(cx, index, &found, &titles));
            }
        }
        if is_doctest {
            draft.unfinished = u32::from(starts > runs.len());
            lines::keep_started(starts, &mut runs);
        }
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft.tool = is_doctest.then_some("doctest");
        draft
    }
}

fn is_ruled(cx: &Context<'_>, index: usize) -> bool {
    let line = cx.log.line(index);
    // The compact reporter draws none.
    line.starts_with("Passed ") || (index > 0 && cx.log.line(index - 1).starts_with("=========="))
}

/// A test fails once, however many of its assertions do.
fn add(failures: &mut Vec<Failure>, failure: Failure) {
    let is_new = failures.last().is_none_or(|it| it.name != failure.name);
    if is_new && !failure.name.is_empty() {
        failures.push(failure);
    }
}

fn counts(cases: &regex::Captures<'_>) -> Counts {
    let all = lines::count(group(cases, 2));
    let mut counts = Counts::NONE;
    for found in FIGURE.captures_iter(group(cases, 3)) {
        let count = lines::count(group(&found, 1));
        match group(&found, 2) {
            "failed" => counts.failed = count,
            "skipped" => counts.skipped += count,
            "failed as expected" => counts.skipped += count,
            _ => counts.passed = Some(count),
        }
    }
    // doctest counts those that a filter left out beside the others.
    let is_doctest = cases.get(1).is_some();
    let other = counts.failed + if is_doctest { 0 } else { counts.skipped };
    counts.passed = counts.passed.filter(|it| *it > 0).map_or(
        Some(if group(cases, 3).contains("passed") { 0 } else { all.saturating_sub(other) }),
        Some,
    );
    counts
}

fn failure(
    cx: &Context<'_>,
    index: usize,
    found: &regex::Captures<'_>,
    titles: &Titles,
) -> Failure {
    let line = number(found, 2).or_else(|| number(found, 3));
    let location = Some(cx.paths.location(group(found, 1), line));
    let below = cx.log.slice(index + 1..cx.log.len()).take(MESSAGE_LINES_MAX);
    let is_end = |it: &str| {
        it.trim().is_empty()
            || it.starts_with("-----")
            || it.starts_with("=====")
            || it.starts_with("~~~~~")
    };
    let body: Vec<(usize, &str)> =
        below.take_while(|it| !is_end(it.1) && !FAILED.is_match(it.1)).collect();
    let end = body.last().map_or(index, |it| it.0) + 1;
    let message = lines::joined([group(found, 5)].into_iter().chain(body.iter().map(|it| it.1)));
    let name = titles.name(cx, index);
    // The compact reporter names no test.
    let name = name.unwrap_or_else(|| format!("{}:{}", group(found, 1), line.unwrap_or(0)));
    Failure {
        name,
        message,
        location,
        cut: Cut::new(index..end, (index..end).collect()),
        ..Failure::default()
    }
}

/// Where the tests are named.
#[derive(Debug, Default)]
struct Titles {
    /// The last two rules of Catch2: the name stands between them.
    rules: [usize; 2],
    /// The last `TEST CASE:` of doctest.
    case: Option<usize>,
}

impl Titles {
    fn line(&mut self, index: usize, line: &str) {
        if line.len() > RULE_BYTES_MIN && line.bytes().all(|it| it == b'-') {
            self.rules = [self.rules[1], index];
        } else if line.starts_with("TEST CASE:") || line.trim_start().starts_with("Scenario:") {
            self.case = Some(index);
        }
    }

    /// The test, then its sections, which are indented.
    fn name(&self, cx: &Context<'_>, index: usize) -> Option<String> {
        let [top, bottom] = self.rules;
        let (first, range) = match self.case {
            Some(at) if at > bottom => {
                let title = cx.log.line(at).trim_start_matches("TEST CASE:").trim();
                (Some(title), at + 1..index.min(at + TITLE_LINES_MAX))
            }
            Some(_) | None if bottom > top && bottom - top < TITLE_LINES_MAX => {
                (None, top + 1..bottom)
            }
            Some(_) | None => return None,
        };
        let is_case = first.is_some();
        let sections = cx.log.slice(range).take_while(|it| !is_case || it.1.starts_with("  "));
        let sections = sections.map(|it| it.1.trim()).filter(|it| !it.is_empty());
        let name = first.into_iter().chain(sections).collect::<Vec<_>>().join(" > ");
        (!name.is_empty()).then_some(name)
    }
}
