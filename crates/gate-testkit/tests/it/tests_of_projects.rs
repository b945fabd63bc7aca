//! The main job: a report comes back as a verdict that rests on the project's own tests.

use gate_testkit::samples::{self, Repository};
use gate_testkit::{Project, TestGate, has_tool};
use serde_json::{Value, json};

use crate::help::{finding, kinds};

const CARGO_TESTS: &str = "use shop::double;

#[test]
fn nothing_is_doubled() {
    assert_eq!(double(0), 0);
}

#[test]
fn three_is_doubled() {
    assert_eq!(double(3), 6);
}
";

const PYTEST_TESTS: &str = "from shop import double


def test_nothing_is_doubled():
    assert double(0) == 0


def test_three_is_doubled():
    assert double(3) == 6
";

/// What one project calls its files, its tests, and their lines.
struct Language<'a> {
    check: Value,
    library: &'a str,
    test_file: &'a str,
    tests: &'a str,
    wrong: &'a str,
    right: &'a str,
    edited_tests: &'a str,
    failing: (&'a str, u32),
}

/// A first report that is wrong, a second whose tests were edited until green, a third that is right.
async fn three_reports(project: &Project, repository: &Repository, of: &Language<'_>) {
    let receiver = project.receiver().await;
    let baseline = repository.commit(&[]);
    let mut contract = samples::called_back(samples::contract(&of.check), &receiver.url());
    contract["baseline"] = repository.source(&baseline);
    contract["protected"] = json!([of.test_file]);
    let task = project.post_contract(&contract).await;

    let wrong = repository.commit(&[(of.library, of.wrong)]);
    let first = project.judge(&task, &repository.source(&wrong)).await;
    assert_eq!((&first["decision"], &first["next_step"]), (&json!("FAIL"), &json!("rework")));
    let failed = finding(&first, "test_failed");
    let place = json!({ "file": of.test_file, "line": of.failing.1 });
    assert!(failed["title"].as_str().unwrap().contains(of.failing.0), "{failed}");
    assert_eq!(failed["location"]["file"], place["file"], "{failed}");
    assert_eq!(failed["location"]["line"], place["line"], "{failed}");
    assert_eq!(failed["criteria"], json!(["AC1"]));
    assert!(first["feedback"].as_str().unwrap().contains(of.failing.0));

    let edited = repository.commit(&[(of.test_file, of.edited_tests)]);
    let second = project.judge(&task, &repository.source(&edited)).await;
    assert_eq!(second["decision"], "FAIL", "the baseline's tests are run: {second:#}");
    finding(&second, "test_failed");
    let changed = finding(&second, "protected_file_changed");
    assert_eq!(changed["location"]["file"], of.test_file);

    let right = repository.commit(&[(of.library, of.right), (of.test_file, of.tests)]);
    let third = project.judge(&task, &repository.source(&right)).await;
    assert_eq!(third["decision"], "PASS", "{third:#}");
    assert_eq!(third["executions"][0]["tests"], json!({ "passed": 2, "failed": 0, "skipped": 0 }));
    assert_eq!(third["round"], 3, "two FAILs came before");
    assert!(third["tree"].as_str().unwrap_or_default().starts_with("sha256:"));

    let told = receiver.wait_for(4).await;
    let decisions: Vec<_> = told.iter().map(|it| it.body["data"]["decision"].clone()).collect();
    assert_eq!(decisions, [Value::Null, json!("FAIL"), json!("FAIL"), json!("PASS")]);
    assert_eq!(told[0].body["data"]["next_step"], "start", "the contract was proven first");
    let first_told = finding(&told[1].body["data"], "test_failed");
    assert_eq!(first_told["location"]["line"], place["line"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cargo_project_is_judged_by_its_own_tests_and_the_orchestrator_is_told() {
    let gate = TestGate::start("cargo_project").await;
    let project = gate.project("shop").await;
    let repository = Repository::new();
    let _stub = repository.commit(&samples::cargo_project(
        "pub fn double(_n: u32) -> u32 {\n    unimplemented!()\n}\n",
        CARGO_TESTS,
    ));
    let run = ["cargo", "test", "--quiet"];
    let of = Language {
        check: json!({ "id": "tests", "kind": "tests", "run": run, "at_least": 2 }),
        library: "src/lib.rs",
        test_file: "tests/pages.rs",
        tests: CARGO_TESTS,
        wrong: "pub fn double(n: u32) -> u32 {\n    n\n}\n",
        right: "pub fn double(n: u32) -> u32 {\n    2 * n\n}\n",
        edited_tests: "#[test]\nfn a() {}\n#[test]\nfn b() {}\n",
        failing: ("three_is_doubled", 10),
    };
    three_reports(&project, &repository, &of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pytest_project_is_judged_by_its_own_tests_and_the_orchestrator_is_told() {
    if !has_tool(&["pytest", "--version"]) {
        return;
    }
    let gate = TestGate::start("pytest_project").await;
    let project = gate.project("shop").await;
    let repository = Repository::new();
    let _stub = repository.commit(&[
        ("shop.py", "def double(n):\n    raise NotImplementedError\n"),
        ("conftest.py", ""),
        ("test_shop.py", PYTEST_TESTS),
    ]);
    let of = Language {
        check: json!({ "id": "tests", "kind": "tests", "run": ["pytest", "-q"], "at_least": 2 }),
        library: "shop.py",
        test_file: "test_shop.py",
        tests: PYTEST_TESTS,
        wrong: "def double(n):\n    return n\n",
        right: "def double(n):\n    return 2 * n\n",
        edited_tests: "def test_a():\n    pass\n\n\ndef test_b():\n    pass\n",
        failing: ("test_three_is_doubled", 9),
    };
    three_reports(&project, &repository, &of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_green_run_of_no_tests_at_all_fails() {
    let gate = TestGate::start("no_tests").await;
    let project = gate.project("shop").await;
    let workspace = samples::files(&samples::cargo_project("", "#[test]\nfn a() {}\n"));
    let run = ["cargo", "test", "no_test_has_this_name"];
    let check = json!({ "id": "tests", "kind": "tests", "run": run });
    let verdict = project.judge_once(&samples::contract(&check), &workspace).await;
    assert_eq!(verdict["executions"][0]["outcome"], json!({ "exited": 0 }), "{verdict:#}");
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["no_tests_ran"]));

    let check = json!({ "id": "tests", "kind": "tests", "run": ["true"] });
    let verdict = project.judge_once(&samples::contract(&check), &samples::tiny()).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["no_tests_ran"]));
}
