//! What is handed in: a file, a commit, an archive, a directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use gate_core::Sha256Digest;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::bodies::{PASS, TASK, accepted, task};
use crate::cli::{Ended, donegate_at};
use crate::stub::{Answer, Seen, Stub};

const COMMIT: &str = "4f1c9a0b5d2e7f8a6c3b1d0e9f8a7b6c5d4e3f2a";

fn gate() -> Stub {
    Stub::start(|seen: &Seen| {
        if seen.is("GET /v1/tasks/") {
            return Answer::json(200, &task("pending", None));
        }
        if seen.is("PUT /v1/workspaces/") {
            let body = json!({ "sha256": digest(&seen.body).to_string(), "size_bytes": seen.body.len(), "existed": false });
            return Answer::json(201, &body);
        }
        Answer::json(200, &accepted(Some(PASS)))
    })
}

fn digest(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest::from_bytes(Sha256::digest(bytes).into())
}

fn submit(stub: &Stub, rest: &[&str]) -> Ended {
    donegate_at(&stub.url).args([&["submit", "--task", TASK, "--wait"], rest].concat()).run()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_report_without_a_file_says_what_the_arguments_say() {
    let stub = gate();
    let git = ["--git", "https://git.example/shop.git", "--commit", COMMIT, "--summary", "Done"];
    let claims = ["--met", "AC1,AC2", "--not-met", "AC3", "--not-verified", "AC4"];
    let rest = ["--subdirectory", "api", "--deviation", "no sorting"];
    assert_eq!(submit(&stub, &[&git[..], &claims, &rest].concat()).status, 0);
    let expected = json!({
        "status": "success",
        "summary": "Done",
        "workspace": { "git": {
            "url": "https://git.example/shop.git", "commit": COMMIT, "subdirectory": "api",
        } },
        "criteria": [
            { "id": "AC1", "status": "met" },
            { "id": "AC2", "status": "met" },
            { "id": "AC3", "status": "not_met" },
            { "id": "AC4", "status": "not_verified" },
        ],
        "not_verified": [],
        "deviations": ["no sorting"],
    });
    assert_eq!(stub.seen()[0].json(), expected);
}

#[test]
fn a_directory_is_packed_uploaded_and_named_in_the_report() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".git")).unwrap();
    fs::create_dir_all(dir.path().join("target")).unwrap();
    for (name, content) in [(".git/HEAD", "x"), ("target/out", "built"), ("lib.rs", "fn a() {}")] {
        fs::write(dir.path().join(name), content).unwrap();
    }
    let stub = gate();
    let ended = submit(&stub, &["--dir", text(dir.path()), "--met", "AC1"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(ended.stderr.contains("files 2, 14 bytes"), "{ended:?}");

    let seen = stub.seen();
    let hex = digest(&seen[1].body).to_hex();
    assert_eq!(
        stub.lines(),
        [
            format!("GET /v1/tasks/{TASK}"),
            format!("PUT /v1/workspaces/{hex}?project=shop"),
            format!("POST /v1/tasks/{TASK}/reports?wait=50"),
        ]
    );
    assert_eq!(seen[1].header("content-length"), seen[1].body.len().to_string());
    assert_eq!(seen[2].json()["workspace"]["archive"]["sha256"], format!("sha256:{hex}"));
    let mut archive = tar::Archive::new(GzDecoder::new(&seen[1].body[..]));
    let files: BTreeMap<_, _> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            (text(&entry.path().unwrap()).to_owned(), content)
        })
        .filter(|it| !it.1.is_empty())
        .collect();
    let expected = [("lib.rs", "fn a() {}"), ("target/out", "built")];
    assert_eq!(files, expected.map(|it| (it.0.to_owned(), it.1.to_owned())).into());
}

#[test]
fn an_archive_is_uploaded_as_it_is_also_a_large_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("work.zip");
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(&path, &bytes).unwrap();
    let stub = gate();
    let ended = submit(&stub, &["--archive", text(&path), "--subdirectory", "src"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let seen = stub.seen();
    assert!(seen[1].body == bytes);
    assert_eq!(seen[2].json()["workspace"]["archive"]["subdirectory"], "src");
}

#[test]
fn the_workspace_of_the_arguments_completes_a_report_and_does_not_replace_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.yaml");
    fs::write(&report, "status: success\nnot_verified: []\ndeviations: []\n").unwrap();
    let git = ["--git", "https://git.example/a.git", "--commit", COMMIT];
    let stub = gate();
    assert_eq!(submit(&stub, &[&["--report", text(&report)], &git[..]].concat()).status, 0);
    assert_eq!(stub.seen()[0].json()["workspace"]["git"]["commit"], COMMIT);

    let own = "status: success\nnot_verified: []\ndeviations: []\nworkspace: { files: [] }\n";
    fs::write(&report, own).unwrap();
    let ended = submit(&stub, &[&["--report", text(&report)], &git[..]].concat());
    assert_eq!((ended.status, stub.lines().len()), (64, 1));
    assert!(ended.stderr.contains("names a workspace already"), "{ended:?}");
}

#[test]
fn a_report_without_its_form_is_not_sent_and_its_faults_have_lines() {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.json");
    fs::write(&report, "{\n  \"status\": \"done\",\n  \"deviations\": []\n}").unwrap();
    let stub = gate();
    let ended = submit(&stub, &["--report", text(&report)]);
    assert_eq!((ended.status, stub.lines().len()), (64, 0));
    assert!(ended.stderr.contains("report.json:2:3: /status: must be one of"), "{ended:?}");
    assert!(ended.stderr.contains("/not_verified: this field is required"), "{ended:?}");
}

#[test]
fn what_is_not_there_is_named_before_anything_is_sent() {
    let stub = gate();
    for (flag, part) in [("--dir", "is not a directory"), ("--archive", "cannot read")] {
        let ended = submit(&stub, &[flag, "/nowhere/at-all"]);
        assert_eq!((ended.status, stub.lines().len()), (64, 0), "{ended:?}");
        assert!(ended.stderr.contains(part) && ended.stderr.contains("/nowhere/at-all"));
    }
}
