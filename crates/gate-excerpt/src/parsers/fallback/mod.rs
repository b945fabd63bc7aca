//! Any log: what looks most like the first cause of the failure, else the last lines and what the exit status means.

mod below;
mod meaning;
mod places;
mod prefix;
mod rank;

use std::ops::Range;

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Failure, Problem};
use crate::limits::TAIL_LINES;
use crate::paths::Place;
use crate::select::Cut;

/// Tools whose name the command's words give away; their output is read generically.
const KNOWN_TOOLS: [&str; 42] = [
    "ajv",
    "ava",
    "bats",
    "biome",
    "black",
    "cargo",
    "check-jsonschema",
    "clang",
    "clang-tidy",
    "cmake",
    "cppcheck",
    "ctest",
    "docker",
    "esbuild",
    "eslint",
    "flake8",
    "gcc",
    "git",
    "go",
    "isort",
    "jasmine",
    "javac",
    "linkinator",
    "make",
    "mypy",
    "ninja",
    "node",
    "npm",
    "perl",
    "php",
    "phpunit",
    "pip",
    "prettier",
    "pylint",
    "pyright",
    "rspec",
    "ruff",
    "shellcheck",
    "stylelint",
    "tsc",
    "vite",
    "yamllint",
];

/// The first place with a line number that a line names.
pub(super) fn exact(cx: &Context<'_>, line: &str) -> Option<Place> {
    places::exact(cx, line).map(|it| it.place)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Fallback;

impl LogParser for Fallback {
    fn tool(&self) -> &'static str {
        ""
    }

    fn is_called(&self, _: &Call) -> bool {
        true
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn is_banner(&self, _: &str) -> bool {
        true
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let ranked = rank::read(cx);
        let tool = ranked.tool.or_else(|| known_tool(cx));
        let mut problems = ranked.problems;
        let has_error = problems.iter().any(|it| it.severity == Severity::Error);
        // A linter that fails with nothing but warnings fails because of them.
        let is_by_warnings = !cx.is_named && cx.input.exit_code.is_some() && !problems.is_empty();
        if !has_error && is_by_warnings {
            problems.iter_mut().for_each(|it| it.severity = Severity::Error);
        } else if !has_error {
            problems.push(nothing_found(cx));
        }
        Draft { tool, problems, ..Draft::default() }
    }
}

/// The likeliest cause in a range, as a test of another runner printed it.
pub(super) fn first_error(cx: &Context<'_>, range: Range<usize>) -> Option<Failure> {
    let Problem { message, location, cut, .. } = rank::first(cx, range)?;
    Some(Failure { message, location, cut, ..Failure::default() })
}

fn known_tool(cx: &Context<'_>) -> Option<&'static str> {
    let mut called = cx.calls.iter().rev();
    called.find_map(|call| {
        let name = match call.program.as_str() {
            "mvn" | "mvnw" => return Some("maven"),
            "gmake" => "make",
            "cc" | "g++" | "c++" => "gcc",
            "clang++" => "clang",
            program if program.starts_with("pip3") => "pip",
            "markdownlint-cli2" | "markdownlint" => return Some("markdownlint"),
            program => program,
        };
        KNOWN_TOOLS.iter().copied().find(|it| *it == name)
    })
}

/// Says so, what the exit status means, and where the output ended. A command that did not end by itself failed for
/// that, which is told without this.
fn nothing_found(cx: &Context<'_>) -> Problem {
    let problem = if cx.input.exit_code.is_some() { Problem::error } else { Problem::warning };
    let telling = |it: &(usize, &str)| !it.1.trim().is_empty();
    let mut last = cx.log.slice(0..cx.log.len()).rev().filter(telling).take(TAIL_LINES);
    let ended = meaning::of(cx.input);
    let Some((index, line)) = last.next() else {
        return problem(format!("{ended}; it printed nothing"), Cut::default());
    };
    let first = last.last().map_or(index, |it| it.0);
    let message = format!("{ended}; no error text; the last line is: {}", line.trim());
    problem(message, Cut::new(first..index + 1, vec![index]))
}
