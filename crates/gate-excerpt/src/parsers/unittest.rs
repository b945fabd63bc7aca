//! Python's `unittest`, also as Django and others run it.

use std::collections::HashSet;
use std::ops::Range;

use gate_core::TestPhase;

use super::{Context, LogParser, python};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static RAN: Pattern = Pattern::new(|| pattern(r"^Ran (\d+) tests? in [\d.]+s$"));
static RESULT: Pattern = Pattern::new(|| pattern(r"^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$"));
static FIGURE: Pattern = Pattern::new(|| {
    pattern(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)")
});
static HEADER: Pattern = Pattern::new(|| pattern(r"^(ERROR|FAIL|UNEXPECTED SUCCESS): (.+)$"));
static NAME: Pattern = Pattern::new(|| pattern(r"^(\S+) \(([\w.]+)\)(.*)$"));

/// A title and its description.
const TITLE_LINES_MAX: usize = 2;
const DOUBLE_RULE: &str = "======================================================================";
const RULE: &str = "----------------------------------------------------------------------";

/// See the module.
#[derive(Debug)]
pub(crate) struct Unittest;

impl LogParser for Unittest {
    fn tool(&self) -> &'static str {
        "unittest"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "unittest" | "nose2")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Ran "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Ran ") && RAN.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut block = None;
        let mut has_rule = false;
        let mut run_start = 0;
        for (index, line) in cx.lines() {
            let is_after = |rule: &str| index > 0 && cx.log.line(index - 1) == rule;
            if line == RULE || line == DOUBLE_RULE {
                // Below the title stands the first line of its description, if it has one.
                let is_near = block.is_some_and(|it: usize| index <= it + TITLE_LINES_MAX);
                let is_title_rule = is_near && !has_rule && line == RULE;
                has_rule = true;
                if !is_title_rule && let Some(start) = block.take() {
                    draft.failures.extend(failure(cx, start..index));
                }
            } else if is_after(DOUBLE_RULE) && HEADER.is_match(line) {
                block = Some(index);
                has_rule = false;
            } else if is_after(RULE) && line.starts_with("Ran ") {
                // A success that was not expected has no traceback, and so no rule of its own below.
                draft.failures.extend(block.take().and_then(|it| failure(cx, it..index - 1)));
                let ran = RAN.captures(line).and_then(|it| group(&it, 1).parse::<u64>().ok());
                match ran.and_then(|ran| result(cx, index, ran, &draft.failures[run_start..])) {
                    Some(counts) => runs.push(counts),
                    None => draft.unfinished += 1,
                }
                run_start = draft.failures.len();
            }
        }
        if let Some(start) = block {
            draft.failures.extend(failure(cx, start..cx.log.len()));
        }
        // Of one run, the summary that is printed last is the runner's own.
        if cx.is_named && cx.calls.iter().filter(|it| self.is_called(it)).count() == 1 {
            runs.drain(..runs.len().saturating_sub(1));
        }
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

/// The line after `Ran N tests` that is not blank.
fn result(cx: &Context<'_>, ran_at: usize, ran: u64, failures: &[Failure]) -> Option<Counts> {
    let mut after = cx.log.slice(ran_at + 1..cx.log.len()).filter(|it| !it.1.trim().is_empty());
    let found = RESULT.captures(after.next()?.1)?;
    let mut counts = Counts::NONE;
    for figure in FIGURE.captures_iter(group(&found, 2)) {
        let count: u64 = group(&figure, 2).parse().unwrap_or(0);
        match group(&figure, 1) {
            "skipped" | "expected failures" => counts.skipped += count,
            _ => counts.failed += count,
        }
    }
    // A test fails once for each of its subtests, and a class's set-up fails without a test that ran.
    let is_shown = failures.len() as u64 == counts.failed;
    let tests: HashSet<&str> =
        failures.iter().map(|it| it.name.as_str()).filter(|it| !is_fixture(it)).collect();
    let failed_tests = if is_shown { tests.len() as u64 } else { counts.failed };
    counts.passed = Some(ran.saturating_sub(failed_tests).saturating_sub(counts.skipped));
    Some(counts)
}

fn is_fixture(name: &str) -> bool {
    let fixtures = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];
    fixtures.iter().any(|it| name.ends_with(it))
}

fn failure(cx: &Context<'_>, block: Range<usize>) -> Option<Failure> {
    let header = HEADER.captures(cx.log.line(block.start))?;
    let (name, sub_test) = name(group(&header, 2));
    let is_start = |it: &(usize, &str)| it.1 == python::HEADER;
    let start = cx.log.slice(block.clone()).find(is_start).map_or(block.start, |it| it.0);
    let cause = python::traceback(cx, start, block.end, |it| it).and_then(|it| it.0.cause());
    let mut failure = Failure { name, cut: Cut::new(block, vec![]), ..Failure::default() };
    match cause {
        Some(cause) => {
            failure.message = cause.message;
            failure.location = cause.location;
            failure.cut.keys = cause.keys;
        }
        None => failure.message = group(&header, 1).to_lowercase(),
    }
    failure.phase = phase(&failure.name);
    if !sub_test.is_empty() {
        failure.message = format!("{sub_test} {}", failure.message);
    }
    Some(failure)
}

/// A class's or a module's fixture has a name of its own; so has a file that could not be loaded.
fn phase(name: &str) -> TestPhase {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "setUpClass" | "setUpModule" => TestPhase::Setup,
        "tearDownClass" | "tearDownModule" => TestPhase::Teardown,
        _ => TestPhase::Call,
    }
}

/// `test_draw (test_bank.AccountTest.test_draw) (n=3)` and the older `test_draw (test_bank.AccountTest)`.
fn name(printed: &str) -> (String, String) {
    let Some(found) = NAME.captures(printed) else { return (printed.to_owned(), String::new()) };
    let (short, path) = (group(&found, 1), group(&found, 2));
    let path = path.strip_prefix("unittest.loader._FailedTest.").unwrap_or(path);
    let is_whole = path == short || path.ends_with(&format!(".{short}"));
    let is_loader = path.ends_with("._FailedTest") || path.ends_with("ModuleSkipped");
    let name = match (is_whole, is_loader) {
        (true, _) => path.to_owned(),
        (false, true) => short.to_owned(),
        (false, false) => format!("{path}.{short}"),
    };
    (name, group(&found, 3).trim().to_owned())
}
