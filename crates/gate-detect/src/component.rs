//! What was found: one ecosystem in one directory, and what the gate would run there.
//!
//! A draft for people to edit: it says also why, and of what it is not sure.

use std::collections::{BTreeMap, BTreeSet};

use gate_core::{CommandLine, PathPattern};

use crate::directory::Directory;

/// One ecosystem in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Such as `cargo`.
    pub ecosystem: &'static str,
    /// Relative to the root of the tree; empty for the root itself.
    pub directory: String,
    /// The file that shows it, relative to the root of the tree.
    pub shown_by: String,
    /// Commands that install what the checks need.
    pub setup: Vec<CommandLine>,
    /// The checks, in the order in which they run.
    pub checks: Vec<DraftCheck>,
    /// Globs of the files that say what is tested, relative to the root of the tree.
    pub protected: Vec<Protected>,
    /// Variables that the commands need.
    pub variables: BTreeMap<String, String>,
    /// Why the checks need the network, where they do.
    pub checks_network: Option<String>,
    /// What a person should look at, as sentences.
    pub unsure: Vec<String>,
    /// Whether what lies below the directory belongs to it, so that nothing else of the ecosystem is looked for there.
    pub(crate) covers_below: bool,
}

/// One check of the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftCheck {
    /// Unique in a detection: [`CheckPurpose::word`], and, where there are several, the directory or the ecosystem.
    pub id: String,
    /// What it asks.
    pub purpose: CheckPurpose,
    /// What is run.
    pub run: CommandLine,
    /// Files that it writes for machines to read.
    pub results: Vec<PathPattern>,
    /// Why this command, in one line.
    pub why: String,
}

/// What a check asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckPurpose {
    /// Prepares the build; a no prevents a PASS.
    Configure,
    /// Does it build? A no prevents a PASS.
    Build,
    /// Do the tests pass, and did any run? A no prevents a PASS.
    Tests,
    /// Do the tests pass, as far as the exit status says? For runners whose output nobody can count.
    TestsByExit,
    /// What a linter says. Told, and prevents nothing.
    Lint,
    /// What a checker of types says. Told, and prevents nothing.
    Types,
    /// Whether the formatter would change a file. Told, and prevents nothing.
    Format,
}

impl CheckPurpose {
    /// The beginning of a check's id.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Build => "build",
            Self::Tests | Self::TestsByExit => "tests",
            Self::Lint => "lint",
            Self::Types => "types",
            Self::Format => "format",
        }
    }

    /// Whether a no prevents a PASS.
    #[must_use]
    pub const fn is_blocking(self) -> bool {
        match self {
            Self::Configure | Self::Build | Self::Tests | Self::TestsByExit => true,
            Self::Lint | Self::Types | Self::Format => false,
        }
    }

    /// Whether it runs the tests.
    #[must_use]
    pub const fn is_tests(self) -> bool {
        match self {
            Self::Tests | Self::TestsByExit => true,
            Self::Configure | Self::Build | Self::Lint | Self::Types | Self::Format => false,
        }
    }
}

/// Files that are taken from the baseline, whatever the reporter did to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// Which.
    pub pattern: PathPattern,
    /// Why one would not protect them, where there is a reason: they also hold what many tasks have to change.
    pub doubt: Option<&'static str>,
}

/// A component that is put together. All paths and globs that it takes are relative to its directory.
#[derive(Debug)]
pub(crate) struct Draft<'d, 't> {
    at: &'d Directory<'t>,
    component: Component,
    /// Relative to the directory.
    protected_files: BTreeSet<&'t str>,
}

impl<'d, 't> Draft<'d, 't> {
    pub(crate) fn new(at: &'d Directory<'t>, ecosystem: &'static str, shown_by: &str) -> Self {
        let component = Component {
            ecosystem,
            directory: at.path().to_owned(),
            shown_by: at.join(shown_by),
            setup: Vec::new(),
            checks: Vec::new(),
            protected: Vec::new(),
            variables: BTreeMap::new(),
            checks_network: None,
            unsure: Vec::new(),
            covers_below: true,
        };
        Self { at, component, protected_files: BTreeSet::new() }
    }

    pub(crate) fn setup(&mut self, command: CommandLine) {
        self.component.setup.push(command);
    }

    /// Adds a check; `results` are globs.
    pub(crate) fn check(
        &mut self,
        purpose: CheckPurpose,
        run: CommandLine,
        results: &[&str],
        why: impl Into<String>,
    ) {
        let results = results.iter().filter_map(|it| self.at.pattern(it)).collect();
        let id = purpose.word().to_owned();
        self.component.checks.push(DraftCheck { id, purpose, run, results, why: why.into() });
    }

    /// Protects what the globs mean; one that means no file, or only files that are protected already, is left out.
    pub(crate) fn protect(&mut self, globs: &[&str]) {
        for glob in globs {
            let known = |it: &str| self.protected_files.contains(it);
            if !self.at.all_matching(glob).all(known) {
                self.add_protected(glob, None);
            }
        }
    }

    /// Protects files that a runner obeys, also where there are none: what a reporter adds at these paths is removed.
    pub(crate) fn protect_also_if_missing(&mut self, globs: &[&str]) {
        globs.iter().for_each(|it| self.add_protected(it, None));
    }

    /// Says which files that are there could be protected, and why one might not.
    pub(crate) fn protect_unless(&mut self, doubt: &'static str, globs: &[&str]) {
        for glob in globs.iter().filter(|it| self.at.all_matching(it).next().is_some()) {
            self.add_protected(glob, Some(doubt));
        }
    }

    fn add_protected(&mut self, glob: &str, doubt: Option<&'static str>) {
        let Some(pattern) = self.at.pattern(glob) else { return };
        if doubt.is_none() {
            self.protected_files.extend(self.at.all_matching(glob));
        }
        if !self.component.protected.iter().any(|it| it.pattern == pattern) {
            self.component.protected.push(Protected { pattern, doubt });
        }
    }

    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        self.component.variables.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn needs_network_for_checks(&mut self, why: &str) {
        self.component.checks_network = Some(why.to_owned());
    }

    pub(crate) fn unsure(&mut self, sentence: impl Into<String>) {
        self.component.unsure.push(sentence.into());
    }

    /// Others of the ecosystem below the directory are looked at for themselves.
    pub(crate) fn covers_only_itself(&mut self) {
        self.component.covers_below = false;
    }

    pub(crate) fn has_tests(&self) -> bool {
        self.component.checks.iter().any(|it| it.purpose.is_tests())
    }

    pub(crate) fn finish(self) -> Component {
        self.component
    }
}

/// The words as a command.
pub(crate) fn words<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> CommandLine {
    let mut words = words.into_iter().map(|it| it.as_ref().to_owned());
    let program = words.next().unwrap_or_default();
    CommandLine::Words { program, args: words.collect() }
}
