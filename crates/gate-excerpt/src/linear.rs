//! A log that is four times as long takes four times the work, for every real log and every parser.

use std::fs;
use std::path::Path;

use gate_core::LogStream;

use crate::clean::work;
use crate::{Input, read};

/// Of the shorter log.
const SHORT_BYTES: usize = 4 * 1024;
/// The longer one is so many times as long.
const TIMES: usize = 4;

fn logs(directory: &Path, into: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            logs(&path, into);
        } else if path.extension().is_some_and(|it| it == "log") {
            into.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

fn lines_read(bytes: &[u8], command: &[String]) -> u64 {
    let input = Input {
        bytes,
        command,
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &["/w"],
        ..Input::default()
    };
    work::lines(|| drop(read(&input)))
}

/// The words that printed the log.
fn words(log: &str) -> Vec<String> {
    let path = format!("{}.expect.json", log.trim_end_matches(".log"));
    let expected: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let command = expected["input"]["command"].as_str().unwrap();
    ["bash", "-c", command].map(str::to_owned).to_vec()
}

/// Named by its command, a tool's parser reads alone; under a script all that recognise the log do.
#[test]
fn the_work_grows_with_the_log_and_no_faster() {
    let mut all = Vec::new();
    logs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut all);
    for (name, log) in all.iter().filter(|it| !it.1.is_empty()) {
        let short = log.repeat(SHORT_BYTES.div_ceil(log.len()));
        let long = short.repeat(TIMES);
        let others =
            [&["make"][..], &["pytest"]].map(|it| it.iter().map(ToString::to_string).collect());
        for command in [words(name)].iter().chain(&others) {
            let (one, four) = (lines_read(&short, command), lines_read(&long, command));
            let allowed = one * TIMES as u64 * 5 / 4 + 10_000;
            assert!(four <= allowed, "{name}, {command:?}: {one} lines, then {four}");
        }
    }
}
