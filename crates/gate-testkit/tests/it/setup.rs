//! Commands that prepare an environment: in the checks' own tree, with a network of their own, and never the reporter's fault.

use gate_testkit::{TestGate, samples};
use serde_json::{Value, json};

use crate::help::{finding, kinds};
use crate::tiers::HIDING;

fn prepared_by(setup: &Value, check: &str) -> Value {
    let mut contract = samples::shell(check);
    contract["environment"] = json!({ "setup": setup });
    contract
}

#[tokio::test(flavor = "multi_thread")]
async fn what_setup_commands_leave_is_there_for_the_checks_and_kept_for_the_next_run_of_the_tree() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("setup", tier).await else { continue };
        let project = gate.project("shop").await;
        let setup = json!([
            { "shell": "mkdir deps\necho 41 >deps/answer\necho home >\"$HOME/mark\"" },
            { "shell": "test -n \"$http_proxy\"\nrm README.md\necho 42 >deps/answer" },
        ]);
        let check = "test \"$(cat deps/answer)\" = 42\ngrep -q home \"$HOME/mark\"\n\
                     test ! -e README.md\ntest -z \"${http_proxy:-}\"\necho 43 >deps/answer";
        let contract = prepared_by(&setup, check);
        let mut uses = Vec::new();
        for workspace in [samples::tiny(), samples::tiny(), samples::files(&[("README.md", "2")])] {
            let verdict = project.judge_once(&contract, &workspace).await;
            assert_eq!(verdict["decision"], "PASS", "{tier}: {verdict:#}");
            assert_eq!(verdict["executions"].as_array().unwrap().len(), 1, "setup is no check");
            uses.push(verdict["isolation_detail"]["setup"].as_str().unwrap().to_owned());
        }
        let overlay = project.judge_once(&samples::shell("true"), &samples::tiny()).await;
        let keeps = overlay["isolation_detail"]["workspace"] == "overlay";
        let second = if keeps { "cached" } else { "run" };
        assert_eq!(uses, ["run", second, "run"], "{tier}: another tree is prepared anew");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_command_that_fails_goes_back_to_the_planner_with_its_last_words() {
    for tier in ["namespace", "landlock", "process"] {
        let Some(gate) = TestGate::start_in_tier("setup_failed", tier).await else { continue };
        let project = gate.project("shop").await;
        let setup = json!([{ "shell": "echo looking for the package >&2\nfalse" }]);
        let contract = prepared_by(&setup, "echo never run");
        let task = project.post_contract(&contract).await;
        let verdict = project.judge(&task, &samples::tiny()).await;
        assert_eq!(verdict["decision"], "INCONCLUSIVE", "{tier}: {verdict:#}");
        assert_eq!(verdict["next_step"], "fix_contract");
        assert_eq!(kinds(&verdict), ["setup_failed"]);
        let finding = finding(&verdict, "setup_failed");
        assert_eq!(finding["blame"], "contract");
        assert!(finding["title"].as_str().unwrap().contains("exited with 1"), "{finding:#}");
        let excerpt = &finding["excerpt"];
        assert_eq!(excerpt["text"], "looking for the package\n", "{tier}: {excerpt:#}");
        assert_eq!(verdict["executions"], json!([]));
        let task = project.orchestrator.read(&format!("/v1/tasks/{task}")).await;
        assert_eq!((&task["rounds"], &task["state"]), (&json!(0), &json!("contract_rejected")));
        let run = verdict["run_id"].as_str().unwrap();
        let run = project.orchestrator.read(&format!("/v1/runs/{run}")).await;
        assert_eq!(run["attempts"], 1, "it would fail again");
    }
}
