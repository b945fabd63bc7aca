//! Chores of the repository: one word, one chore.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to a terminal")]

mod ci;
mod clients;
mod tidy;
mod tree;

use std::process::ExitCode;

/// A chore's errors are read by a person at once; none is handled.
type AnyError = Box<dyn std::error::Error>;

const USAGE: &str = "usage: cargo xtask <ci | clients | tidy>";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["ci"] => ci::run(tree::root()),
        ["clients"] => clients::run(tree::root()),
        ["tidy"] => tidy(),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tidy() -> Result<(), AnyError> {
    let faults = tidy::faults(tree::root())?;
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults", faults.len()).into()) }
}
