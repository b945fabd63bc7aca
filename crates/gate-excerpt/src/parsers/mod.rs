//! The parsers, one tool each. To add one: a file beside these, a line in [`PARSERS`], two real logs as fixtures.

mod ajv;
mod ava;
mod bats;
mod behave;
mod biome;
mod bun_test;
mod cargo;
mod catch2;
mod check_c;
mod check_jsonschema;
mod clang_tidy;
mod cmake;
mod coverage;
mod ctest;
mod deno_test;
mod docker;
mod dotnet;
mod esbuild;
mod eslint;
mod exunit;
mod fallback;
mod flake8;
#[cfg(test)]
mod forms;
mod gcc;
mod git;
mod go_build;
mod go_test;
mod gradle;
mod gtest;
mod jasmine;
mod java;
mod jest;
mod js;
mod karma;
mod ld;
mod lines;
mod make;
mod markdownlint;
mod maven;
mod minitest;
mod mocha;
mod mypy;
mod nextest;
mod node_test;
mod npm;
mod panics;
mod php;
mod phpunit;
mod pip;
mod playwright;
mod prettier;
mod process;
mod prove;
mod pyright;
mod pytest;
mod python;
mod robot;
mod rollup;
mod rspec;
mod ruby;
mod ruff;
mod sanitizers;
mod shellcheck;
mod stylelint;
mod swift;
mod terraform;
mod text_place;
mod tsc;
mod unittest;
mod valgrind;
mod vitest;
mod webpack;
mod yamllint;

use std::ops::Range;

use crate::Input;
use crate::clean::Log;
use crate::command::Call;
use crate::draft::Draft;
use crate::mask::Noise;
use crate::paths::Paths;

pub(crate) use fallback::Fallback;
pub(crate) use text_place::{place_in, text_place};

/// All known runners and builders, in the order in which they look at a log.
pub(crate) static PARSERS: &[&dyn LogParser] = &[
    &nextest::Nextest,
    &cargo::Cargo,
    &pytest::Pytest,
    &unittest::Unittest,
    &behave::Behave,
    &robot::Robot,
    &jest::Jest,
    &vitest::Vitest,
    &mocha::Mocha,
    &node_test::NodeTest,
    &jasmine::Jasmine,
    &karma::Karma,
    &ava::Ava,
    &playwright::Playwright,
    &bun_test::BunTest,
    &deno_test::DenoTest,
    &tsc::TSC,
    &eslint::Eslint,
    &stylelint::STYLELINT,
    &prettier::Prettier,
    &biome::BIOME,
    &markdownlint::MARKDOWNLINT,
    &markdownlint::LINKINATOR,
    &markdownlint::LYCHEE,
    &rollup::Rollup,
    &webpack::Webpack,
    &esbuild::ESBUILD,
    &ruff::Ruff,
    &mypy::Mypy,
    &pyright::PYRIGHT,
    &flake8::FLAKE8,
    &flake8::PYLINT,
    &flake8::BLACK,
    &flake8::ISORT,
    &yamllint::YAMLLINT,
    &yamllint::HADOLINT,
    &yamllint::ACTIONLINT,
    &check_jsonschema::CHECK_JSONSCHEMA,
    &check_jsonschema::JSONSCHEMA,
    &coverage::Coverage,
    &ajv::Ajv,
    &shellcheck::Shellcheck,
    &npm::Npm,
    &pip::Pip,
    &go_test::GoTest,
    &go_build::GoBuild,
    &maven::Maven,
    &gradle::Gradle,
    &dotnet::DotnetTest,
    &swift::Swift,
    &phpunit::Phpunit,
    &rspec::Rspec,
    &minitest::Minitest,
    &exunit::Exunit,
    &prove::Prove,
    &bats::Bats,
    &ctest::Ctest,
    &gtest::Gtest,
    &catch2::Catch2,
    &check_c::CheckC,
    &sanitizers::Sanitizers,
    &valgrind::Valgrind,
    &process::Process,
    &gcc::Gcc,
    &ld::Ld,
    &java::Java,
    &dotnet::Msbuild,
    &php::Php,
    &ruby::Ruby,
    &cmake::Cmake,
    &make::Make,
    &git::Git,
    &terraform::Terraform,
    &docker::Docker,
    &clang_tidy::CLANG_TIDY,
    &clang_tidy::CPPCHECK,
];

/// Reads the output of one tool.
pub(crate) trait LogParser: Sync {
    /// The tool's name in a reading.
    fn tool(&self) -> &'static str;

    /// Whether the call runs this tool.
    fn is_called(&self, call: &Call) -> bool;

    /// Whether only this tool prints such a line; it says that a script ran the tool.
    fn is_banner(&self, line: &str) -> bool;

    /// Literals, one of which is in every banner line; without any, each line is asked.
    fn marks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether such a call ends with the runner's figures in the log, whatever the tests do. Where they are missing,
    /// the run did not end by itself, and no file that was written stands for them. `false` for what counts no
    /// tests, prints none when all is well, or was told to print none.
    fn tells_figures(&self, _: &Call) -> bool {
        true
    }

    /// Whether the tool runs others, whose own words explain more than its own.
    fn is_wrapper(&self) -> bool {
        false
    }

    /// Lines that tests printed and the tool shows: for other tools they say nothing.
    fn captured(&self, _: &Context<'_>) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Finds what the tool says. Called once; linear in the log.
    fn read(&self, cx: &Context<'_>) -> Draft;
}

/// What a parser looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) log: &'a Log,
    pub(crate) input: &'a Input<'a>,
    pub(crate) paths: Paths<'a>,
    pub(crate) calls: &'a [Call],
    /// Whether the command's words name this tool; otherwise a script ran it, perhaps more than once.
    pub(crate) is_named: bool,
    /// What a green run of the baseline prints too.
    pub(crate) noise: &'a Noise,
    /// For each line, whether another tool owns it.
    pub(crate) taken: &'a [bool],
}

impl<'a> Context<'a> {
    /// The lines that are whole and owned by no other tool.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.lines_in(0..self.log.len())
    }

    /// Those of a range.
    pub(crate) fn lines_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &'a str)> {
        let Self { log, taken, .. } = *self;
        log.slice(range).filter(move |(index, _)| !log.is_piece(*index) && !taken[*index])
    }
}
