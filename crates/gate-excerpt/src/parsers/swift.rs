//! Swift: its compiler's errors, `XCTest`, and Swift Testing.

use std::collections::HashSet;

use gate_core::Severity;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static COMPILER: Pattern =
    Pattern::new(|| pattern(r"^(\S[^:]*\.swift):(\d+):(\d+): (error|warning): (.*)$"));
/// `/w/T.swift:10: error: AppTests.testAdds : XCTAssertEqual failed: …`
static ASSERTION: Pattern =
    Pattern::new(|| pattern(r"^(\S[^:]*):(\d+): error: (?:-\[(\S+) (\S+)\]|(\S+)) : (.*)$"));
static CASE: Pattern =
    Pattern::new(|| pattern(r"^Test Case '(?:-\[)?(.+?)\]?' (started|passed|failed|skipped)\b.*$"));
static EXECUTED: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures? \(\d+ unexpected\) in ",
    )
});
/// Swift Testing: `✘ Test adds() recorded an issue at T.swift:10:5: Expectation failed: …`
static ISSUE: Pattern = Pattern::new(|| {
    pattern(
        r#"^\S+ +Test (?:"(.+?)"|(\S+\(.*?\)|\S+)) recorded an issue(?: with .*?)? at (\S+?):(\d+):(\d+): (.*)$"#,
    )
});
static RUN: Pattern = Pattern::new(|| {
    pattern(r"^\S+ +Test run with (\d+) tests?(?: in \d+ suites?)? (passed|failed) after ")
});
static ENDED: Pattern =
    Pattern::new(|| pattern(r#"^\S+ +Test (?:"(.+?)"|(\S+\(.*?\))) (failed after|skipped)"#));

/// See the module.
#[derive(Debug)]
pub(crate) struct Swift;

impl LogParser for Swift {
    fn tool(&self) -> &'static str {
        "swift"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "swift" | "swiftc" | "xcodebuild" | "xctest")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let is_test =
            matches!(call.program.as_str(), "xctest" | "xcodebuild") || call.subcommand() == "test";
        is_test && !["--parallel", "--quiet", "-q", "-quiet"].iter().any(|it| call.has_arg(it))
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Test Suite '", ".swift:", "Test run with "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Test Suite '")
            || (line.contains(".swift:") && line.contains(": error: "))
            || (line.contains("Test run with ") && RUN.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut run = Run::default();
        for (index, line) in cx.lines() {
            let is_read = run.xctest(cx, index, line) || run.testing(cx, index, line);
            if !is_read && let Some(problem) = compiled(cx, index, line) {
                run.draft.problems.push(problem);
            }
        }
        run.finish()
    }
}

/// What both libraries say.
#[derive(Debug, Default)]
struct Run {
    draft: Draft,
    known: HashSet<String>,
    /// Of `XCTest`: all and skipped, as the outermost suite says last; and the tests that failed.
    executed: Option<[u64; 2]>,
    failed_cases: u64,
    running: Option<(usize, String)>,
    /// Of Swift Testing.
    starts: usize,
    runs: Vec<Counts>,
    failed: u64,
    skipped: u64,
}

impl Run {
    /// Whether it is a line of `XCTest`.
    fn xctest(&mut self, cx: &Context<'_>, index: usize, line: &str) -> bool {
        if let Some(found) = ASSERTION.captures(line) {
            let name = match found.get(3) {
                Some(class) => format!("{}.{}", class.as_str(), group(&found, 4)),
                None => group(&found, 5).to_owned(),
            };
            let location = Some(cx.paths.location(group(&found, 1), number(&found, 2)));
            let message = group(&found, 6).to_owned();
            let cut = Cut::line(index);
            self.add(name, Failure { message, location, cut, ..Failure::default() });
        } else if let Some(found) = CASE.captures(line) {
            let name = group(&found, 1).replace(' ', ".");
            let state = group(&found, 2);
            self.running = (state == "started").then(|| (index, name.clone()));
            if state == "failed" {
                self.failed_cases += 1;
                self.add(name, Failure { cut: Cut::line(index), ..Failure::default() });
            }
        } else if let Some(found) = EXECUTED.captures(line) {
            self.executed = Some([1, 2].map(|it| lines::count(group(&found, it))));
        } else {
            return false;
        }
        true
    }

    /// Whether it is a line of Swift Testing.
    fn testing(&mut self, cx: &Context<'_>, index: usize, line: &str) -> bool {
        self.starts += usize::from(line.ends_with(" Test run started."));
        if let Some(found) = ISSUE.captures(line) {
            let name = found.get(1).or_else(|| found.get(2)).map_or("", |it| it.as_str());
            let place = cx.paths.place(group(&found, 3), number(&found, 4), number(&found, 5));
            let (message, location) = (group(&found, 6).to_owned(), Some(place.location));
            let cut = Cut::new(index..index + 3, vec![index]);
            self.add(name.to_owned(), Failure { message, location, cut, ..Failure::default() });
        } else if let Some(found) = ENDED.captures(line) {
            let is_failed = group(&found, 3) == "failed after";
            self.failed += u64::from(is_failed);
            self.skipped += u64::from(!is_failed);
        } else if let Some(found) = RUN.captures(line) {
            let (failed, skipped) = (self.failed, self.skipped);
            let all = lines::count(group(&found, 1));
            let passed = Some(all.saturating_sub(failed).saturating_sub(skipped));
            self.runs.push(Counts { passed, failed, errors: 0, skipped });
            (self.failed, self.skipped) = (0, 0);
        } else {
            return false;
        }
        true
    }

    /// A test fails once; its first failure says why.
    fn add(&mut self, name: String, failure: Failure) {
        if self.known.insert(name.clone()) {
            self.draft.failures.push(Failure { name, ..failure });
        }
    }

    fn finish(mut self) -> Draft {
        lines::keep_started(self.starts, &mut self.runs);
        if let Some((index, name)) = self.running.take() {
            // It started, and the process died.
            self.draft.unfinished = 1;
            let message = "it started and never ended: the test process died".to_owned();
            self.add(name, Failure { message, cut: Cut::line(index), ..Failure::default() });
        }
        let Self { mut draft, executed, failed_cases, runs, .. } = self;
        runs.into_iter().for_each(|it| draft.add_counts(it));
        if let Some([all, skipped]) = executed {
            let passed = Some(all.saturating_sub(failed_cases).saturating_sub(skipped));
            draft.add_counts(Counts { passed, failed: failed_cases, errors: 0, skipped });
        }
        draft
    }
}

fn compiled(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = COMPILER.captures(line)?;
    let is_error = group(&found, 4) == "error";
    let severity = if is_error { Severity::Error } else { Severity::Warning };
    let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
    let cut = Cut::new(index..index + 3, vec![index]);
    let problem = Problem::error(group(&found, 5), cut).at(Some(place.location));
    Some(Problem { severity, ..problem })
}
