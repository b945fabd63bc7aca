//! Acceptance files: tests that the planner wrote, and that the reporter neither has nor can change.

use gate_testkit::{TestGate, samples};
use serde_json::{Value, json};

use crate::help::{finding, kinds};

const TESTS: &str = "import unittest\nfrom shop import double\n\n\nclass Doubles(unittest.TestCase):\n    def test_three_is_doubled(self):\n        self.assertEqual(double(3), 6)\n";

fn contract(acceptance_files: &Value) -> Value {
    let run = ["python3", "-m", "unittest", "-v", "tests.test_double"];
    let check = json!({ "id": "tests", "kind": "tests", "run": run, "fails_on_baseline": true });
    let mut contract = samples::contract(&check);
    contract["baseline"] =
        samples::files(&[("shop.py", "def double(n):\n    raise NotImplementedError\n")]);
    contract["acceptance_files"] = acceptance_files.clone();
    contract
}

fn brought_along() -> Value {
    samples::files(&[("tests/__init__.py", ""), ("tests/test_double.py", TESTS)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_brings_its_tests_along_and_the_reporters_own_are_never_run() {
    let gate = TestGate::start("acceptance_files").await;
    let project = gate.project("shop").await;
    // Proven on the baseline, which has no test at all.
    let task = project.post_contract(&contract(&brought_along())).await;

    let wrong = samples::files(&[("shop.py", "def double(n):\n    return n + 2\n")]);
    let verdict = project.judge(&task, &wrong).await;
    assert_eq!(
        kinds(&verdict),
        ["test_failed"],
        "that the reporter has no tests is nobody's doing"
    );
    assert_eq!(finding(&verdict, "test_failed")["location"]["file"], "tests/test_double.py");

    let green = TESTS.replace("6", "5");
    let edited = samples::files(&[
        ("shop.py", "def double(n):\n    return n + 2\n"),
        ("tests/test_double.py", &green),
    ]);
    let verdict = project.judge(&task, &edited).await;
    assert_eq!(kinds(&verdict), ["test_failed", "protected_file_changed"]);

    let right = samples::files(&[("shop.py", "def double(n):\n    return n * 2\n")]);
    assert_eq!(project.judge(&task, &right).await["decision"], "PASS");
}

#[tokio::test(flavor = "multi_thread")]
async fn acceptance_files_come_from_what_cannot_change() {
    let gate = TestGate::start("acceptance_sources").await;
    let project = gate.project("shop").await;
    let refused = |it: Value| {
        let (project, contract) = (&project, contract(&it));
        async move { project.orchestrator.post(&project.path("tasks"), &contract).await.pointers() }
    };
    let directory = json!({ "directory": { "path": "/shared/tests" } });
    assert_eq!(refused(directory).await, ["/acceptance_files/directory"]);
    let patch = json!({ "patch": { "diff": "--- a/x\n+++ b/x\n" } });
    assert_eq!(refused(patch).await, ["/acceptance_files/patch"]);
    let unknown = json!({ "archive": { "sha256": "0".repeat(64) } });
    assert_eq!(refused(unknown).await, ["/acceptance_files/archive/sha256"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_rewrites_an_acceptance_file_finds_it_again_as_it_was() {
    let gate = TestGate::start("acceptance_kept").await;
    let project = gate.project("shop").await;
    let mut contract =
        samples::contract(&json!({ "id": "b", "kind": "command", "run": ["sh", "check.sh"] }));
    let first = json!({ "id": "a", "kind": "command", "shell": "echo true > check.sh" });
    contract["checks"] = json!([first, contract["checks"][0]]);
    contract["acceptance_files"] = samples::files(&[("check.sh", "false\n")]);
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!(
        (&verdict["decision"], &verdict["findings"][0]["check"]),
        (&json!("FAIL"), &json!("b"))
    );
}
