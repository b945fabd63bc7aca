//! `excerpt`: what the gate would say of a log, offline.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{Ended, donegate};

/// A real log with its right answer.
fn fixture(tool: &str, name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gate-excerpt/fixtures");
    fixtures.join(tool).join(name)
}

fn excerpt(log: &Path, words: &[&str]) -> Ended {
    donegate().args(["excerpt", log.to_str().unwrap()]).args(words).run()
}

#[test]
fn real_logs_are_told_as_an_agent_would_get_them() {
    let cases = [
        ("pytest", "pytest-assert"),
        ("cargo", "cargo-test-assert"),
        ("generic", "generic-exit1-silent"),
    ];
    for (tool, name) in cases {
        let expected = std::fs::read(fixture(tool, &format!("{name}.expect.json"))).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let input = &expected["input"];
        let (command, code) = (input["command"].as_str().unwrap(), input["exit_code"].to_string());
        let words = [
            "--command",
            command,
            "--exit-code",
            &code,
            "--cwd",
            input["cwd"].as_str().unwrap_or("/"),
        ];
        let log = fixture(tool, &format!("{name}.log"));
        let told = excerpt(&log, &words);
        assert!(told.status == 0 && told.stdout.starts_with("**FAIL**"), "{told:?}");
        let answer = excerpt(&log, &[&words[..], &["--json"]].concat()).json();
        assert_eq!(answer["verdict"], "FAIL");
        assert_eq!(answer["tool"], expected["tool"]);
        for wanted in expected["failing_tests"].as_array().unwrap() {
            let last = wanted.as_str().unwrap().rsplit([':', '>']).next().unwrap().trim();
            assert!(answer["failing_tests"].to_string().contains(last), "{answer:#}");
            assert!(told.stdout.contains(last), "{}", told.stdout);
        }
    }
}

#[test]
fn a_log_comes_on_standard_input_too_and_is_masked() {
    let words =
        ["excerpt", "-", "--command", "deploy --all", "--exit-code", "3", "--kind", "command"];
    let log = "error: DB_PASSWORD=correct-horse-7 was refused\n";
    let told = donegate().args(words).stdin(log).run();
    assert!(told.stdout.contains("DB_PASSWORD=***************"), "{told:?}");
    assert!(!told.stdout.contains("horse"), "{told:?}");
}

#[test]
fn a_side_file_a_matcher_and_a_baseline_change_the_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).unwrap();
        path(name).to_str().unwrap().to_owned()
    };
    let log = write("log", "%E top.v 7 no such pin\nerror: this is always printed\n");
    let log = Path::new(&log);
    let matcher = write(
        "m.json",
        &json!({ "problemMatcher": [{ "owner": "hdl", "pattern": [
        { "regexp": "^%E (\\S+) (\\d+) (.+)$", "file": 1, "line": 2, "message": 3 } ] }] })
        .to_string(),
    );
    let base = ["--command", "hdl", "--exit-code", "1", "--json"];
    let first =
        |words: &[&str]| excerpt(log, &[&base[..], words].concat()).json()["errors"][0].clone();
    let matched = json!({ "file": "top.v", "line": 7, "message": "no such pin" });
    assert_eq!(first(&["--matcher", &matcher]), matched);
    assert_eq!(first(&[])["message"], "error: this is always printed");
    let baseline = write("green", "error: this is always printed\n");
    assert_ne!(first(&["--baseline", &baseline])["message"], "error: this is always printed");
    let junit = r#"<testsuites><testsuite name="s" tests="1" failures="1"><testcase classname="c" name="adds"><failure message="1 != 2"/></testcase></testsuite></testsuites>"#;
    let side = write("junit.xml", junit);
    let answer = excerpt(log, &[&base[..], &["--side", &side]].concat()).json();
    assert!(answer["failing_tests"].to_string().contains("adds"), "{answer:#}");
}

#[test]
fn every_fault_of_a_matcher_file_is_told_and_so_is_a_missing_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("m.json");
    std::fs::write(&file, r#"{ "problemMatcher": [{ "owner": "a" }, 7] }"#).unwrap();
    let words = ["--command", "x", "--exit-code", "1", "--matcher", file.to_str().unwrap()];
    let refused = excerpt(&file, &words);
    assert_eq!(refused.status, 64);
    for part in [
        "/problemMatcher/0/pattern: a list of patterns",
        "/problemMatcher/1: a matcher is an object",
    ] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let endless = excerpt(&file, &["--command", "x"]);
    assert!(endless.status == 64 && endless.stderr.contains("--exit-code"), "{endless:?}");
    for (end, number) in [("--exit-code", "300"), ("--exit-code", "-1"), ("--signal", "999")] {
        let refused = excerpt(&file, &["--command", "x", end, number]);
        assert!(refused.status == 64 && refused.stderr.contains(end), "{refused:?}");
    }
}
