//! What the commands of a contract name, and so must be there before anybody works: programs, and paths.
//!
//! Whether a word is a path is known of few programs. A word that could be anything is never held
//! against a contract; what the reporter is to deliver, or a command writes, need not be there.

use crate::check::Reason;
use crate::{Blame, Check, CommandLine, Contract, FindingKind};

/// A word of a command that must stand for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The check whose command it is; none in a setup command.
    pub check: Option<String>,
    /// A JSON pointer to the word.
    pub pointer: String,
    /// What must be there: for a path, without what the runner adds to it, such as `::test_name`.
    pub word: String,
    /// Program or path.
    pub kind: WantedKind,
}

/// How a word is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedKind {
    /// As a program: on `PATH`, or, with a `/` in it, in the workspace.
    Program,
    /// As a file or directory of the workspace.
    Path,
}

/// Every bare word is a path, for these programs.
const TAKE_PATHS: [&str; 8] =
    ["pytest", "py.test", "rspec", "bats", "prove", "shellcheck", "flake8", "pylint"];
/// The first bare word is a script, for these.
const TAKE_SCRIPTS: [&str; 9] =
    ["python", "python3", "node", "ruby", "php", "perl", "bash", "sh", "dash"];
/// Options of one letter that take no value, in the programs of [`TAKE_PATHS`].
const VALUELESS: &str = "qvsxlr";

/// All that the contract's commands name and that is not the reporter's to make.
#[must_use]
pub fn wanted(contract: &Contract) -> Vec<Wanted> {
    let mut all = Vec::new();
    for (index, check) in contract.checks().iter().enumerate() {
        let Some(command) = check.command() else { continue };
        let CommandLine::Words { program, args } = command else { continue };
        let mut add = |place: usize, word: &str, kind| {
            let pointer = format!("/checks/{index}/run/{place}");
            all.push(Wanted {
                check: Some(check.id.clone()),
                pointer,
                word: word.to_owned(),
                kind,
            });
        };
        add(0, program, WantedKind::Program);
        for (place, path) in paths(program, args) {
            add(place, path, WantedKind::Path);
        }
    }
    all.retain(|it| !is_made(it.word.trim_start_matches("./"), contract));
    all
}

impl Wanted {
    pub(super) fn missing(&self) -> Reason {
        let Self { word, pointer, .. } = self;
        let (kind, what) = match self.kind {
            WantedKind::Program if word.contains('/') => (
                FindingKind::CommandNotFound,
                format!("there is no program `{word}` in the baseline, or it cannot be executed"),
            ),
            WantedKind::Program => (
                FindingKind::CommandNotFound,
                format!(
                    "there is no program `{word}` where the checks run; have `environment.setup` install it, or name another"
                ),
            ),
            WantedKind::Path => (
                FindingKind::PathMissing,
                format!(
                    "there is no `{word}` in the baseline; correct it, bring it as one of the `acceptance_files`, or name it as a deliverable"
                ),
            ),
        };
        Reason::new(kind, format!("{what} ({pointer})")).blame(Blame::Contract)
    }
}

/// The words that are paths, each with its place in the command.
fn paths<'a>(program: &str, args: &'a [String]) -> Vec<(usize, &'a str)> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_module = TAKE_SCRIPTS.contains(&name) && args.first().is_some_and(|it| it == "-m");
    let (name, from) = match args.get(1) {
        Some(module) if is_module => (module.as_str(), 2),
        Some(_) | None => (name, 0),
    };
    let words = args.iter().enumerate().skip(from).map(|(index, it)| (index + 1, it.as_str()));
    let named: Vec<(usize, &str)> = if TAKE_PATHS.contains(&name) {
        bare(words)
    } else if TAKE_SCRIPTS.contains(&name) {
        words.take(1).filter(|(_, it)| !it.starts_with('-')).collect()
    } else {
        words.filter(|(_, it)| it.starts_with("./")).collect()
    };
    let cut = |(place, word): (usize, &'a str)| (place, word.split("::").next().unwrap_or(word));
    named.into_iter().map(cut).filter(|(_, it)| is_plain(it)).collect()
}

/// Words that are neither options nor, as far as can be told, the values of options.
fn bare<'a>(words: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut after_option = false;
    for (place, word) in words {
        let is_option = word.starts_with('-') && word.len() > 1;
        if !is_option && !after_option {
            found.push((place, word));
        }
        let letters = word.trim_start_matches('-');
        let takes_none =
            !word.starts_with("--") && letters.chars().all(|it| VALUELESS.contains(it));
        after_option = is_option && !takes_none && !word.contains('=');
    }
    found
}

/// Whether it can be looked up: relative, and without anything that is expanded or counted up by the program.
fn is_plain(word: &str) -> bool {
    let below = word.trim_start_matches("./");
    !below.is_empty()
        && !below.starts_with('/')
        && !below.contains("..")
        && !below.contains(['*', '?', '[', '{', '$', ':', '@', '\\', '='])
}

/// Whether the reporter delivers it, or a command writes it.
fn is_made(path: &str, contract: &Contract) -> bool {
    let path = path.trim_end_matches('/');
    let overlaps = |made: &str| {
        let below = |one: &str, two: &str| {
            one.strip_prefix(two).is_some_and(|it| it.is_empty() || it.starts_with('/'))
        };
        below(path, made) || below(made, path)
    };
    let of_checks = contract.checks().iter().flat_map(Check::paths);
    contract.deliverables().iter().chain(of_checks).any(|it| overlaps(it.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreePath;
    use crate::testing::{command_check, parts};

    fn named(words: &[&str]) -> Vec<String> {
        let mut parts = parts();
        parts.checks[0] = command_check("tests", words);
        let contract = Contract::parse(parts).unwrap();
        wanted(&contract).into_iter().map(|it| it.word).collect()
    }

    #[test]
    fn paths_are_told_from_what_only_looks_like_one() {
        let cases: [(&[&str], &[&str]); 12] = [
            (&["pytest", "-q", "tests/orders"], &["pytest", "tests/orders"]),
            (&["pytest", "tests/a.py::Case::test_b"], &["pytest", "tests/a.py"]),
            (&["pytest", "-k", "a or b", "-n", "4", "t"], &["pytest", "t"]),
            (&["pytest", "--ignore", "x", "--maxfail=1", "t"], &["pytest", "t"]),
            (&["python3", "-m", "pytest", "t.py"], &["python3", "t.py"]),
            (&["python3", "-m", "unittest", "tests.a"], &["python3"]),
            (&["python3", "check.py", "out/x"], &["python3", "check.py"]),
            (&["bash", "-c", "./x"], &["bash"]),
            (&["go", "test", "./...", "./pkg"], &["go", "./pkg"]),
            (&["npm", "test", "--", "slug.test.js"], &["npm"]),
            (&["cargo", "test", "--test", "a/b"], &["cargo"]),
            (&["./gradlew", "test"], &["./gradlew"]),
        ];
        for (words, expected) in cases {
            assert_eq!(named(words), expected, "{words:?}");
        }
    }

    #[test]
    fn what_the_reporter_delivers_need_not_be_there() {
        let mut parts = parts();
        parts.checks[0] = command_check("tests", &["pytest", "tests/new", "./tools/run", "old"]);
        parts.deliverables =
            ["tests/new/test_a.py", "tools"].map(|it| TreePath::parse(it).unwrap()).to_vec();
        let contract = Contract::parse(parts).unwrap();
        let left: Vec<_> = wanted(&contract).into_iter().map(|it| it.pointer).collect();
        assert_eq!(left, ["/checks/0/run/0", "/checks/0/run/3"]);
    }
}
