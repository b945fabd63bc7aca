//! JavaScript and TypeScript with npm, pnpm, yarn, or bun: the package's own script `test`, else the runner that it
//! depends on, else `node --test`.

mod manager;
mod manifest;
mod runner;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::detect::directory_of;
use crate::directory::Directory;
use manager::Manager;
use manifest::Manifest;
use runner::Runner;

pub(crate) const NODE: Ecosystem = Ecosystem {
    name: "node",
    directory: |path| directory_of(path, &["package.json"]),
    read,
    is_last_resort: false,
};

/// Files and directories that hold tests.
const TESTS: [&str; 6] = [
    "**/__tests__/**",
    "**/__snapshots__/**",
    "**/*.{test,spec}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
    "test/**",
    "tests/**",
    "cypress/**",
];
/// What `node --test` looks for by itself.
const NODE_TESTS: [&str; 6] = [
    "**/*.test.{js,cjs,mjs}",
    "**/*-test.{js,cjs,mjs}",
    "**/*_test.{js,cjs,mjs}",
    "**/test-*.{js,cjs,mjs}",
    "**/test.{js,cjs,mjs}",
    "**/test/**/*.{js,cjs,mjs}",
];

fn read(at: &Directory<'_>) -> Option<Component> {
    let manifest: Manifest = serde_json::from_str(&at.read("package.json")?).ok()?;
    let manager = Manager::of(at, &manifest);
    let mut draft = Draft::new(at, "node", "package.json");
    let is_workspace = manifest.workspaces.is_some() || at.has("pnpm-workspace.yaml");
    if !is_workspace {
        draft.covers_only_itself();
    }
    if manifest.has_dependencies() || is_workspace {
        draft.setup(manager.install(at));
        if !manager.has_lock {
            draft.unsure("there is no lock file: each run may get other versions of the packages");
        }
    }
    let runner = add_tests(&mut draft, at, &manifest, &manager);
    for (name, purpose) in [
        ("build", CheckPurpose::Build),
        ("lint", CheckPurpose::Lint),
        ("typecheck", CheckPurpose::Types),
        ("type-check", CheckPurpose::Types),
    ] {
        if manifest.script(name).is_some() {
            let why = format!("package.json has a script `{name}`");
            draft.check(purpose, manager.script(at, name), &[], why);
        }
    }
    draft.protect(&TESTS);
    // The script is the command: who may change it need not change a test. `.npmrc` may name another shell for it.
    draft.protect_also_if_missing(&["package.json", ".npmrc"]);
    if let Some(runner) = runner {
        draft.protect_also_if_missing(runner.configuration());
    }
    draft.protect(&manager::LOCKS);
    Some(draft.finish())
}

fn add_tests(
    draft: &mut Draft<'_, '_>,
    at: &Directory<'_>,
    manifest: &Manifest,
    manager: &Manager,
) -> Option<Runner> {
    if let Some(script) = manifest.test_script() {
        let runner = Runner::last_in(script);
        let (more, results) =
            runner.map_or((&[][..], &[][..]), |it| (it.arguments(), it.results()));
        let run = manager.test(at, more);
        match runner {
            Some(runner) => {
                let why = format!("package.json's script `test` runs {}", runner.name());
                draft.check(CheckPurpose::Tests, run, results, why);
            }
            None if runner::calls_others(script) => {
                draft.check(CheckPurpose::Tests, run, results, "package.json's script `test`");
                draft.unsure("what the script `test` runs in the end was not seen: its figures are read if its runner is a known one");
            }
            None => {
                draft.check(CheckPurpose::TestsByExit, run, results, "package.json's script `test`; its runner is not a known one, so the exit status is all that counts");
                draft.unsure("the script `test` passes when its exit status is 0, also when no test was run; make it kind `tests` if it prints TAP");
            }
        }
        return runner;
    }
    if let Some(runner) = Runner::ALL.into_iter().find(|it| manifest.depends_on(it.package())) {
        let run = manager.execute(at, &[runner.words(), runner.arguments()].concat());
        let why = format!("package.json depends on {} and has no script `test`", runner.name());
        draft.check(CheckPurpose::Tests, run, runner.results(), why);
        return Some(runner);
    }
    if at.has_any(&NODE_TESTS) {
        draft.check(
            CheckPurpose::Tests,
            at.run(&["node", "--test"]),
            &[],
            "there are files that `node --test` finds, and no script `test`",
        );
    } else {
        draft.unsure(
            "package.json has no script `test`, and no known runner is among its dependencies",
        );
    }
    None
}
