//! What a command printed: kept raw, read by byte range, bounded; and bounded in time.

use gate_testkit::{Answer, Project, TestGate, samples};
use reqwest::Method;
use serde_json::{Value, json};

use crate::help::kinds;

async fn log(project: &Project, verdict: &Value, query: &str, range: Option<&str>) -> Answer {
    let path = format!("{}{query}", verdict["executions"][0]["log_url"].as_str().unwrap());
    let request = project.orchestrator.request(Method::GET, &path);
    Answer::of(range.into_iter().fold(request, |it, range| it.header("range", range))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_kept_to_the_byte_and_read_by_range() {
    let gate = TestGate::start("logs").await;
    let project = gate.project("shop").await;
    let contract = samples::shell("printf 'a\\0b\\377c\\n'\nprintf 'oh no' >&2\nexit 3");
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!(verdict["decision"], "FAIL", "{verdict:#}");
    assert_eq!(verdict["executions"][0]["outcome"], json!({ "exited": 3 }));

    let stdout = log(&project, &verdict, "?stream=stdout", None).await;
    assert_eq!((stdout.status, &stdout.body[..]), (200, &b"a\0b\xffc\n"[..]));
    assert_eq!(stdout.header("content-type"), Some("application/octet-stream"));
    let stderr = log(&project, &verdict, "?stream=stderr", None).await;
    assert_eq!(&stderr.body[..], b"oh no");
    let merged = log(&project, &verdict, "", None).await;
    assert_eq!(merged.body.len(), 11);

    let part = log(&project, &verdict, "?stream=stdout", Some("bytes=1-3")).await;
    assert_eq!((part.status, &part.body[..]), (206, &b"\0b\xff"[..]));
    assert_eq!(part.header("content-range"), Some("bytes 1-3/6"));
    let tail = log(&project, &verdict, "?stream=stdout", Some("bytes=-2")).await;
    assert_eq!((tail.status, &tail.body[..]), (206, &b"c\n"[..]));
    let beyond = log(&project, &verdict, "?stream=stdout", Some("bytes=6-")).await;
    assert_eq!(beyond.problem(416), "range_not_satisfiable");
    let unknown = log(&project, &verdict, "?stream=stdin", None).await;
    assert_eq!(unknown.problem(400), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_the_output_is_masked_wherever_the_gate_shows_it() {
    let gate = TestGate::start("masked_log").await;
    let project = gate.project("shop").await;
    // Over the border of what is masked in one go, and in two writes.
    let script = "head -c 262100 /dev/zero | tr '\\0' .\necho\nprintf 'error: DB_PASSWORD=correct-'\nsleep 0.1\n\
                  cat rest.txt\nexit 1";
    let workspace = samples::files(&[("rest.txt", "horse-7 was refused\n")]);
    let verdict = project.judge_once(&samples::shell(script), &workspace).await;
    let raw = log(&project, &verdict, "", None).await;
    let raw = String::from_utf8(raw.body.to_vec()).unwrap();
    let masked = "error: DB_PASSWORD=*************** was refused\n";
    assert!(raw.ends_with(masked) && !raw.contains("horse"), "{}", &raw[262_000..]);
    assert_eq!(raw.len() as u64, verdict["executions"][0]["log_bytes"].as_u64().unwrap());
    let finding = &verdict["findings"][0];
    assert!(!verdict.to_string().contains("horse"), "{verdict:#}");
    let offset = usize::try_from(finding["excerpt"]["offset"].as_u64().unwrap()).unwrap();
    let first = finding["excerpt"]["text"].as_str().unwrap().lines().next().unwrap();
    assert!(raw[offset..].starts_with(first), "offsets are those of what is stored: {finding:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_bytes_in_the_output_come_into_the_verdict_as_text() {
    let gate = TestGate::start("odd_output").await;
    let project = gate.project("shop").await;
    let receiver = project.receiver().await;
    let script =
        "printf 'error: \\0\\377\\033[31m' >&2\nhead -c 300000 /dev/zero | tr '\\0' x\nexit 1";
    let contract = samples::called_back(samples::shell(script), &receiver.url());
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["command_failed"]));
    let told = receiver.wait_for(1).await;
    assert_eq!(told[0].body["data"]["decision"], "FAIL");
    assert!(verdict.to_string().len() < 40_000, "excerpts are bounded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_prints_too_much_hits_the_output_limit_by_name() {
    let gate = TestGate::start("output_limit").await;
    let project = gate.project("shop").await;
    let mut contract = samples::shell("while :; do echo more and more; done");
    contract["limits"] = json!({ "output_bytes": 65536 });
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["output_limit"]));
    let execution = &verdict["executions"][0];
    assert_eq!(execution["outcome"], json!({ "output_limit_bytes": 65536 }));
    assert!(execution["log_bytes"].as_u64().unwrap() <= 65536, "{execution:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_hits_the_time_limit_by_name() {
    let gate = TestGate::start("time_limit").await;
    let project = gate.project("shop").await;
    let mut contract = samples::shell("echo before\nsleep 611");
    contract["limits"] = json!({ "command_seconds": 1 });
    let verdict = project.judge_once(&contract, &samples::tiny()).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["timed_out"]));
    assert_eq!(verdict["executions"][0]["outcome"], json!({ "timed_out_ms": 1000 }));
    assert_eq!(&log(&project, &verdict, "?stream=stdout", None).await.body[..], b"before\n");
}
