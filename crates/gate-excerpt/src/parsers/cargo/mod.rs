//! Cargo: `test` with libtest's output, and the compiler's errors of every subcommand.

mod crashes;
mod failures;
mod rustc;
mod suites;

use std::ops::Range;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::Draft;

/// Subcommands whose output is the compiler's or the test harness's.
const SUBCOMMANDS: [&str; 20] = [
    "test",
    "t",
    "build",
    "b",
    "check",
    "c",
    "clippy",
    "fmt",
    "doc",
    "d",
    "bench",
    "rustc",
    "rustdoc",
    "fix",
    "llvm-cov",
    "tarpaulin",
    "miri",
    "careful",
    "hack",
    "package",
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Cargo;

impl LogParser for Cargo {
    fn tool(&self) -> &'static str {
        "cargo"
    }

    fn is_called(&self, call: &Call) -> bool {
        let is_cargo = matches!(call.program.as_str(), "cargo" | "cross")
            && SUBCOMMANDS.contains(&call.subcommand())
            && !call.has_arg("nextest");
        is_cargo || matches!(call.program.as_str(), "rustc" | "rustfmt" | "rustdoc")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        matches!(call.subcommand(), "test" | "t") && !call.has_arg("--no-run")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "running ",
            "Compiling ",
            "Checking ",
            "could not compile",
            "Diff in ",
            "failed to ",
            "crates.io index",
        ]
    }

    fn is_banner(&self, line: &str) -> bool {
        suites::is_start(line)
            || line.starts_with("   Compiling ")
            || line.starts_with("    Checking ")
            || line.starts_with("error: could not compile `")
            || line.starts_with("error: failed to parse manifest at `")
            || line.starts_with("error: failed to select a version for ")
            || line == "    Updating crates.io index"
            || rustc::is_format_diff(line)
    }

    fn captured(&self, cx: &Context<'_>) -> Vec<Range<usize>> {
        failures::captured(cx)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let suites = suites::read(cx);
        let mut draft = Draft { tool: tool(cx), ..Draft::default() };
        for finished in &suites.finished {
            draft.add_counts(finished.counts);
            draft.taken.push(finished.start..finished.end + 1);
        }
        draft.failures = failures::read(cx, &suites);
        for range in suites::unfinished_ranges(cx, &suites) {
            draft.unfinished += 1;
            crashes::read(cx, range.clone(), &mut draft);
            draft.taken.push(range);
        }
        let mut is_test_output = vec![false; cx.log.len()];
        for range in &draft.taken {
            is_test_output[range.clone()].fill(true);
        }
        draft.problems.extend(rustc::read(cx, &is_test_output));
        draft.taken.extend(draft.problems.iter().map(|it| it.cut.range.clone()));
        draft
    }
}

/// Clippy and rustfmt print like the compiler, but are tools of their own.
fn tool(cx: &Context<'_>) -> Option<&'static str> {
    let is =
        |name: &str| cx.calls.iter().any(|it| it.program == "cargo" && it.subcommand() == name);
    if is("clippy") {
        Some("clippy")
    } else if is("fmt") || cx.calls.iter().any(|it| it.program == "rustfmt") {
        Some("rustfmt")
    } else {
        None
    }
}
