//! Files that a command writes for machines to read: they say more exactly than its output what failed.

use gate_testkit::{TestGate, samples};
use serde_json::json;

use crate::help::{finding, kinds};
use crate::tiers::HIDING;

const JUNIT: &str = r#"<testsuites><testsuite name="cart"><testcase classname="cart.Total" name="sums" file="cart.py" line="12"/><testcase classname="cart.Total" name="rounds"><failure message="expected 1.01, got 1.00">cart.py:21: AssertionError</failure></testcase></testsuite></testsuites>"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_prints_little_is_read_by_the_file_that_it_wrote() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("results", tier).await else { continue };
        let project = gate.project("shop").await;
        // What lies there already is what the agent says of its own tests.
        let forged = JUNIT.replace("<failure", "<system-out").replace("</failure", "</system-out");
        let tree = samples::files(&[("junit.xml", JUNIT), ("out/old.xml", &forged)]);
        let mut contract = samples::shell("mkdir -p out/new && cp junit.xml out/new/ && exit 1");
        contract["checks"][0]["kind"] = json!("tests");
        contract["checks"][0]["results"] = json!(["out/**/*.xml"]);
        let verdict = project.judge_once(&contract, &tree).await;
        assert_eq!(verdict["decision"], "FAIL", "{tier}: {verdict:#}");
        assert_eq!(kinds(&verdict), ["test_failed"], "{tier}: {verdict:#}");
        let title = finding(&verdict, "test_failed")["title"].as_str().unwrap().to_owned();
        assert!(title.contains("rounds") && title.contains("expected 1.01"), "{tier}: {title}");
    }
}
