//! `donegate contract init`: what it writes, what it tells, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cli::{Ended, donegate};

const PYTEST: [(&str, &str); 3] = [
    ("conftest.py", ""),
    ("shop.py", "A = 1\n"),
    ("tests/test_shop.py", "def test_a():\n    pass\n"),
];

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn init(dir: &Path, more: &[&str]) -> Ended {
    donegate().args(["contract", "init", dir.to_str().unwrap()]).args(more).run()
}

#[expect(clippy::disallowed_methods, reason = "the test plays the planner")]
fn git(dir: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "planner");
        git.env(format!("GIT_{role}_EMAIL"), "planner@example.invalid");
    }
    let ended = git.arg("-C").arg(dir).args(words).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap().trim().to_owned()
}

fn committed(dir: &Path) -> String {
    git(dir, &["init", "--quiet"]);
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--message", "Ask"]);
    git(dir, &["rev-parse", "HEAD"])
}

fn read(path: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_draft_for_every_kind_of_project_is_a_valid_contract() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gate-detect/tests/fixtures");
    let kinds: Vec<PathBuf> =
        fs::read_dir(fixtures).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(kinds.len() > 20);
    let place = tempfile::tempdir().unwrap();
    for (at, kind) in kinds.iter().enumerate() {
        let out = place.path().join(format!("{at}.yaml"));
        let out = out.to_str().unwrap();
        let ended = init(&kind.join("project"), &["--out", out]);
        assert_eq!(ended.status, 0, "{kind:?}: {ended:?}");
        let checked = donegate().args(["contract", "check", out]).run();
        assert_eq!(checked.status, 0, "{kind:?}: {checked:?}");
    }
}

#[test]
fn a_draft_names_its_schema_the_commit_and_what_is_protected() {
    let dir = project(&PYTEST);
    let commit = committed(dir.path());
    git(dir.path(), &["remote", "add", "origin", "https://me:hunter2@git.example/shop.git"]);
    let ended =
        init(dir.path(), &["--title", "Pages: \"all\" #1", "--url", "https://fleet.example/gate"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let file = dir.path().join("donegate.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let first = "# yaml-language-server: $schema=https://fleet.example/gate/v1/schemas/contract";
    assert_eq!(text.lines().next(), Some(first));
    assert!(!text.contains("hunter2"), "{text}");
    let contract = read(&file);
    assert_eq!(contract["title"], "Pages: \"all\" #1");
    assert_eq!(contract["baseline"]["git"]["url"], "https://git.example/shop.git");
    assert_eq!(contract["baseline"]["git"]["commit"], commit.as_str());
    assert_eq!(contract["checks"][0]["kind"], "tests");
    let protected: Vec<_> = contract["protected"].as_array().unwrap().iter().collect();
    assert!(protected.contains(&&Value::from("tests/**")), "{protected:?}");
    assert!(ended.stderr.contains("may not have been pushed"), "{ended:?}");
}

#[test]
fn a_directory_of_a_repository_is_the_workspace() {
    let dir = project(&[("README.md", ""), ("api/conftest.py", ""), ("api/test_a.py", "")]);
    committed(dir.path());
    git(dir.path(), &["remote", "add", "origin", "git@git.example:team/shop.git"]);
    let ended = init(&dir.path().join("api"), &[]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let contract = read(&dir.path().join("api/donegate.yaml"));
    assert_eq!(contract["baseline"]["git"]["subdirectory"], "api");
    assert_eq!(contract["checks"][0]["run"][0], "pytest", "paths are those of the subdirectory");
}

#[test]
fn without_a_baseline_nothing_is_protected_and_the_draft_says_so() {
    for origin in [None, Some("../elsewhere"), Some("ext::sh -c id")] {
        let dir = project(&PYTEST);
        committed(dir.path());
        if let Some(origin) = origin {
            git(dir.path(), &["remote", "add", "origin", origin]);
        }
        let ended = init(dir.path(), &[]);
        assert_eq!(ended.status, 0, "{ended:?}");
        assert!(ended.stderr.contains("nothing is protected"), "{ended:?}");
        let contract = read(&dir.path().join("donegate.yaml"));
        assert_eq!((&contract["baseline"], &contract["protected"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn a_file_that_is_there_is_written_over_only_by_force() {
    let dir = project(&PYTEST);
    let file = dir.path().join("donegate.yaml");
    fs::write(&file, "mine").unwrap();
    let ended = init(dir.path(), &[]);
    assert_eq!(ended.status, 64);
    assert!(ended.stderr.contains("--force"), "{ended:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(init(dir.path(), &["--force"]).status, 0);
    assert!(read(&file)["checks"].is_array());
}

#[test]
fn a_draft_can_be_printed_and_told_as_json() {
    let dir = project(&PYTEST);
    let printed = init(dir.path(), &["--out", "-"]);
    assert!(
        printed.stdout.starts_with("# yaml-language-server: $schema=http://127.0.0.1:8080/v1/")
    );
    assert!(!dir.path().join("donegate.yaml").exists());
    let json = init(dir.path(), &["--json"]).json();
    assert_eq!(json["components"][0]["ecosystem"], "python");
    assert_eq!(json["components"][0]["checks"][0], "tests");
    assert!(!json["unsure"].as_array().unwrap().is_empty());
}

#[test]
fn what_shows_no_tests_is_refused_with_the_kinds_that_are_known() {
    let dir = project(&[("README.md", "x"), ("package.json", "{}")]);
    let ended = init(dir.path(), &[]);
    assert_eq!(ended.status, 64, "{ended:?}");
    assert!(ended.stderr.contains("package.json has no tests and no build"), "{ended:?}");
    assert!(ended.stderr.contains("cargo, go, maven"), "{ended:?}");
    assert_eq!(init(&dir.path().join("nowhere"), &[]).status, 64);
    assert!(!dir.path().join("donegate.yaml").exists());
}

#[test]
fn names_that_would_break_out_of_their_place_do_not() {
    let odd = "a: b # [c]\nchecks: []";
    let script = r#"{ "scripts": { "test": "jest" } }"#;
    let dir = project(&[(&format!("{odd}/package.json"), script)]);
    let ended = init(dir.path(), &["--out", dir.path().join("x.yaml").to_str().unwrap()]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let contract = read(&dir.path().join("x.yaml"));
    assert_eq!(contract["checks"].as_array().unwrap().len(), 1);
    assert_eq!(contract["checks"][0]["run"][2], odd);
}
