//! Bounds of commands in the tiers that hide the host: each that is hit has a name, and the gate goes on.

use gate_testkit::{Project, TestGate, samples};
use serde_json::{Value, json};

use crate::help::{kinds, wait_until};
use crate::tiers::HIDING;

fn limited(script: &str, limits: Value) -> Value {
    let mut contract = samples::shell(script);
    contract["limits"] = limits;
    contract
}

/// A verdict of a command that hits a limit, and another one after it.
async fn judged(project: &Project, script: &str, limits: Value) -> Value {
    let verdict = project.judge_once(&limited(script, limits), &samples::tiny()).await;
    let next = project.judge_once(&samples::shell("echo next"), &samples::tiny()).await;
    assert_eq!(next["decision"], "PASS", "{next:#}");
    verdict
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_uses_too_much_memory_fails_as_out_of_memory() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("memory", tier).await else { continue };
        let project = gate.project("shop").await;
        // `tail` keeps a line until it has all of it.
        let hog = "head -c 600M /dev/zero | tail -n 1 | wc -c";
        let verdict = judged(&project, hog, json!({ "memory_mb": 64 })).await;
        assert_eq!(verdict["decision"], "FAIL", "{tier}: {verdict:#}");
        assert_eq!(kinds(&verdict), ["out_of_memory"], "{tier}");
        let outcome = &verdict["executions"][0]["outcome"];
        assert_eq!(outcome["out_of_memory_bytes"], 64 << 20, "{tier}: {outcome:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_contained_and_nothing_of_it_is_left() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("bomb", tier).await else { continue };
        let project = gate.project("shop").await;
        let bomb = "bomb() { sleep 61311 & bomb | bomb & }\nbomb\nsleep 61311";
        let limits = json!({ "processes": 40, "command_seconds": 4 });
        let verdict = judged(&project, bomb, limits).await;
        let execution = &verdict["executions"][0];
        assert_eq!(verdict["decision"], "FAIL", "{tier}: {verdict:#}");
        assert_eq!(execution["process_limit_hit"], true, "{tier}: {execution:#}");
        assert!(execution["duration_ms"].as_u64().unwrap() < 30_000, "{tier}: {execution:#}");
        wait_until("no process of it is left", || processes_with("61311") == 0).await;
    }
}

/// Processes of this machine whose command line has this word.
fn processes_with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.map(|it| std::fs::read(it.path().join("cmdline")).unwrap_or_default());
    lines.filter(|it| it.split(|byte| *byte == 0).any(|it| it == word.as_bytes())).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fills_its_disk_fails_and_the_host_keeps_its_room() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("disk", tier).await else { continue };
        let project = gate.project("shop").await;
        let verdict = judged(&project, "head -c 40M /dev/zero >big", json!({ "disk_mb": 8 })).await;
        assert_eq!(verdict["decision"], "FAIL", "{tier}: {verdict:#}");
        assert_eq!(kinds(&verdict), ["disk_limit"], "{tier}");
        let outcome = &verdict["executions"][0]["outcome"];
        assert_eq!(outcome["disk_limit_bytes"], 8 << 20, "{tier}: {outcome:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_of_output_is_cut_at_the_limit_and_fails_as_that() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("flood", tier).await else { continue };
        let project = gate.project("shop").await;
        let limits = json!({ "output_bytes": 1_048_576 });
        let flood = "head -c 1G /dev/zero | tr '\\0' x";
        let verdict = judged(&project, flood, limits).await;
        assert_eq!(verdict["decision"], "FAIL", "{tier}: {verdict:#}");
        assert_eq!(kinds(&verdict), ["output_limit"], "{tier}");
        let execution = &verdict["executions"][0];
        assert_eq!(execution["outcome"]["output_limit_bytes"], 1_048_576);
        assert_eq!(execution["log_bytes"], 1_048_576, "{tier}: what was printed before is kept");
    }
}
