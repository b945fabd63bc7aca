//! Python: pytest, Django's runner, or unittest; installed by uv, Poetry, PDM, Pipenv, or pip into an environment of
//! its own.

mod install;
mod manifest;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::directory::{Directory, name, owner, parent};
use install::Installer;
use manifest::Manifest;

pub(crate) const PYTHON: Ecosystem =
    Ecosystem { name: "python", directory, read, is_last_resort: false };

const SIGNS: [&str; 11] = [
    "pyproject.toml",
    "uv.lock",
    "poetry.lock",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "pytest.ini",
    "tox.ini",
    "conftest.py",
    "manage.py",
];
const TEST_FILES: [&str; 3] = ["**/test_*.py", "**/*_test.py", "**/tests.py"];
const RESULTS: &str = ".donegate/pytest.xml";

fn directory(path: &str) -> Option<&str> {
    let name = name(path);
    if name == "conftest.py" || is_test_file(name) {
        return Some(owner(path, &["test", "tests"]));
    }
    SIGNS.contains(&name).then(|| parent(path))
}

fn is_test_file(name: &str) -> bool {
    name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
}

fn read(at: &Directory<'_>) -> Option<Component> {
    let tests: Vec<&str> = TEST_FILES.iter().flat_map(|it| at.matching(it)).collect();
    let shown_by = at.first_of(&SIGNS).or_else(|| tests.first().copied())?;
    let manifest = Manifest::of(at);
    let runner = Runner::of(at, &manifest, &tests);
    // A file such as `pyproject.toml` may hold the settings of a tool, and no Python at all.
    if runner.is_none() && !at.has_any(&["*.py", "*/*.py", "src/*/*.py"]) {
        return None;
    }
    let mut draft = Draft::new(at, "python", shown_by);
    let wanted = (runner == Some(Runner::Pytest)).then_some("pytest");
    let installer = Installer::of(at, &manifest);
    installer.add_setup(&mut draft, at, &manifest, wanted);
    match runner {
        Some(Runner::Pytest) => {
            let junit = format!("--junitxml={RESULTS}");
            let run = installer.run_tool(at, &["pytest", "-q", &junit]);
            draft.check(CheckPurpose::Tests, run, &[RESULTS], "the project uses pytest");
        }
        Some(Runner::Django) => {
            let run = installer.run_python(at, &["manage.py", "test", "-v", "2", "--noinput"]);
            draft.check(
                CheckPurpose::Tests,
                run,
                &[],
                "manage.py, and no pytest: Django's own runner",
            );
        }
        Some(Runner::Unittest) => {
            let discover = discover(at, &tests);
            let words: Vec<&str> = discover.iter().map(String::as_str).collect();
            let run = installer.run_python(at, &words);
            draft.check(
                CheckPurpose::Tests,
                run,
                &[],
                "the test files use unittest, and nothing shows pytest",
            );
        }
        None => draft
            .unsure("no file test_*.py or *_test.py was found: there is no test to run for Python"),
    }
    for (tool, words, purpose) in [
        ("ruff", ["ruff", "check", "."], CheckPurpose::Lint),
        ("mypy", ["mypy", ".", "--no-color-output"], CheckPurpose::Types),
    ] {
        if installer.installs() && manifest.names(tool) && manifest.configures(at, tool) {
            let why = format!("the project depends on {tool} and configures it");
            draft.check(purpose, installer.run_tool(at, &words), &[], why);
        }
    }
    protect(&mut draft, at, &manifest, wanted.is_some());
    Some(draft.finish())
}

fn protect(draft: &mut Draft<'_, '_>, at: &Directory<'_>, manifest: &Manifest, uses_pytest: bool) {
    draft.protect(&["tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/tests.py"]);
    draft.protect(&["tox.ini"]);
    if uses_pytest {
        draft.protect_also_if_missing(&["**/conftest.py", "pytest.ini", ".pytest.ini"]);
    }
    if manifest.configures(at, "pytest") {
        draft.protect_unless(
            "they hold pytest's settings, and the dependencies",
            &["pyproject.toml", "setup.cfg"],
        );
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Pytest,
    Django,
    Unittest,
}

impl Runner {
    fn of(at: &Directory<'_>, manifest: &Manifest, tests: &[&str]) -> Option<Self> {
        let uses = |is: &dyn Fn(&str) -> bool| {
            tests.iter().filter_map(|it| at.read(it)).any(|text| text.lines().any(is))
        };
        let shows_pytest = at.first_of(&["pytest.ini", ".pytest.ini"]).is_some()
            || at.has_any(&["**/conftest.py"])
            || manifest.configures(at, "pytest")
            || manifest.names("pytest");
        if tests.is_empty() {
            return None;
        }
        if shows_pytest {
            return Some(Self::Pytest);
        }
        if at.has("manage.py") {
            return Some(Self::Django);
        }
        // Functions outside of a class, and fixtures, are pytest's.
        let is_pytest = |line: &str| {
            line.starts_with("def test")
                || line.starts_with("async def test")
                || line.starts_with("import pytest")
                || line.starts_with("from pytest")
        };
        let is_unittest =
            |line: &str| line.starts_with("import unittest") || line.starts_with("from unittest");
        if uses(&is_pytest) {
            return Some(Self::Pytest);
        }
        uses(&is_unittest).then_some(Self::Unittest)
    }
}

/// Where unittest looks, and for what: it finds only files of one pattern, and from the root only those in packages.
fn discover(at: &Directory<'_>, tests: &[&str]) -> Vec<String> {
    let mut found =
        vec!["-m".to_owned(), "unittest".to_owned(), "discover".to_owned(), "-v".to_owned()];
    let is_default = |it: &&&str| name(it).starts_with("test");
    let files: Vec<_> = tests.iter().filter(is_default).collect();
    let lone = ["tests", "test"].into_iter().find(|dir| {
        let inside = |it: &&str| it.starts_with(&format!("{dir}/"));
        tests.iter().all(inside) && !at.has(&format!("{dir}/__init__.py"))
    });
    if let Some(dir) = lone {
        found.extend(["-s".to_owned(), dir.to_owned()]);
    }
    if files.is_empty() {
        found.extend(["-p".to_owned(), "*_test.py".to_owned()]);
    }
    found
}
