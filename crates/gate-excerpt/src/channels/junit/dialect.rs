//! Who wrote a JUnit file, and how that tool names its tests.

use quick_xml::events::BytesStart;

use super::case::{Case, attribute};
use crate::draft::Counts;
use crate::limits::NAME_BYTES_MAX;
use crate::select::shorten;

/// Who wrote it, as far as it shows.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    pub(super) tool: &'static str,
    /// From the root to the innermost that is open.
    pub(super) suites: Vec<Suite>,
}

#[derive(Debug, Default)]
pub(super) struct Suite {
    pub(super) name: String,
    /// Passed, as its attributes claim.
    pub(super) claimed: Option<u64>,
    pub(super) passed: u64,
    pub(super) is_outer: bool,
}

impl Dialect {
    pub(super) fn open(&mut self, tag: &BytesStart<'_>) {
        let name = attribute(tag, "name").unwrap_or_default();
        let has = |it: &str| attribute(tag, it).is_some();
        let tool = match name.as_str() {
            "nextest-run" => "cargo-nextest",
            "pytest" | "pytest tests" => "pytest",
            "jest tests" => "jest",
            "vitest tests" => "vitest",
            "Mocha Tests" => "mocha",
            "rspec" => "rspec",
            "AllTests" => "gtest",
            "bun test" => "bun",
            "deno test" => "deno",
            _ if has("assertions") && has("file") => "phpunit",
            _ if attribute(tag, "xsi:noNamespaceSchemaLocation")
                .is_some_and(|it| it.contains("surefire")) =>
            {
                "maven"
            }
            _ => "",
        };
        if self.tool.is_empty() {
            self.tool = tool;
        }
        let figure = |it: &str| attribute(tag, it)?.trim().parse::<u64>().ok();
        let others = ["failures", "errors", "skipped", "disabled"];
        let others = others.iter().filter_map(|it| figure(it)).fold(0, u64::saturating_add);
        let claimed = figure("tests").map(|it| it.saturating_sub(others));
        // Those around it are outer ones already.
        self.suites.last_mut().into_iter().for_each(|it| it.is_outer = true);
        let name = shorten(&name, NAME_BYTES_MAX);
        self.suites.push(Suite { name, claimed, ..Suite::default() });
    }

    /// Tests to do are written as if they had passed by some: of the two figures the smaller one counts.
    pub(super) fn close(&mut self, counts: &mut Counts) {
        let Some(Suite { claimed, passed, is_outer, .. }) = self.suites.pop() else { return };
        let passed = claimed.filter(|_| !is_outer).map_or(passed, |it| it.min(passed));
        counts.passed = counts.passed.map(|it| it.saturating_add(passed));
    }

    pub(super) fn property(&mut self, tag: &BytesStart<'_>) {
        if self.tool.is_empty() && attribute(tag, "name").as_deref() == Some("go.version") {
            self.tool = "go-test";
        }
    }

    /// As the runner prints it, as far as the attributes tell.
    pub(super) fn name(&self, case: &Case) -> String {
        let Case { name, class, file, .. } = case;
        let suite = self.suites.last().map_or("", |it| it.name.as_str());
        match self.tool {
            "cargo-nextest" => format!("{suite} {name}"),
            "pytest" => python_name(class, name, file),
            "go-test" | "bats" => name.clone(),
            "maven" | "phpunit" => {
                format!("{class}{}{name}", if self.tool == "maven" { "." } else { "::" })
            }
            "gtest" => format!("{class}.{name}"),
            "rspec" | "mocha" | "jest" | "vitest" => name.clone(),
            _ if class.is_empty() || name.contains(class.as_str()) => name.clone(),
            _ => format!("{class}.{name}"),
        }
    }
}

/// `tests.test_a.TestA` and `test_b` of `tests/test_a.py` are `tests/test_a.py::TestA::test_b`.
fn python_name(class: &str, name: &str, file: &str) -> String {
    if class.is_empty() {
        // A file that could not be collected has its module as name.
        return format!("{}.py", name.replace('.', "/"));
    }
    let module = file.trim_end_matches(".py").replace(['/', '\\'], ".");
    let (path, classes) = match class.strip_prefix(module.as_str()).filter(|_| !file.is_empty()) {
        Some(rest) => (file.to_owned(), rest.trim_start_matches('.').to_owned()),
        None => {
            // Classes are written with a capital letter, modules are not.
            let parts: Vec<&str> = class.split('.').collect();
            let is_class = |it: &&str| it.starts_with(|it: char| it.is_uppercase());
            let at = parts.iter().position(is_class).unwrap_or(parts.len());
            (format!("{}.py", parts[..at].join("/")), parts[at..].join("."))
        }
    };
    let classes = if classes.is_empty() {
        String::new()
    } else {
        format!("::{}", classes.replace('.', "::"))
    };
    format!("{path}{classes}::{name}")
}
