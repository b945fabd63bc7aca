//! The tiers that hide the host: what a verdict tells of them, and what a command meets there.
//!
//! What each tier promises is tried in detail by `gate-exec`; here it is one story of a user's.

use gate_testkit::{Setup, TestGate, lacks_tier, samples};
use serde_json::{Value, json};

/// Those that a gate takes by itself.
pub(crate) const HIDING: [&str; 2] = ["namespace", "landlock"];

fn gaps(detail: &Value) -> Vec<&str> {
    detail["known_gaps"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_takes_the_strongest_tier_by_itself_and_the_verdict_tells_what_held() {
    let setup = Setup { tier: "auto", ..Setup::default() };
    let Some(gate) = TestGate::start_in_tier_with("auto", setup).await else { return };
    let project = gate.project("shop").await;
    let mut contract = samples::shell("test \"$(id -u)\" != 0");
    contract["limits"] = json!({ "command_seconds": 20, "memory_mb": 512, "processes": 50 });
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");
    let detail = &verdict["isolation_detail"];
    assert_eq!(detail["tier"], verdict["isolation"]);
    assert_ne!(detail["kernel_uid"], 0, "{detail:#}");
    assert!(detail["landlock_abi"].as_u64().is_some_and(|it| it >= 6), "{detail:#}");
    assert_eq!(detail["setup"], "none");
    for (name, value) in contract["limits"].as_object().unwrap() {
        assert_eq!(&detail["limits"][name], value, "{name}");
    }
    assert_eq!(
        detail["limits"]["open_files"], 4096,
        "what the contract does not say has a default"
    );
    assert!(gaps(detail).contains(&"the kernel of the host is shared"), "{detail:#}");
    if verdict["isolation"] == "namespace" {
        assert_eq!(detail["loopback"], true);
    } else {
        assert_eq!(
            (&verdict["isolation"], &detail["loopback"]),
            (&json!("landlock"), &json!(false))
        );
        assert!(gaps(detail).iter().any(|it| it.starts_with("no loopback")), "{detail:#}");
        let system = project.orchestrator.read("/v1/system").await;
        lacks_tier("namespace", &system["isolation"]["workers"][0]["unavailable"].to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sees_its_tree_and_its_home_and_nothing_of_the_gate() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("hidden", tier).await else { continue };
        let project = gate.project("shop").await;
        let data = gate.data_dir().display();
        let script = format!(
            "never() {{ if \"$@\" >/dev/null; then echo \"could: $*\"; exit 1; fi; }}\n\
             test -w . && test -w \"$HOME\" && test -w \"$TMPDIR\" && grep -q sample README.md\n\
             never ls {data}\nnever ls {data}/work\nnever cat /etc/shadow\nnever touch /usr/x\n\
             env >variables\nnever grep -e DONEGATE_ADMIN -e DONEGATE_SECRET -e DATABASE_URL variables\n\
             never kill -0 {pid}\nnever cat /proc/{pid}/environ\nnever touch README.md/x",
            pid = std::process::id()
        );
        let verdict = project.judge_once(&samples::shell(&script), &samples::tiny()).await;
        assert_eq!(verdict["decision"], "PASS", "{tier}: {verdict:#}");
        assert_eq!(verdict["isolation"], tier);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_holds_stdout_does_not_spoil_a_pass_in_any_tier() {
    for tier in HIDING {
        let Some(gate) = TestGate::start_in_tier("holder", tier).await else { continue };
        let project = gate.project("shop").await;
        let contract = samples::shell("setsid sleep 61310 &\necho started");
        let verdict = project.judge_once(&contract, &samples::tiny()).await;
        assert_eq!(verdict["decision"], "PASS", "{tier}: {verdict:#}");
        let execution = &verdict["executions"][0];
        assert_eq!(execution["stragglers_killed"], 1, "{tier}: {execution:#}");
        assert!(execution["duration_ms"].as_u64().unwrap() < 30_000, "{execution:#}");
    }
}
