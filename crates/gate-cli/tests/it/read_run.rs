//! `feedback` and `export`: what the gate answers, byte for byte, on standard output or in a file.

use gate_api::ProblemKind;

use crate::bodies::{RUN, problem};
use crate::cli::donegate_at;
use crate::stub::{Answer, Stub};

const TEXT: &str = "**FAIL**\n\n```\na\tb  \n```\n";

#[test]
fn feedback_is_printed_as_the_gate_wrote_it() {
    let stub = Stub::start(|_| Answer::text("text/markdown", TEXT));
    let plain = donegate_at(&stub.url).args(["feedback", RUN]).run();
    assert_eq!((plain.status, &*plain.stdout), (0, TEXT), "{plain:?}");
    let report = donegate_at(&stub.url)
        .args(["feedback", RUN, "--form", "execution_report", "--json"])
        .run();
    assert_eq!(report.json(), serde_json::json!({ "execution_report": TEXT }));
    let path = format!("GET /v1/runs/{RUN}/feedback?form=");
    assert_eq!(stub.lines(), [format!("{path}feedback"), format!("{path}execution_report")]);
}

#[test]
fn an_export_goes_to_standard_output_or_to_a_file() {
    let stub = Stub::start(|_| Answer::text("application/xml", TEXT));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.xml");
    for format in ["junit", "ctrf", "sarif", "github"] {
        let printed = donegate_at(&stub.url).args(["export", RUN, "--format", format]).run();
        assert_eq!((printed.status, &*printed.stdout), (0, TEXT), "{printed:?}");
        let words = ["export", RUN, "--format", format, "--output", file.to_str().unwrap()];
        let written = donegate_at(&stub.url).args(words).run();
        assert_eq!((written.status, &*written.stdout), (0, ""), "{written:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), TEXT);
        let line = format!("GET /v1/runs/{RUN}/export?format={format}");
        assert_eq!(stub.lines()[stub.lines().len() - 2..], [line.clone(), line]);
    }
    let words = ["export", RUN, "--format", "junit", "-o", "/nowhere/report.xml"];
    let refused = donegate_at(&stub.url).args(words).run();
    assert_eq!(refused.status, 64);
    assert!(refused.stderr.contains("cannot write /nowhere/report.xml"), "{refused:?}");
}

#[test]
fn a_run_without_a_verdict_is_refused_in_the_gates_words() {
    let stub = Stub::start(|_| Answer::problem(&problem(ProblemKind::NotFound, &[])));
    let ended = donegate_at(&stub.url).args(["export", RUN, "--format", "junit"]).run();
    assert_eq!((ended.status, &*ended.stdout), (64, ""), "{ended:?}");
    assert!(ended.stderr.contains("request-7"), "{ended:?}");
}
