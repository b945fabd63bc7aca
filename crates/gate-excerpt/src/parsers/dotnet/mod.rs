//! .NET: `MSBuild`'s errors, and the tests of `dotnet test` in the forms of `VSTest` and of the newer testing platform.

mod build;
mod tests;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::Draft;

/// The compilers and tasks that `MSBuild` runs.
#[derive(Debug)]
pub(crate) struct Msbuild;

impl LogParser for Msbuild {
    fn tool(&self) -> &'static str {
        "msbuild"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "msbuild" | "MSBuild" | "xbuild" | "csc" | "cl")
            || (call.program == "dotnet" && !is_test(call))
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["): error "]
    }

    fn is_banner(&self, line: &str) -> bool {
        build::is_error(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let (problems, taken) = build::problems(cx);
        let is_dotnet = cx.calls.iter().any(|it| it.program == "dotnet");
        Draft { tool: is_dotnet.then_some("dotnet"), problems, taken, ..Draft::default() }
    }
}

/// `dotnet test`.
#[derive(Debug)]
pub(crate) struct DotnetTest;

impl LogParser for DotnetTest {
    fn tool(&self) -> &'static str {
        "dotnet-test"
    }

    fn is_called(&self, call: &Call) -> bool {
        (call.program == "dotnet" && is_test(call)) || call.program.starts_with("vstest.console")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let is_quiet = |it: &str| matches!(it, "q" | "quiet");
        let mut levels = call.values(&["-verbosity", "-v", "--verbosity"]);
        let mut loggers = call.values(&["-l", "--logger"]);
        !levels.any(is_quiet) && !loggers.any(|it| it.contains("verbosity=quiet"))
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Test run summary: ", "! ", "Test summary: ", "VSTest version ", "Test run for "]
    }

    fn is_banner(&self, line: &str) -> bool {
        tests::is_summary(line)
            || line.starts_with("VSTest version ")
            || line.starts_with("Test run for ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = tests::read(cx);
        let (problems, taken) = build::problems(cx);
        draft.problems.extend(problems);
        draft.taken.extend(taken);
        draft
    }
}

fn is_test(call: &Call) -> bool {
    matches!(call.subcommand(), "test" | "vstest")
}
