//! A verdict as other programs read it: Markdown for the next prompt, JUnit XML, CTRF, SARIF, annotations.

use gate_testkit::{Answer, Setup, TestGate, samples};
use reqwest::Method;
use serde_json::{Value, json};

const FAILING: &str = "use shop::double;

#[test]
fn three_is_doubled() {
    assert_eq!(double(3), 6);
}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_test_comes_back_as_markdown_and_in_every_format() {
    let gate = TestGate::start("exports").await;
    let project = gate.project("shop").await;
    let check = json!({ "id": "tests", "kind": "tests", "run": ["cargo", "test", "--quiet"] });
    let library = "pub fn double(n: u32) -> u32 {\n    n\n}\n";
    let workspace = samples::files(&samples::cargo_project(library, FAILING));
    let verdict = project.judge_once(&samples::contract(&check), &workspace).await;
    let test =
        json!({ "name": "three_is_doubled", "phase": "call", "expected": "6", "actual": "3" });
    assert_eq!(verdict["findings"][0]["test"], test, "{verdict:#}");
    let run = format!("/v1/runs/{}", verdict["run_id"].as_str().unwrap());
    let read = async |path: &str| project.orchestrator.get(&format!("{run}/{path}")).await;
    let text = |answer: &Answer, content_type: &str| {
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)));
        String::from_utf8(answer.body.to_vec()).unwrap()
    };

    let markdown = "text/markdown; charset=utf-8";
    let feedback = text(&read("feedback").await, markdown);
    assert_eq!(verdict["feedback"], feedback.as_str());
    for part in [
        "**FAIL**, round 1 of 3. ",
        "- `tests`: `cargo test --quiet`: exit status 101; 0 passed, 1 failed, 0 skipped\n",
        "- where: `tests/pages.rs:5`\n- expected: `6`\n- actual: `3`\n",
        &format!("`GET {run}/verdict`"),
    ] {
        assert!(feedback.contains(part), "{part}: {feedback}");
    }
    let report = text(&read("feedback?form=execution_report").await, markdown);
    for part in [
        "## What ran\n- `tests`: ",
        "## Not proven\n- AC1: It works (not by `tests`)\n",
        "Took: tests ",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert_eq!(read("feedback?form=poem").await.problem(400), "invalid_parameter");

    // The slice that the text names is there, as it names it.
    let range = feedback.split("`Range: ").nth(1).unwrap().split('`').next().unwrap();
    let request = project.orchestrator.request(Method::GET, &format!("{run}/executions/0/log"));
    let slice = Answer::of(request.header("range", range)).await;
    assert_eq!(slice.status, 206, "{range}");
    assert!(String::from_utf8_lossy(&slice.body).contains("three_is_doubled"), "{slice:?}");

    let junit = text(&read("export?format=junit").await, "application/xml");
    assert!(junit.contains("<testcase name=\"three_is_doubled\" classname=\"tests\" file=\"tests/pages.rs\" line=\"5\">"), "{junit}");
    let ctrf: Value =
        serde_json::from_str(&text(&read("export?format=ctrf").await, "application/json")).unwrap();
    assert_eq!(ctrf["results"]["summary"]["failed"], 1, "{ctrf:#}");
    let sarif: Value =
        serde_json::from_str(&text(&read("export?format=sarif").await, "application/sarif+json"))
            .unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "test_failed", "{sarif:#}");
    let github = text(&read("export?format=github").await, "text/plain; charset=utf-8");
    assert!(github.starts_with("::error file=tests/pages.rs,line=5,"), "{github}");
    assert_eq!(read("export?format=html").await.problem(400), "invalid_parameter");
    assert_eq!(read("export").await.problem(400), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_the_gate_does_not_know_is_read_by_the_operators_pattern() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("matchers.json");
    let matchers = json!({ "problemMatcher": [{ "owner": "hdl", "pattern": [
        { "regexp": "^%E-(\\w+) (\\S+) line (\\d+) -- (.+)$", "code": 1, "file": 2, "line": 3, "message": 4 } ] }] });
    std::fs::write(&path, matchers.to_string()).unwrap();
    let settings = vec![("DONEGATE_MATCHERS", path.to_str().unwrap().to_owned())];
    let setup = Setup { settings, ..Setup::default() };
    let gate = TestGate::start_with("matchers", setup).await;
    let project = gate.project("shop").await;
    let script =
        "echo 'checking'\necho '%E-PIN rtl/top.v line 7 -- no such pin'\necho 'bye'\nexit 2";
    let verdict = project.judge_once(&samples::shell(script), &samples::tiny()).await;
    let finding = &verdict["findings"][0];
    assert_eq!(finding["title"], "PIN: no such pin", "{verdict:#}");
    assert_eq!(
        (&finding["location"]["file"], &finding["location"]["line"]),
        (&json!("rtl/top.v"), &json!(7))
    );
}
