//! Where a workspace comes from: archives of every form, inline files, and what is refused with its name.

use std::io::Write;

use gate_testkit::{Project, TestGate, samples};
use serde_json::json;

use crate::help::{finding, kinds};

const FILE: &str = "ok.txt";

fn tar_with(name: &str) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    // The crate refuses a name that leaves the root, as an attacker's tool would not.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(3);
    header.set_mode(0o644);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &b"yes"[..]).unwrap();
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip_with(name: &str) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(b"yes").unwrap();
    writer.finish().unwrap().into_inner()
}

async fn upload(project: &Project, bytes: &[u8]) -> serde_json::Value {
    let (path, source) = samples::archive(bytes);
    project.orchestrator.put_bytes(&path, bytes).await.expect(201);
    source
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_archive_of_any_form_is_judged_and_has_the_same_tree() {
    let gate = TestGate::start("archives").await;
    let project = gate.project("shop").await;
    let tar = tar_with(FILE);
    let archives =
        [tar.clone(), gzip(&tar), zstd::encode_all(&tar[..], 1).unwrap(), zip_with(FILE)];
    let contract = samples::shell("test \"$(cat ok.txt)\" = yes");
    let inline = project.judge_once(&contract, &samples::files(&[(FILE, "yes")])).await;
    assert_eq!(inline["decision"], "PASS", "{inline:#}");
    for (form, bytes) in ["tar", "tar.gz", "tar.zst", "zip"].into_iter().zip(archives) {
        let source = upload(&project, &bytes).await;
        let verdict = project.judge_once(&contract, &source).await;
        assert_eq!(verdict["decision"], "PASS", "{form}: {verdict:#}");
        assert_eq!(verdict["tree"], inline["tree"], "{form}");
    }
    let (path, _) = samples::archive(&tar);
    let again = project.orchestrator.put_bytes(&path, tar).await.expect(200);
    assert_eq!(again["existed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_whose_digest_differs_is_refused_and_not_kept() {
    let gate = TestGate::start("digest").await;
    let project = gate.project("shop").await;
    let (path, source) = samples::archive(&tar_with(FILE));
    let answer = project.orchestrator.put_bytes(&path, tar_with("other.txt")).await;
    assert_eq!(answer.problem(422), "digest_mismatch");
    let task = project.post_contract(&samples::shell("true")).await;
    let answer = project.post_report(&task, &source).await;
    assert_eq!(answer.problem(422), "report_invalid");
    assert_eq!(answer.pointers(), ["/workspace/archive/sha256"]);
    let malformed = project.orchestrator.put_bytes("/v1/workspaces/abc", "x").await;
    assert_eq!(malformed.problem(400), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_leaves_its_root_fails_with_the_name_of_the_entry() {
    let gate = TestGate::start("traversal").await;
    let project = gate.project("shop").await;
    for (name, bytes) in [
        ("../evil-a.txt", tar_with("../evil-a.txt")),
        ("/tmp/evil-b.txt", gzip(&tar_with("/tmp/evil-b.txt"))),
        ("a/../../evil-c.txt", zip_with("a/../../evil-c.txt")),
    ] {
        let source = upload(&project, &bytes).await;
        let verdict = project.judge_once(&samples::shell("true"), &source).await;
        assert_eq!(
            (&verdict["decision"], kinds(&verdict)),
            (&json!("FAIL"), vec!["source_unusable"])
        );
        let refused = finding(&verdict, "source_unusable");
        assert_eq!(refused["blame"], "reporter");
        assert!(refused["title"].as_str().unwrap().contains(name), "{name}: {refused:#}");
    }
    assert!(!gate.data_dir().join("work/evil-a.txt").exists());
    assert!(!std::path::Path::new("/tmp/evil-b.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_archive_fail_as_the_reporters_fault() {
    let gate = TestGate::start("no_archive").await;
    let project = gate.project("shop").await;
    let bytes = b"this is a letter, not an archive".repeat(40);
    let (path, source) = samples::archive(&bytes);
    let answer = project.orchestrator.put_bytes(&path, bytes).await;
    if answer.status == 422 {
        assert_eq!(answer.problem(422), "archive_invalid");
        return;
    }
    let verdict = project.judge_once(&samples::shell("true"), &source).await;
    assert_eq!((&verdict["decision"], kinds(&verdict)), (&json!("FAIL"), vec!["source_unusable"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn inline_files_keep_their_bytes_and_their_modes() {
    let gate = TestGate::start("inline").await;
    let project = gate.project("shop").await;
    let script = "#!/bin/sh\ntest \"$(od -An -tx1 data.bin | tr -d ' \\n')\" = 00ff80\n";
    let workspace = json!({ "files": [
        { "path": "check.sh", "content": script, "executable": true },
        { "path": "data.bin", "content": "AP+A", "encoding": "base64" },
    ] });
    let check = json!({ "id": "c", "kind": "command", "run": ["./check.sh"] });
    let verdict = project.judge_once(&samples::contract(&check), &workspace).await;
    assert_eq!(verdict["decision"], "PASS", "{verdict:#}");

    let missing = project.judge_once(&samples::contract(&check), &samples::tiny()).await;
    assert_eq!(
        missing["decision"], "FAIL",
        "a program of the workspace is the reporter's to deliver"
    );
    assert_eq!(missing["findings"][0]["blame"], "reporter");
}
