//! A Makefile with a target for the tests, where nothing else shows them. Its recipe says whether they can be counted.

use std::collections::BTreeMap;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const MAKE: Ecosystem = Ecosystem {
    name: "make",
    directory: |path| directory_of(path, &NAMES),
    read,
    is_last_resort: true,
};

/// In the order in which make looks for them.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const TEST_TARGETS: [&str; 4] = ["test", "tests", "check", "unittest"];
/// Runners whose figures the gate reads, as recipes call them.
const RUNNERS: [&str; 20] = [
    "bats",
    "cargo test",
    "cargo nextest",
    "ctest",
    "dotnet test",
    "go test",
    "gotestsum",
    "jest",
    "mix test",
    "mocha",
    "mvn",
    "node --test",
    "phpunit",
    "prove",
    "py.test",
    "pytest",
    "rspec",
    "unittest",
    "vitest",
    "zig test",
];

fn read(at: &Directory<'_>) -> Option<Component> {
    let file = at.first_of(&NAMES)?;
    let recipes = recipes(&at.read(file)?);
    let mut draft = Draft::new(at, "make", file);
    draft.covers_only_itself();
    let make = |target: &str| at.run_with("-C", &["make", target]);
    let target = TEST_TARGETS.iter().find(|it| recipes.contains_key(**it));
    match target {
        Some(target) => {
            let recipe = &recipes[*target];
            if let Some(runner) = RUNNERS.iter().find(|it| recipe.contains(**it)) {
                let why =
                    format!("the recipe of `{target}` calls {runner}, whose figures are read");
                draft.check(CheckPurpose::Tests, make(target), &[], why);
            } else {
                draft.check(CheckPurpose::TestsByExit, make(target), &[], "no runner that prints figures was seen in its recipe: the exit status is all that counts");
                draft.unsure(format!("`make {target}` passes when its exit status is 0, also when no test was run; make it kind `tests` if it prints TAP or the figures of a known runner"));
            }
        }
        None if recipes.is_empty() => return None,
        None => {
            let target = ["all", "build"].into_iter().find(|it| recipes.contains_key(*it));
            let run = target.map_or_else(|| at.run_with("-C", &["make"]), make);
            draft.check(
                CheckPurpose::Build,
                run,
                &[],
                "no target for tests was found: this only builds",
            );
            draft.unsure(
                "the Makefile has none of the targets test, tests, check: there is no test to run",
            );
        }
    }
    if recipes.contains_key("lint") {
        draft.check(CheckPurpose::Lint, make("lint"), &[], "the Makefile has a target `lint`");
    }
    draft.protect(&["test/**", "tests/**"]);
    // Those that make would take instead of it are removed.
    draft.protect_also_if_missing(&NAMES);
    Some(draft.finish())
}

/// The targets with the commands of their recipes. Of variables and includes nothing is known.
fn recipes(text: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut current: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix('\t') {
            for target in &current {
                let recipe = found.entry(target.clone()).or_default();
                recipe.push_str(command);
                recipe.push('\n');
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default();
        let Some((targets, rest)) = line.split_once(':') else { continue };
        // `A := b` and `A ::= b` are variables, `.PHONY` is no target.
        let is_variable = rest.trim_start_matches(':').starts_with('=') || targets.contains('=');
        if is_variable || line.starts_with([' ', '.']) {
            continue;
        }
        current = targets
            .split_whitespace()
            .filter(|it| !it.contains(['%', '$']))
            .map(str::to_owned)
            .collect();
        let inline = rest.split_once(';').map_or("", |it| it.1);
        for target in &current {
            found.entry(target.clone()).or_default().push_str(inline);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_their_recipes_and_variables_are_none() {
        let text = "CC := gcc\nX ::= y\n.PHONY: test\nall: app\ntest check: app # now\n\t./run\n\tprove -v t\n%.o: %.c\n\tcc\nq: ; echo\n";
        let found = recipes(text);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["all", "check", "q", "test"]);
        assert_eq!(found["test"], "./run\nprove -v t\n");
        assert_eq!(found["q"], " echo");
    }
}
