//! What continuous integration runs, in order. `.ci/run` prepares the machine and then calls this.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::AnyError;

const BEGIN: &str = "<!-- test-command -->";
const END: &str = "<!-- /test-command -->";

/// Each step is a command line without quoting; the test command is a shell's, for it is what a reader types.
const BEFORE_THE_TESTS: &[&str] = &[
    "cargo fmt --all --check",
    "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings",
    "cargo doc --workspace --no-deps --document-private-items --locked",
];

/// Tools that not every machine has. Which of them did not run is said, at the end too.
const WHERE_INSTALLED: &[(&str, &str)] = &[
    // Not the advisories: what somebody found out today must not turn yesterday's commit red. `cargo deny check` has them.
    ("deny", "cargo deny --all-features --offline check bans licenses sources"),
    ("machete", "cargo machete"),
];

pub(crate) fn run(root: &Path) -> Result<(), AnyError> {
    for line in BEFORE_THE_TESTS {
        step(root, line, &words(line))?;
    }
    let mut missing = Vec::new();
    for (tool, line) in WHERE_INSTALLED {
        if is_installed(root, tool) {
            step(root, line, &words(line))?;
        } else {
            println!("== not run, for cargo-{tool} is not installed: {line}");
            missing.push(*tool);
        }
    }
    let readme = fs::read_to_string(root.join("README.md"))
        .map_err(|error| format!("README.md: {error}"))?;
    let command = test_command(&readme)?;
    step(root, &command, &["bash", "-euo", "pipefail", "-c", &command])?;
    println!(
        "== all passed{}",
        if missing.is_empty() { String::new() } else { format!("; not run: {missing:?}") }
    );
    Ok(())
}

/// The lines of the fenced block between the markers.
fn test_command(readme: &str) -> Result<String, AnyError> {
    let inside = readme
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END))
        .map(|(inside, _)| inside);
    let inside =
        inside.ok_or(format!("README.md has no test command between {BEGIN} and {END}"))?;
    let lines = inside.lines().skip_while(|line| !line.starts_with("```")).skip(1);
    let command: Vec<&str> = lines.take_while(|line| !line.starts_with("```")).collect();
    let command = command.join("\n").trim().to_owned();
    if command.is_empty() {
        return Err(format!("the block between {BEGIN} and {END} of README.md is empty").into());
    }
    Ok(command)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn step(root: &Path, title: &str, words: &[&str]) -> Result<(), AnyError> {
    println!("== {title}");
    let began = Instant::now();
    let status = command(root, words)?.status().map_err(|error| format!("{title}: {error}"))?;
    println!("== {} s", began.elapsed().as_secs());
    if status.success() { Ok(()) } else { Err(format!("failed ({status}): {title}").into()) }
}

fn is_installed(root: &Path, tool: &str) -> bool {
    command(root, &["cargo", tool, "--version"])
        .is_ok_and(|mut it| it.output().is_ok_and(|output| output.status.success()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the steps are commands, and this is the chore that runs them"
)]
fn command(root: &Path, words: &[&str]) -> Result<Command, AnyError> {
    let (program, args) = words.split_first().ok_or("a step without a command")?;
    let mut command = Command::new(program);
    // The queries are checked against what is committed, so that no build needs a server.
    command
        .args(args)
        .current_dir(root)
        .env("SQLX_OFFLINE", "true")
        .env("RUSTDOCFLAGS", "-D warnings")
        // `cargo run` sets it, which cargo-machete takes for a sign that it is not called by Cargo.
        .env_remove("CARGO_PKG_NAME");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_command_is_what_stands_in_the_readme() {
        let readme = format!(
            "# X\n{BEGIN}\n```sh\ncargo test --workspace\n```\n{END}\n```sh\nrm -rf /\n```\n"
        );
        assert_eq!(test_command(&readme).unwrap(), "cargo test --workspace");
    }

    #[test]
    fn a_readme_without_a_test_command_is_an_error() {
        assert!(test_command("# X\n").unwrap_err().to_string().contains(BEGIN));
        assert!(
            test_command(&format!("{BEGIN}\n```sh\n```\n{END}"))
                .unwrap_err()
                .to_string()
                .contains("empty")
        );
    }
}
