//! Rust with Cargo: `cargo test`, or nextest where the project has a profile of it that writes JUnit XML.

use gate_core::CommandLine;
use serde::Deserialize;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft, words};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const CARGO: Ecosystem = Ecosystem {
    name: "cargo",
    directory: |path| directory_of(path, &["Cargo.toml"]),
    read,
    is_last_resort: false,
};

const TEST_MARKS: [&str; 4] = ["#[test]", "::test]", "::test(", "#[rstest"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest {
    package: Option<toml::Table>,
    workspace: Option<toml::Table>,
    lints: toml::Table,
}

fn read(at: &Directory<'_>) -> Option<Component> {
    let manifest: Manifest = toml::from_str(&at.read("Cargo.toml")?).ok()?;
    if manifest.package.is_none() && manifest.workspace.is_none() {
        return None;
    }
    let mut draft = Draft::new(at, "cargo", "Cargo.toml");
    if manifest.workspace.is_none() {
        draft.covers_only_itself();
    }
    let cargo = Cargo { at, manifest: &manifest };
    draft.setup(cargo.command(&["fetch"], Reach::Lock));
    add_tests(&mut draft, at, &cargo);
    if at.first_of(&["clippy.toml", ".clippy.toml"]).is_some() || has_clippy_lints(&manifest) {
        let run = cargo.command(&["clippy", "--all-targets", "--", "-D", "warnings"], Reach::All);
        draft.check(CheckPurpose::Lint, run, &[], "the project configures clippy");
    }
    if at.first_of(&["rustfmt.toml", ".rustfmt.toml"]).is_some() {
        let run = cargo.command(&["fmt", "--all", "--check"], Reach::Manifest);
        draft.check(CheckPurpose::Format, run, &[], "the project configures rustfmt");
    }
    draft.protect(&["tests/**", "*/tests/**", "*/*/tests/**"]);
    draft.protect(&["rust-toolchain", "rust-toolchain.toml"]);
    // It may name another program that runs the tests.
    draft.protect_also_if_missing(&[".cargo/config.toml", ".cargo/config", ".config/nextest.toml"]);
    if has_tests(at, &["src/**/*.rs", "*/src/**/*.rs", "*/*/src/**/*.rs"]) {
        draft.unsure(
            "tests inside of src/ cannot be protected: they share their files with the code",
        );
    }
    if !at.has("Cargo.lock") {
        draft.unsure("there is no Cargo.lock: each run may get other versions of the dependencies");
    }
    Some(draft.finish())
}

fn add_tests(draft: &mut Draft<'_, '_>, at: &Directory<'_>, cargo: &Cargo<'_>) {
    let has_doc_tests = || at.any_text(&["**/src/**/*.rs"], |text| text.contains("/// ```"));
    if !has_tests(at, &["**/*.rs"]) && !has_doc_tests() {
        let run = cargo.command(&["check", "--all-targets"], Reach::All);
        draft.check(CheckPurpose::Build, run, &[], "no test was found: this only compiles");
        draft.unsure("no Rust file has a test: a check of kind `tests` would find none and fail");
        return;
    }
    let Some((profile, junit)) = nextest_profile(at) else {
        let run = cargo.command(&["test"], Reach::All);
        let why = "unit, integration, and documentation tests";
        draft.check(CheckPurpose::Tests, run, &[], why);
        return;
    };
    let run = cargo.command(&["nextest", "run", "--profile", &profile], Reach::All);
    let results = format!("target/nextest/{profile}/{junit}");
    let why = "nextest has a profile that writes JUnit XML; it runs no documentation tests";
    draft.check(CheckPurpose::Tests, run, &[&results], why);
}

fn has_tests(at: &Directory<'_>, globs: &[&str]) -> bool {
    at.any_text(globs, |text| TEST_MARKS.iter().any(|it| text.contains(it)))
}

/// Puts the words of a command together.
#[derive(Debug)]
struct Cargo<'a> {
    at: &'a Directory<'a>,
    manifest: &'a Manifest,
}

/// What a command of Cargo has to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Where the manifest is.
    Manifest,
    /// That the lock file is obeyed, too.
    Lock,
    /// That it is for all members of a workspace, too.
    All,
}

impl Cargo<'_> {
    /// What is behind `--` stays there.
    fn command(&self, command: &[&str], reach: Reach) -> CommandLine {
        let end = command.iter().position(|it| *it == "--").unwrap_or(command.len());
        let (first, rest) = command.split_at(end);
        let manifest = self.at.join("Cargo.toml");
        let mut told = vec!["cargo"];
        told.extend(first);
        if reach >= Reach::Lock && self.at.has("Cargo.lock") {
            told.push("--locked");
        }
        if reach >= Reach::All && self.manifest.workspace.is_some() {
            told.push("--workspace");
        }
        if !self.at.path().is_empty() {
            told.extend(["--manifest-path", &manifest]);
        }
        told.extend(rest);
        words(told)
    }
}

fn has_clippy_lints(manifest: &Manifest) -> bool {
    let inherited =
        manifest.workspace.as_ref().and_then(|it| it.get("lints")).and_then(toml::Value::as_table);
    manifest.lints.contains_key("clippy") || inherited.is_some_and(|it| it.contains_key("clippy"))
}

/// A profile of nextest that writes JUnit XML, and the file.
fn nextest_profile(at: &Directory<'_>) -> Option<(String, String)> {
    let config: toml::Table = toml::from_str(&at.read(".config/nextest.toml")?).ok()?;
    let profiles = config.get("profile")?.as_table()?;
    profiles.iter().find_map(|(name, profile)| {
        let path = profile.get("junit")?.get("path")?.as_str()?;
        Some((name.clone(), path.to_owned()))
    })
}
