//! `donegate feedback` and `donegate export`: the verdict of a run as other programs read it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::arguments::GlobalArguments;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::patience::{self, Patience};

/// Whose text, and which.
#[derive(Debug, Args)]
pub(crate) struct FeedbackArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: Uuid,
    /// Which text: what to fix, or what ran and what that proved before it
    #[arg(long, value_enum, default_value = "feedback")]
    form: FormWord,
}

/// A text for the next prompt.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum FormWord {
    /// What to fix, first cause first
    Feedback,
    /// What ran, what that proved, what it did not, and then what to fix
    ExecutionReport,
}

/// What is exported, and where to.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: Uuid,
    /// The format
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// The file that is written; standard output where none is given
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A format of another tool.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// JUnit XML
    Junit,
    /// CTRF JSON
    Ctrf,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations, as workflow commands of GitHub Actions
    Github,
}

pub(crate) async fn feedback(
    arguments: &FeedbackArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let form = match arguments.form {
        FormWord::Feedback => "feedback",
        FormWord::ExecutionReport => "execution_report",
    };
    let text = fetch(global, output, arguments.run, "feedback", ("form", form)).await?;
    output.text(form, &text);
    Ok(Exit::Pass)
}

pub(crate) async fn export(
    arguments: &ExportArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let format = match arguments.format {
        ExportFormat::Junit => "junit",
        ExportFormat::Ctrf => "ctrf",
        ExportFormat::Sarif => "sarif",
        ExportFormat::Github => "github",
    };
    let text = fetch(global, output, arguments.run, "export", ("format", format)).await?;
    match &arguments.output {
        Some(path) => std::fs::write(path, &text)
            .map_err(|source| CliError::Write { name: path.display().to_string(), source })?,
        None => output.text(format, &text),
    }
    Ok(Exit::Pass)
}

async fn fetch(
    global: &GlobalArguments,
    output: Output,
    run: Uuid,
    what: &str,
    query: (&str, &str),
) -> Result<Vec<u8>, CliError> {
    let client = Client::new(&global.url, &ApiKey::find(global)?)?;
    let progress = output.progress("asking the gate");
    let brief = Patience::new(patience::BRIEF);
    patience::persist(brief, &progress, async || client.run_text(run, what, query).await).await
}
