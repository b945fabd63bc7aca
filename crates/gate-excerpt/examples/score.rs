//! Reads a directory of real logs with their right answers, prints how many were read rightly, and writes each answer.
//!
//! `cargo run -p gate-excerpt --example score -- CASES [ANSWERS] [--only PREFIX]…`: CASES holds `<name>.log` and
//! `<name>.expect.json`; an answer has the same form as those of other extractors, so that one script compares them.
#![expect(clippy::print_stdout, reason = "a figure on a terminal is what it is for")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

#[path = "../tests/it/cases.rs"]
mod cases;

use cases::{Case, Score};

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
        let answer = cases::answer(&case);
        score.add(&case, &answer);
        if let Some(answers) = paths.get(1) {
            write(answers, &case, &answer.to_json())?;
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
