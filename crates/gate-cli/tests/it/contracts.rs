//! `donegate contract check` and `donegate contract publish`.

use std::fs;
use std::path::Path;

use gate_api::{ProblemKind, TaskBody};

use crate::bodies::{RUN, TASK, problem, run, task};
use crate::cli::{donegate, donegate_at};
use crate::stub::{Answer, Stub};

const GOOD: &str = "\
title: Cursor pagination
criteria:
  - { id: AC1, text: A page names the next one, checks: [tests] }
checks:
  - { id: tests, kind: tests, run: [cargo, test] }
";

const FAULTY: &str = "\
title: Cursor pagination
criteria:
  - { id: AC1, text: A page names the next one, checks: [nothing] }
checks:
  - id: tests
    kind: tests
    shell: cargo test || true
";

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_valid_contract_passes_without_a_gate_and_without_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yaml", GOOD);
    let ended = donegate().args(["contract", "check", &file]).run();
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.ends_with("the contract is valid: criteria 1, checks 1\n"), "{ended:?}");
    let ended = donegate().args(["contract", "check", &file, "--json"]).run();
    assert_eq!(ended.json()["valid"], true);
}

#[test]
fn all_faults_are_listed_with_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yaml", FAULTY);
    let ended = donegate().args(["contract", "check", &file]).run();
    assert_eq!(ended.status, 1);
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{ended:?}");
    assert!(lines[0].starts_with(&format!("{file}:7:5: /checks/0/shell: ")), "{ended:?}");
    assert!(lines[1].starts_with(&format!("{file}:3:58: /criteria/0/checks/0: ")), "{ended:?}");
    let json = donegate().args(["--json", "contract", "check", &file]).run().json();
    assert_eq!(json["valid"], false);
    assert_eq!(json["faults"][0]["pointer"], "/checks/0/shell");
    assert_eq!(json["faults"][0]["line"], 7);
}

#[test]
fn json_and_standard_input_are_read_too() {
    let json = "{\n  \"title\": \"x\",\n  \"colour\": 1,\n  \"criteria\": [], \"checks\": []\n}";
    let ended = donegate().args(["contract", "check", "-"]).stdin(json).run();
    assert_eq!(ended.status, 1);
    assert!(ended.stdout.contains("<stdin>:3:3: /colour: "), "{ended:?}");
    assert_eq!(donegate().args(["contract", "check", "-"]).stdin(GOOD).run().status, 0);
}

#[test]
fn what_is_not_even_yaml_is_a_fault_with_its_line() {
    let ended = donegate().args(["contract", "check", "-"]).stdin("title: x\nchecks: [\n").run();
    assert_eq!(ended.status, 1);
    assert!(ended.stdout.starts_with("<stdin>: the body is not YAML: "), "{ended:?}");
    assert!(ended.stdout.contains("line 2 column 9"), "{ended:?}");
}

#[test]
fn a_file_of_unknown_form_asks_for_its_format() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract", GOOD);
    let ended = donegate().args(["contract", "check", &file]).run();
    assert_eq!(ended.status, 64);
    assert!(ended.stderr.contains("--format"), "{ended:?}");
    let ended = donegate().args(["contract", "check", &file, "--format", "yaml"]).run();
    assert_eq!(ended.status, 0);
}

#[test]
fn a_contract_is_published_as_it_was_written_and_its_task_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yml", GOOD);
    let stub = Stub::start(|_| Answer::json(201, &task("pending", None)));
    let ended =
        donegate_at(&stub.url).args(["contract", "publish", &file, "--project", "shop"]).run();
    assert_eq!((ended.status, ended.stdout.trim_end()), (0, TASK));
    assert!(ended.stderr.contains("contract version 1"), "{ended:?}");
    let seen = stub.seen();
    assert_eq!(stub.lines(), ["POST /v1/projects/shop/tasks"]);
    assert_eq!(seen[0].body, GOOD.as_bytes());
    assert_eq!(seen[0].header("content-type"), "application/yaml");
    assert!(!seen[0].header("idempotency-key").is_empty());
}

#[test]
fn a_contract_that_the_gate_could_not_prove_is_published_with_what_to_mend() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yaml", GOOD);
    let stub = Stub::start(|it| {
        if it.is("POST") {
            return Answer::json(201, &task("preflight", None));
        }
        if it.is("GET /v1/runs/") {
            let mut judged = run(Some(("INCONCLUSIVE", "fix_contract")));
            judged.verdict.as_mut().unwrap().feedback = "the check `tests` is vacuous".to_owned();
            return Answer::json(200, &judged);
        }
        let preflight_run_id = Some(RUN.parse().unwrap());
        Answer::json(200, &TaskBody { preflight_run_id, ..task("contract_rejected", None) })
    });
    let publish = ["contract", "publish", &file, "--project", "shop"];
    let ended = donegate_at(&stub.url).args(publish).run();
    assert_eq!((ended.status, ended.stdout.trim_end()), (1, TASK));
    assert!(ended.stderr.contains("the check `tests` is vacuous"), "{ended:?}");
}

#[test]
fn an_amendment_names_the_version_that_it_is_made_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yaml", GOOD);
    let stub = Stub::start(|_| Answer::json(200, &task("pending", None)));
    let words = ["contract", "publish", &file, "--task", TASK, "--if-match", "7"];
    let ended = donegate_at(&stub.url).args(words).args(["--reason", "AC1 was vague"]).run();
    assert_eq!(ended.status, 0, "{ended:?}");
    let line = format!("POST /v1/tasks/{TASK}/contracts?reason=AC1+was+vague");
    assert_eq!(stub.lines(), [line]);
    assert_eq!(stub.seen()[0].header("if-match"), "\"7\"");
}

#[test]
fn the_faults_that_the_gate_finds_have_their_lines_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "contract.yaml", GOOD);
    let faults = [("/checks/0/run", "not in the allow-list"), ("/baseline", "is required here")];
    let stub =
        Stub::start(move |_| Answer::problem(&problem(ProblemKind::ContractInvalid, &faults)));
    let publish = ["contract", "publish", &file, "--project", "shop"];
    let ended = donegate_at(&stub.url).args(publish).run();
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.starts_with("error: The contract does not hold together: "), "{ended:?}");
    let line = format!("  {file}:5:31: /checks/0/run: not in the allow-list\n");
    assert!(ended.stderr.contains(&line), "{ended:?}");
    assert!(ended.stderr.contains("/baseline: is required here"), "{ended:?}");
    let json = donegate_at(&stub.url).args(publish).args(["--json"]).run().json();
    assert_eq!(json["error"]["code"], "contract_invalid");
    assert_eq!(json["error"]["errors"][0]["line"], 5);
}
