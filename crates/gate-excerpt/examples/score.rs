//! Reads a directory of real logs with their right answers, prints how many were read rightly, and writes each answer.
//!
//! `cargo run -p gate-excerpt --example score -- CASES [ANSWERS] [--only PREFIX]…`: CASES holds `<name>.log` and
//! `<name>.expect.json`; an answer has the same form as those of other extractors, so that one script compares them.
#![expect(clippy::print_stdout, reason = "a figure on a terminal is what it is for")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use gate_excerpt::read;
use serde_json::{Value, json};

#[path = "../tests/it/cases.rs"]
mod cases;

use cases::{Answer, Case, Score};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = Vec::new();
    let mut only = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--only" => only.extend(arguments.next()),
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let directory = paths.first().ok_or("name the directory of the cases")?;
    let mut score = Score::default();
    for case in cases::all(directory)? {
        if !only.is_empty() && !only.iter().any(|it| case.name.starts_with(it.as_str())) {
            continue;
        }
        let reading = case.with_input(read);
        let answer = Answer::new(&case, &reading);
        score.add(&case, &answer);
        if let Some(answers) = paths.get(1) {
            write(answers, &case, &to_json(&answer))?;
        }
    }
    println!("{score}");
    Ok(())
}

fn write(directory: &Path, case: &Case, answer: &Value) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    fs::write(
        directory.join(format!("{}.json", case.name)),
        serde_json::to_string_pretty(answer)?,
    )?;
    Ok(())
}

/// In the form of the cases' own script.
fn to_json(answer: &Answer) -> Value {
    let errors = answer.errors.iter().map(|it| {
        let file = it.location.as_ref().map(|it| it.file.clone());
        let line = it.location.as_ref().and_then(|it| it.line);
        json!({ "file": file, "line": line, "message": it.message })
    });
    json!({
        "tool": answer.tool,
        "errors": errors.collect::<Vec<_>>(),
        "failing_tests": answer.failing_tests,
        "counts": { "passed": answer.counts.0, "failed": answer.counts.1 },
        "excerpt": answer.excerpt,
        "verdict": if answer.passes { "PASS" } else { "FAIL" },
    })
}
