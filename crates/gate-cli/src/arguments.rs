//! The command line: its words, their help, and the rules between them. Nothing is done here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::demo::DemoArguments;
use crate::excerpt::ExcerptArguments;
use crate::exit;
use crate::healthcheck::HealthcheckArguments;
use crate::init::InitArguments;
use crate::operate::KeysCommand;
use crate::read_run::{ExportArguments, FeedbackArguments};
use crate::serve::ServeArguments;

/// The longest time that one call waits.
const WAIT_SECONDS_MAX: u64 = 7 * 24 * 3600;

/// Donegate: "done" is a verdict, not a sentence.
#[derive(Debug, Parser)]
#[command(name = "donegate", version, after_help = exit::TABLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    /// Where the gate is
    #[arg(long, global = true, env = "DONEGATE_URL", default_value = "http://127.0.0.1:8080")]
    #[arg(help_heading = "Gate", value_name = "URL")]
    pub(crate) url: String,
    /// The API key. Other users of this machine can see the arguments of a process: better use the variable, or --key-file
    #[arg(long, global = true, env = "DONEGATE_KEY", hide_env_values = true)]
    #[arg(help_heading = "Gate", value_name = "KEY")]
    pub(crate) key: Option<ApiKey>,
    /// A file that holds the API key and nothing else
    #[arg(long, global = true, env = "DONEGATE_KEY_FILE")]
    #[arg(help_heading = "Gate", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Print one JSON document instead of text for people
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print only the answer, in one word
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Draft, check, or publish contracts
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Report that work is done, and learn the verdict
    Submit(Box<SubmitArguments>),
    /// Wait for the verdict of a task or a run
    Wait(WaitArguments),
    /// Print the verdict of a run as Markdown for the next prompt
    Feedback(FeedbackArguments),
    /// Print or write the verdict of a run in the format of another tool
    Export(ExportArguments),
    /// Say offline what the gate would say of a log
    Excerpt(Box<ExcerptArguments>),
    /// Run a gate: API, workers, callbacks, and, without `DATABASE_URL`, its own PostgreSQL
    Serve(ServeArguments),
    /// Show what a gate does, on real input that it makes itself
    Demo(DemoArguments),
    /// Say what this machine can do: isolation tiers, and the programs that a gate uses
    Doctor,
    /// Bring the schema of `DATABASE_URL` up to date
    Migrate,
    /// Ask the gate on this machine whether it is alive; for a container's health check
    Healthcheck(HealthcheckArguments),
    /// Print the OpenAPI document
    Openapi,
    /// Make, list, or revoke the API keys of a project
    #[command(subcommand)]
    Keys(KeysCommand),
}

/// What is to be done with a contract.
#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Draft a contract from a project's own files, without a gate
    Init(InitArguments),
    /// List all faults of a contract, without a gate
    Check(ContractFile),
    /// Publish a contract: as a new task, or as a new version of a task's contract
    Publish(PublishArguments),
}

/// A contract document.
#[derive(Debug, Args)]
pub(crate) struct ContractFile {
    /// The contract, YAML or JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// How it is written; told by the file's extension where this is not given
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatWord>,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatWord {
    /// YAML
    Yaml,
    /// JSON
    Json,
}

/// Where a contract goes.
#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    #[command(flatten)]
    pub(crate) file: ContractFile,
    /// The project that gets a new task
    #[arg(long, value_name = "SLUG", required_unless_present = "task", conflicts_with = "task")]
    pub(crate) project: Option<String>,
    /// The task that gets a new version of its contract
    #[arg(long, value_name = "ID", requires_all = ["if_match", "reason"])]
    pub(crate) task: Option<Uuid>,
    /// The task's `version` that the amendment is made for; a task that has moved since is refused
    #[arg(long, value_name = "VERSION", requires = "task")]
    pub(crate) if_match: Option<u64>,
    /// Why the contract is amended
    #[arg(long, value_name = "TEXT", requires = "task")]
    pub(crate) reason: Option<String>,
}

/// A completion report.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("workspace").args(["git", "archive", "dir"]))]
#[command(group = clap::ArgGroup::new("content").args(["report", "git", "archive", "dir"]).required(true).multiple(true))]
pub(crate) struct SubmitArguments {
    /// The task that the report answers
    #[arg(long, value_name = "ID")]
    pub(crate) task: Uuid,
    /// The report, JSON or YAML; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Wait for the verdict, 50s where no time is given
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "50s")]
    #[arg(value_parser = read_wait)]
    pub(crate) wait: Option<Duration>,
    /// Names this submission: repeated with the same key, it counts once. Made up where none is given
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArguments,
    #[command(flatten)]
    pub(crate) claims: ClaimArguments,
}

/// The exact thing to judge; added to the report of --report, or the start of a new one.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArguments {
    /// Judge a commit of this repository
    #[arg(long, value_name = "URL", requires = "commit", help_heading = "Workspace")]
    pub(crate) git: Option<String>,
    /// The full commit id
    #[arg(long, value_name = "SHA", requires = "git", help_heading = "Workspace")]
    pub(crate) commit: Option<String>,
    /// Upload and judge this archive: tar, tar.gz, tar.zst, or zip
    #[arg(long, value_name = "FILE", help_heading = "Workspace")]
    pub(crate) archive: Option<PathBuf>,
    /// Pack, upload, and judge this directory: everything in it but what is named `.git`
    #[arg(long, value_name = "DIR", help_heading = "Workspace")]
    pub(crate) dir: Option<PathBuf>,
    /// The directory of the repository or archive that is the workspace
    #[arg(long, value_name = "PATH", requires = "workspace", help_heading = "Workspace")]
    pub(crate) subdirectory: Option<String>,
}

/// The claims of a report without a file. Pasted evidence needs --report.
#[derive(Debug, Args)]
pub(crate) struct ClaimArguments {
    /// What was done, for people
    #[arg(long, value_name = "TEXT", conflicts_with = "report", help_heading = "Claims")]
    pub(crate) summary: Option<String>,
    /// Criteria that are met, such as AC1,AC2
    #[arg(long, value_name = "IDS", value_delimiter = ',', help_heading = "Claims")]
    #[arg(conflicts_with = "report")]
    pub(crate) met: Vec<String>,
    /// Criteria that are not met
    #[arg(long, value_name = "IDS", value_delimiter = ',', help_heading = "Claims")]
    #[arg(conflicts_with = "report")]
    pub(crate) not_met: Vec<String>,
    /// Criteria that nobody looked at
    #[arg(long, value_name = "IDS", value_delimiter = ',', help_heading = "Claims")]
    #[arg(conflicts_with = "report")]
    pub(crate) not_verified: Vec<String>,
    /// Where the work differs from the contract; may be repeated
    #[arg(long, value_name = "TEXT", conflicts_with = "report", help_heading = "Claims")]
    pub(crate) deviation: Vec<String>,
}

/// What is waited for.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["task", "run"]).required(true))]
pub(crate) struct WaitArguments {
    /// The task
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<Uuid>,
    /// The run, instead of a task
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<Uuid>,
    /// How long: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = read_wait)]
    pub(crate) timeout: Duration,
}

impl Arguments {
    /// Reads the command line. Help and version are errors of clap, too.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        let typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        // What was typed goes before what stands in the environment.
        match (typed("key"), typed("key_file")) {
            (true, true) => {
                let kind = clap::error::ErrorKind::ArgumentConflict;
                return Err(Self::command().error(kind, "give --key or --key-file, not both"));
            }
            (true, false) => arguments.global.key_file = None,
            (false, true) => arguments.global.key = None,
            (false, false) => {}
        }
        Ok(arguments)
    }
}

/// Why a text is not a time to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum WaitError {
    #[error("a time is a number with its unit: 90s, 10m, 2h")]
    Form,
    #[error("{WAIT_SECONDS_MAX} seconds are the longest wait")]
    TooLong,
}

/// Seconds where no unit is given.
fn read_wait(text: &str) -> Result<Duration, WaitError> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(WaitError::Form),
    };
    if number.is_empty() {
        return Err(WaitError::Form);
    }
    let number: u64 = number.parse().or(Err(WaitError::TooLong))?;
    let seconds = number.saturating_mul(unit_seconds);
    if seconds > WAIT_SECONDS_MAX {
        return Err(WaitError::TooLong);
    }
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "01990000-0000-7000-8000-000000000001";

    fn read(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::read(["donegate"].iter().chain(words).map(OsString::from))
    }

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_time_has_a_unit_and_a_bound() {
        assert_eq!(read_wait("50s"), Ok(Duration::from_secs(50)));
        assert_eq!(read_wait("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(read_wait("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(read_wait("0"), Ok(Duration::ZERO));
        for text in ["", "s", "-1s", "1.5h", "10 m", "10d", "s10"] {
            assert_eq!(read_wait(text), Err(WaitError::Form), "{text}");
        }
        for text in ["99999999999999999999s", "18446744073709551615h", "169h"] {
            assert_eq!(read_wait(text), Err(WaitError::TooLong), "{text}");
        }
    }

    #[test]
    fn a_wait_without_a_time_is_fifty_seconds() {
        for (words, seconds) in [(&["--wait"][..], Some(50)), (&["--wait", "2m"], Some(120))] {
            let words = [&["submit", "--task", TASK, "--report", "-"], words].concat();
            let Command::Submit(submit) = read(&words).unwrap().command else { panic!() };
            assert_eq!(submit.wait.map(|it| it.as_secs()), seconds);
        }
    }

    #[test]
    fn a_report_comes_from_somewhere_and_from_one_place() {
        let submit = ["submit", "--task", TASK];
        for rest in [
            &["--summary", "x"][..],
            &["--dir", "a", "--archive", "b"],
            &["--git", "https://git.example/a.git"],
            &["--report", "-", "--met", "AC1"],
            &["--report", "-", "--subdirectory", "a"],
        ] {
            assert!(read(&[&submit, rest].concat()).is_err(), "{rest:?}");
        }
        for rest in [&["--report", "-", "--dir", "."][..], &["--dir", ".", "--met", "AC1,AC2"]] {
            read(&[&submit, rest].concat()).unwrap();
        }
    }

    #[test]
    fn an_amendment_names_its_version_and_its_reason() {
        let publish = ["contract", "publish", "c.yaml"];
        for rest in [
            &[][..],
            &["--task", TASK],
            &["--task", TASK, "--if-match", "3"],
            &["--project", "shop", "--reason", "x"],
            &["--project", "shop", "--task", TASK, "--if-match", "3", "--reason", "x"],
        ] {
            assert!(read(&[&publish, rest].concat()).is_err(), "{rest:?}");
        }
        read(&[&publish[..], &["--task", TASK, "--if-match", "3", "--reason", "x"]].concat())
            .unwrap();
    }

    #[test]
    fn a_key_is_given_once_and_never_shown() {
        let words = ["--key", "dg_secret", "--key-file", "key", "wait", TASK];
        let error = read(&words).unwrap_err().to_string();
        assert!(!error.contains("dg_secret"), "{error}");
        let arguments = read(&["wait", TASK, "--key", "dg_secret"]).unwrap();
        assert!(arguments.global.key.is_some() && arguments.global.key_file.is_none());
        assert!(!format!("{arguments:?}").contains("dg_secret"));
    }
}
