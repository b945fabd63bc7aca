//! `donegate excerpt`: what the gate would say of a log, offline.
//!
//! For people who report a log that was misread, and for trying a matcher. The log is masked before it is read, as in a
//! run.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gate_core::LogStream;
use gate_excerpt::{
    Answer, Asked, Input, Masker, Matcher, Side, command_words, read, read_matchers,
};

use crate::document::{Fault, read_bytes};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// A log, or a file beside it.
const LOG_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A file of matchers.
const MATCHERS_BYTES_MAX: u64 = 1024 * 1024;

/// What is known of the execution whose log it is.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("end").args(["exit_code", "signal", "timed_out"]).required(true))]
pub(crate) struct ExcerptArguments {
    /// The log, both streams in one; `-` reads standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// The command that printed it, such as 'cargo test'
    #[arg(long, value_name = "COMMAND")]
    command: String,
    /// Its exit status, 0 to 255
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..=255))]
    exit_code: Option<i32>,
    /// The signal that ended it, 1 to 64, instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=64))]
    signal: Option<i32>,
    /// It was ended at its time limit, instead
    #[arg(long)]
    timed_out: bool,
    /// Where it ran: cut from every path of the log
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A machine-readable file that it wrote: JUnit XML, TAP, JSON of a runner or linter, SARIF; may be repeated
    #[arg(long, value_name = "FILE")]
    side: Vec<PathBuf>,
    /// A file of patterns in the form of GitHub's problem matchers; may be repeated
    #[arg(long, value_name = "FILE")]
    matcher: Vec<PathBuf>,
    /// The log of the same command on a baseline that passes: what it prints too is no error
    #[arg(long, value_name = "LOG")]
    baseline: Option<PathBuf>,
    /// What a check around it asks
    #[arg(long, value_enum, default_value = "tests")]
    kind: KindWord,
}

/// A kind of check.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum KindWord {
    /// Did tests run, and did all pass?
    Tests,
    /// Did the command end with 0?
    Command,
}

pub(crate) fn run(arguments: &ExcerptArguments, output: Output) -> Result<Exit, CliError> {
    let log = masked(&read_bytes(&arguments.log, LOG_BYTES_MAX)?);
    let baseline = arguments.baseline.as_deref().map(|it| read_bytes(it, LOG_BYTES_MAX));
    let baseline = baseline.transpose()?;
    let matchers = matchers(&arguments.matcher)?;
    let cwd = arguments.cwd.as_deref().unwrap_or(Path::new(""));
    let sides = sides(&arguments.side, cwd)?;
    let sides: Vec<Side<'_>> = sides.iter().map(|(name, bytes)| Side { name, bytes }).collect();
    let root = cwd.to_string_lossy();
    let roots: &[&str] = if root.is_empty() { &[] } else { &[&root] };
    let input = Input {
        bytes: &log,
        command: &command_words(&arguments.command),
        exit_code: arguments.exit_code,
        signal: arguments.signal,
        timed_out: arguments.timed_out,
        stream: LogStream::Merged,
        roots,
        sides: &sides,
        matchers: &matchers,
        baseline: baseline.as_deref(),
    };
    let asked = match arguments.kind {
        KindWord::Tests => Asked::Tests,
        KindWord::Command => Asked::Command,
    };
    let answer = Answer::new(&input, &read(&input), asked);
    let word = if answer.passes { "PASS" } else { "FAIL" };
    output.answer(&answer.to_json(), &answer.feedback, &word);
    Ok(Exit::Pass)
}

fn masked(log: &[u8]) -> Vec<u8> {
    let mut masker = Masker::new();
    let mut masked = Vec::with_capacity(log.len());
    masker.push(log, &mut masked);
    masker.finish(&mut masked);
    masked
}

/// Named by their path below the directory, where they lie in it.
fn sides(paths: &[PathBuf], cwd: &Path) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let read = |path: &PathBuf| {
        let below = path.strip_prefix(cwd).ok().filter(|it| it.is_relative());
        let name = below.or(path.file_name().map(Path::new)).unwrap_or(path);
        Ok((name.to_string_lossy().into_owned(), read_bytes(path, LOG_BYTES_MAX)?))
    };
    paths.iter().map(read).collect()
}

fn matchers(paths: &[PathBuf]) -> Result<Vec<Matcher>, CliError> {
    let mut matchers = Vec::new();
    for path in paths {
        let read = read_matchers(&read_bytes(path, MATCHERS_BYTES_MAX)?);
        matchers.extend(read.map_err(|faults| {
            CliError::Matchers {
                name: path.display().to_string(),
                faults: faults
                    .into_iter()
                    .map(|it| Fault { pointer: it.pointer, detail: it.detail, place: None })
                    .collect(),
            }
        })?);
    }
    Ok(matchers)
}
