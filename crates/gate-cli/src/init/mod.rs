//! `donegate contract init`: the draft of a contract, from a project's own files.
//!
//! What is there is found by `gate-detect`, and what git says of it by `repository`; `draft` writes it down. The draft
//! is read by the parser of contracts before anybody sees it. No gate is asked.

mod draft;
mod repository;
mod yaml;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use gate_api::body::Format;
use gate_api::contract_document;
use gate_detect::{Detection, Tree, ecosystems};
use serde_json::{Value, json};

use crate::arguments::GlobalArguments;
use crate::client;
use crate::document::Document;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::render::clean;
use draft::Draft;

/// The name of the contract in the project's directory.
const FILE_NAME: &str = "donegate.yaml";

/// Where the draft is made from, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The contract's title; made of the directory's name where none is given
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Where the draft is written to; `-` prints it. `donegate.yaml` in the directory where it is not given
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

/// Looks, writes, and tells.
pub(crate) fn run(
    arguments: &InitArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let schema = client::schema_url(&global.url)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.dir.join(FILE_NAME));
    // Said before the work, and made sure of when it is written.
    if !arguments.force && out.as_os_str() != "-" && out.exists() {
        return Err(CliError::Exists { name: out.display().to_string() });
    }
    let detection = gate_detect::detect(&Tree::walk(&arguments.dir)?);
    if !detection.can_fail() {
        return Err(nothing(&arguments.dir, &detection));
    }
    let draft = Draft {
        schema: &schema,
        title: &title(arguments),
        baseline: &repository::baseline(&arguments.dir),
        detection: &detection,
    };
    let text = draft.text();
    require_valid(&out, &text)?;
    let notes: Vec<String> = draft.notes().map(|it| clean(&it)).collect();
    if out.as_os_str() == "-" {
        output.text("contract", text.as_bytes());
    } else {
        write(&out, &text, arguments.force)?;
        let file = out.display().to_string();
        let body = json!({
            "file": file,
            "components": components(&detection),
            "unsure": notes,
        });
        output.answer(&body, &summary(&file, &detection), &file);
    }
    if !notes.is_empty() {
        output.note(&format!("not sure, so look at it:\n- {}", notes.join("\n- ")));
    }
    Ok(Exit::Pass)
}

fn title(arguments: &InitArguments) -> String {
    if let Some(title) = &arguments.title {
        return title.clone();
    }
    let dir = arguments.dir.canonicalize().unwrap_or_else(|_| arguments.dir.clone());
    let name = dir.file_name().map(|it| it.to_string_lossy().into_owned());
    let name: String = name.unwrap_or_else(|| "the project".to_owned()).chars().take(100).collect();
    format!("Work on {name}")
}

/// There is no contract without a check that can fail.
fn nothing(dir: &Path, detection: &Detection) -> CliError {
    let mut seen: Vec<String> = Vec::new();
    for it in &detection.components {
        seen.push(format!("; {} has no tests and no build", it.shown_by));
    }
    CliError::NothingDetected {
        dir: dir.display().to_string(),
        seen: clean(&seen.concat()),
        known: ecosystems().collect::<Vec<_>>().join(", "),
    }
}

/// What the draft's own parser finds at fault is told, and nothing is written.
fn require_valid(out: &Path, text: &str) -> Result<(), CliError> {
    let Err(error) = contract_document::read(text.as_bytes(), Format::Yaml) else { return Ok(()) };
    let name = out.display().to_string();
    let document = Document { name, format: Format::Yaml, bytes: text.as_bytes().to_vec() };
    let faults = document.faults(error);
    Err(CliError::Draft { name: document.name, faults })
}

fn write(out: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let name = || out.display().to_string();
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(out).and_then(|mut it| it.write_all(text.as_bytes()));
    written.map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::Exists { name: name() },
        _ => CliError::Write { name: name(), source },
    })
}

fn components(detection: &Detection) -> Vec<Value> {
    let components = detection.components.iter().map(|it| {
        json!({
            "ecosystem": it.ecosystem,
            "directory": it.directory,
            "shown_by": it.shown_by,
            "checks": it.checks.iter().map(|it| &it.id).collect::<Vec<_>>(),
        })
    });
    components.collect()
}

fn summary(file: &str, detection: &Detection) -> String {
    let mut lines = vec![format!("{file}: the draft of a contract")];
    for it in &detection.components {
        let checks: Vec<_> = it.checks.iter().map(|it| it.id.as_str()).collect();
        let checks = if checks.is_empty() { "no checks".to_owned() } else { checks.join(", ") };
        lines.push(format!("  {} ({}): {checks}", it.ecosystem, it.shown_by));
    }
    lines.push("Read and edit it: its criteria say nothing yet of this task.".to_owned());
    clean(&lines.join("\n"))
}
