//! What several ecosystems in one tree, odd manifests, and bounds do to a detection.

use gate_detect::{COMPONENTS_MAX, Detection, Tree, detect};

fn found(files: &[(&str, &str)]) -> Detection {
    detect(&Tree::of(files.iter().copied()))
}

/// `id: command` of every check.
fn checks(files: &[(&str, &str)]) -> Vec<String> {
    found(files).checks().map(|it| format!("{}: {}", it.id, it.run)).collect()
}

const GO_TEST: (&str, &str) = ("a_test.go", "package a");
const JEST: &str = r#"{ "scripts": { "test": "jest" } }"#;

#[test]
fn two_ecosystems_in_one_directory_have_a_check_each() {
    let files = [("go.mod", "module a"), GO_TEST, ("package.json", JEST)];
    assert_eq!(
        checks(&files),
        ["tests: go test -v ./...", "lint: go vet ./...", "tests-node: npm test -- --ci"]
    );
}

#[test]
fn a_makefile_is_asked_only_where_nothing_else_shows_the_tests() {
    let make = ("Makefile", "test:\n\tgo test ./...\n");
    assert_eq!(checks(&[make]), ["tests: make test"]);
    assert_eq!(checks(&[make, ("go.mod", "module a"), GO_TEST]).len(), 2);
    let below = [make, ("api/go.mod", "module a"), ("api/a_test.go", "")];
    assert_eq!(checks(&below)[0], "tests-api: env --chdir=api go test -v ./...");
}

#[test]
fn examples_and_fixtures_are_not_the_project() {
    let files = [
        ("package.json", JEST),
        ("examples/a/package.json", JEST),
        ("test/fixtures/b/go.mod", "module b"),
        ("docs/Cargo.toml", "[package]\nname = 'c'"),
        ("api/tests/fixtures/d/tests/test_d.py", "import pytest"),
        ("api/tests/fixtures/e/E.csproj", "<Project/>"),
    ];
    assert_eq!(checks(&files), ["tests: npm test -- --ci"]);
}

#[test]
fn members_of_a_workspace_are_tested_by_its_root_and_packages_beside_it_by_themselves() {
    let member = [
        ("package.json", r#"{ "workspaces": ["a"], "scripts": { "test": "npm test -ws" } }"#),
        ("a/package.json", JEST),
    ];
    assert_eq!(checks(&member), ["tests: npm test"]);
    let beside = [("package.json", JEST), ("a/package.json", JEST)];
    assert_eq!(
        checks(&beside),
        ["tests: npm test -- --ci", "tests-a: npm --prefix a test -- --ci"]
    );
}

#[test]
fn what_only_looks_like_a_manifest_is_nothing() {
    for files in [
        [("package.json", "{"), ("Cargo.toml", "[")],
        [("pyproject.toml", "[tool.black]\n"), ("README.md", "")],
        [("Cargo.toml", "[profile.dev]\n"), ("Makefile", "CC = gcc\n")],
    ] {
        assert_eq!(found(&files), Detection::default(), "{files:?}");
    }
}

#[test]
fn a_project_without_tests_is_built_and_the_draft_says_so() {
    let detection = found(&[("go.mod", "module a"), ("main.go", "package main")]);
    assert_eq!(detection.checks().next().unwrap().run.to_string(), "go build ./...");
    assert!(detection.components[0].unsure[0].contains("would find none"), "{detection:?}");
}

#[test]
fn the_placeholder_of_npm_init_is_no_test() {
    let script = r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#;
    assert!(!found(&[("package.json", script)]).can_fail());
    let files = [("package.json", script), ("a.test.mjs", "")];
    assert_eq!(checks(&files), ["tests: node --test"]);
}

#[test]
fn a_script_of_an_unknown_runner_counts_by_its_exit_status_only() {
    let script = r#"{ "scripts": { "test": "node check.js" } }"#;
    let detection = found(&[("package.json", script)]);
    let check = detection.checks().next().unwrap();
    assert_eq!(format!("{:?}", check.purpose), "TestsByExit");
}

#[test]
fn a_tree_of_very_many_components_is_cut_and_the_draft_says_so() {
    let paths: Vec<String> = (0..30).map(|it| format!("p{it:02}/package.json")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|it| (it.as_str(), JEST)).collect();
    let detection = found(&files);
    assert_eq!(detection.components.len(), COMPONENTS_MAX);
    assert!(detection.unsure[0].contains("p29"), "{:?}", detection.unsure);
}

#[test]
fn long_paths_give_ids_that_differ_and_fit_a_contract() {
    let long = "x".repeat(80);
    let paths = [format!("{long}/a/package.json"), format!("{long}/b/package.json")];
    let files: Vec<(&str, &str)> = paths.iter().map(|it| (it.as_str(), JEST)).collect();
    let ids: Vec<String> = found(&files).checks().map(|it| it.id.clone()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|it| it.len() <= 64), "{ids:?}");
}

#[test]
fn a_directory_with_odd_letters_is_quoted_in_globs_and_in_commands() {
    let files = [("[id] é/package.json", JEST), ("[id] é/a.test.js", "")];
    let detection = found(&files);
    let component = &detection.components[0];
    assert_eq!(component.checks[0].run.to_words()[..3], ["npm", "--prefix", "[id] é"]);
    assert!(component.protected.iter().any(|it| it.pattern.as_str() == "[[]id[]] é/package.json"));
    assert!(component.checks[0].id.is_ascii());
}
