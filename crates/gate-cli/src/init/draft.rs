//! The draft as YAML, with a comment beside each part: why it is there, and what to edit.

use std::fmt::Write;

use gate_core::limits::SETUP_COMMANDS_MAX;
use gate_core::{CommandLine, GitSource};
use gate_detect::{CheckPurpose, Component, Detection, DraftCheck, Protected};

use super::repository::Baseline;
use super::yaml::{comment, list, scalar};

/// All that the draft is made of.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) schema: &'a str,
    pub(super) title: &'a str,
    pub(super) baseline: &'a Baseline,
    pub(super) detection: &'a Detection,
}

impl Draft<'_> {
    /// What a person should look at.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let of_baseline: Vec<String> = match self.baseline {
            Baseline::Git { unsure, .. } => unsure.clone(),
            Baseline::Missing(why) => {
                vec![format!("no baseline, so nothing is protected: {why}")]
            }
        };
        let of_components = self.detection.components.iter().flat_map(|component| {
            component.unsure.iter().map(|it| format!("{}: {it}", component.shown_by))
        });
        of_baseline.into_iter().chain(self.detection.unsure.clone()).chain(of_components)
    }

    /// The whole document.
    pub(super) fn text(&self) -> String {
        let mut text = format!("# yaml-language-server: $schema={}\n", self.schema);
        say(
            &mut text,
            "A draft, made of the project's files by `donegate contract init`. Read and edit each part; `donegate contract check` says offline what the gate would say of it.",
            0,
        );
        text.push('\n');
        say(&mut text, "One line for people: what the work is.", 0);
        line(&mut text, &format!("title: {}", scalar(self.title)));
        text.push('\n');
        self.add_baseline(&mut text);
        self.add_criteria(&mut text);
        self.add_protected(&mut text);
        self.add_checks(&mut text);
        self.add_environment(&mut text);
        self.add_notes(&mut text);
        text
    }

    fn add_baseline(&self, text: &mut String) {
        match self.baseline {
            Baseline::Git { source, .. } => {
                say(
                    text,
                    "What the work starts from: the changes are measured against it, and protected files are taken from it.",
                    0,
                );
                line(text, "baseline:");
                line(text, &format!("  git: {}", git(source)));
            }
            Baseline::Missing(why) => {
                say(
                    text,
                    &format!(
                        "No baseline: {why}. With one, the gate compares the trees, and can protect files. Name a full commit id, never a branch:"
                    ),
                    0,
                );
                line(text, "# baseline:");
                line(
                    text,
                    "#   git: { url: \"https://git.example/project.git\", commit: \"…40 hex digits…\" }",
                );
            }
        }
        text.push('\n');
    }

    fn add_criteria(&self, text: &mut String) {
        say(
            text,
            "What must be true when the work is done, each shown by checks. These say only that nothing is broken: add what this task is about.",
            0,
        );
        line(text, "criteria:");
        let shown = self.detection.components.iter().filter_map(|component| {
            let checks = component.checks.iter().filter(|it| it.purpose.is_blocking());
            let ids: Vec<&str> = checks.map(|it| it.id.as_str()).collect();
            (!ids.is_empty()).then(|| (criterion(component), ids))
        });
        for (index, (sentence, ids)) in shown.enumerate() {
            line(text, &format!("  - id: AC{}", index + 1));
            line(text, &format!("    text: {}", scalar(&sentence)));
            line(text, &format!("    checks: {}", list(ids)));
        }
        text.push('\n');
    }

    fn add_protected(&self, text: &mut String) {
        let all: Vec<&Protected> =
            self.detection.components.iter().flat_map(|it| &it.protected).collect();
        if all.is_empty() {
            return;
        }
        say(
            text,
            "Taken from the baseline before each check, whatever the reporter did to them; what a reporter adds at these paths is removed. Take out what this task has to change. Tests that it has to write itself need a path that is not protected.",
            0,
        );
        let has_baseline = matches!(self.baseline, Baseline::Git { .. });
        let is_sure = |it: &Protected| has_baseline && it.doubt.is_none();
        let is_on = all.iter().any(|it| is_sure(it));
        line(text, if is_on { "protected:" } else { "# protected:" });
        for it in all {
            let item = scalar(it.pattern.as_str());
            if is_sure(it) {
                line(text, &format!("  - {item}"));
                continue;
            }
            let off = if is_on { "  # -" } else { "#   -" };
            let doubt = it.doubt.map(|it| format!("   # not by default: {it}")).unwrap_or_default();
            line(text, &format!("{off} {item}{doubt}"));
        }
        text.push('\n');
    }

    fn add_checks(&self, text: &mut String) {
        say(
            text,
            "What the gate runs, in this order, in one tree. `kind: tests` passes only if the runner's own figures were read and tests were run: `at_least: 12` says how many. `blocking: false` is told, and prevents nothing.",
            0,
        );
        line(text, "checks:");
        for component in &self.detection.components {
            component.checks.iter().for_each(|it| add_check(text, component, it));
        }
        text.push('\n');
    }

    fn add_environment(&self, text: &mut String) {
        let components = &self.detection.components;
        let setup: Vec<&CommandLine> = components.iter().flat_map(|it| &it.setup).collect();
        let variables: Vec<_> = components.iter().flat_map(|it| &it.variables).collect();
        say(
            text,
            "What the commands find around them. `limits`, `rounds_max`, and `callback` have defaults, too.",
            0,
        );
        line(text, "environment:");
        if !setup.is_empty() {
            say(
                text,
                "Before the checks; what fails here is the contract's fault, never the reporter's.",
                2,
            );
            line(text, "  setup:");
            for (index, it) in setup.into_iter().enumerate() {
                let off = if index < SETUP_COMMANDS_MAX {
                    ""
                } else {
                    "# more than a contract may have: "
                };
                line(text, &format!("    {off}- {}", list(it.to_words())));
            }
        }
        if !variables.is_empty() {
            line(text, "  variables:");
            let mut known: Vec<&String> = Vec::new();
            for (name, value) in variables {
                if !known.contains(&name) {
                    line(text, &format!("    {}: {}", scalar(name), scalar(value)));
                    known.push(name);
                }
            }
        }
        say(text, "`full` is HTTP and HTTPS to public hosts through the gate's proxy.", 2);
        for why in components.iter().filter_map(|it| it.checks_network.as_ref()) {
            say(text, &format!("The checks have it because {why}."), 2);
        }
        let checks =
            if components.iter().any(|it| it.checks_network.is_some()) { "full" } else { "none" };
        line(text, &format!("  network: {{ setup: full, checks: {checks} }}"));
        say(
            text,
            "The weakest isolation that will do, and 127.0.0.1 for tests that listen on it:",
            2,
        );
        line(text, "  # isolation: landlock");
        line(text, "  # loopback: true");
    }

    fn add_notes(&self, text: &mut String) {
        let mut notes = self.notes().peekable();
        if notes.peek().is_some() {
            text.push('\n');
            say(text, "Not sure, so look at it:", 0);
        }
        for it in notes {
            say(text, &format!("- {it}"), 0);
        }
    }
}

fn git(source: &GitSource) -> String {
    let (url, commit) = (scalar(source.url()), source.commit());
    let subdirectory = source.subdirectory().map(|it| scalar(it.as_str()));
    let subdirectory = subdirectory.map(|it| format!(", subdirectory: {it}")).unwrap_or_default();
    format!("{{ url: {url}, commit: \"{commit}\"{subdirectory} }}")
}

fn criterion(component: &Component) -> String {
    let place = match component.directory.as_str() {
        "" => "the project".to_owned(),
        directory => directory.to_owned(),
    };
    let ecosystem = component.ecosystem;
    if component.checks.iter().any(|it| it.purpose.is_tests()) {
        format!("The tests of {place} pass ({ecosystem})")
    } else {
        format!("What is in {place} builds ({ecosystem})")
    }
}

fn add_check(text: &mut String, component: &Component, check: &DraftCheck) {
    say(text, &format!("{}: {}.", component.shown_by, check.why), 2);
    line(text, &format!("  - id: {}", scalar(&check.id)));
    line(text, &format!("    kind: {}", kind(check.purpose)));
    line(text, &format!("    run: {}", list(check.run.to_words())));
    if !check.results.is_empty() {
        let globs = check.results.iter().map(|it| it.as_str());
        line(text, &format!("    results: {}", list(globs)));
    }
    if !check.purpose.is_blocking() {
        line(text, "    blocking: false");
    }
}

const fn kind(purpose: CheckPurpose) -> &'static str {
    match purpose {
        CheckPurpose::Tests => "tests",
        CheckPurpose::Configure
        | CheckPurpose::Build
        | CheckPurpose::TestsByExit
        | CheckPurpose::Lint
        | CheckPurpose::Types
        | CheckPurpose::Format => "command",
    }
}

fn say(text: &mut String, what: &str, indent: usize) {
    text.push_str(&comment(what, indent));
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a text can be written to");
}
