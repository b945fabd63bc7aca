//! `donegate contract`: check a contract offline, publish it. Its draft is made in `init`.

use gate_api::body::BodyError;
use gate_api::{TaskBody, TaskStateWord, contract_document};
use serde_json::json;

use crate::api_key::ApiKey;
use crate::arguments::{ContractCommand, ContractFile, GlobalArguments, PublishArguments};
use crate::client::{Amendment, Client};
use crate::document::Document;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, faults_json};
use crate::patience::{self, Patience};
use crate::{init, render, submission_key};

pub(crate) async fn run(
    command: &ContractCommand,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    match command {
        ContractCommand::Init(arguments) => init::run(arguments, global, output),
        ContractCommand::Check(file) => check(file, output),
        ContractCommand::Publish(arguments) => publish(arguments, global, output).await,
    }
}

fn check(file: &ContractFile, output: Output) -> Result<Exit, CliError> {
    let document = Document::read(&file.path, file.format)?;
    match contract_document::read(&document.bytes, document.format) {
        Ok(contract) => {
            let (criteria, checks) = (contract.criteria().len(), contract.checks().len());
            let text = format!(
                "{}: the contract is valid: criteria {criteria}, checks {checks}",
                render::clean(&document.name)
            );
            output.answer(&json!({ "valid": true, "faults": [] }), &text, &"valid");
            Ok(Exit::Pass)
        }
        Err(error) => {
            refuse(&document, error, output);
            Ok(Exit::Fail)
        }
    }
}

/// The faults are the answer of a check: they go to standard output.
fn refuse(document: &Document, error: BodyError, output: Output) {
    let faults = document.faults(error);
    let lines = faults.iter().map(|it| render::fault_line(Some(&document.name), it));
    let text = lines.collect::<Vec<_>>().join("\n");
    let body = json!({ "valid": false, "faults": faults_json(&faults) });
    output.answer(&body, &text, &"invalid");
    output.note(&format!("faults in {}: {}", document.name, faults.len()));
}

async fn publish(
    arguments: &PublishArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let client = Client::new(&global.url, &ApiKey::find(global)?)?;
    let document = Document::read(&arguments.file.path, arguments.file.format)?;
    let key = submission_key::of(None)?;
    let progress = output.progress("publishing the contract");
    let published = patience::persist(Patience::new(patience::BRIEF), &progress, async || {
        match (arguments.task, &arguments.project) {
            (Some(task), _) => {
                // Clap lets no amendment through without these two.
                let if_match = arguments.if_match.unwrap_or_default();
                let reason = arguments.reason.as_deref().unwrap_or_default();
                let amendment = Amendment { task, if_match, reason };
                client.amend(&amendment, &document, &key).await
            }
            (None, project) => {
                let project = project.as_deref().unwrap_or_default();
                client.publish(project, &document, &key).await
            }
        }
    });
    let task = published.await.map_err(|it| it.in_document(&document))?;
    let task = patience::until_proven(&client, task, &progress).await?;
    drop(progress);
    output.note(&format!(
        "published {} of task \"{}\" in project {}",
        render::contract(&task.contract),
        task.title,
        task.project
    ));
    output.answer(&task, &task.id.to_string(), &task.id);
    tell_preflight(&client, &task, output).await
}

/// Whether the gate could prove on the baseline that the contract can judge, where it has a baseline.
async fn tell_preflight(
    client: &Client,
    task: &TaskBody,
    output: Output,
) -> Result<Exit, CliError> {
    let exit = match task.state {
        TaskStateWord::Preflight => {
            output.note("the gate has not proven it on its baseline yet; no report is taken before: `donegate wait` tells");
            return Ok(Exit::Undecided);
        }
        TaskStateWord::ContractRejected => Exit::Fail,
        TaskStateWord::NeedsHuman => Exit::NeedsPerson,
        TaskStateWord::Pending
        | TaskStateWord::Gating
        | TaskStateWord::Done
        | TaskStateWord::Rework
        | TaskStateWord::NeedsInput
        | TaskStateWord::Paused
        | TaskStateWord::Failed
        | TaskStateWord::Aborted => return Ok(Exit::Pass),
    };
    if let Some(run) = task.preflight_run_id {
        let verdict = client.run(run, 0).await?.verdict;
        output.note(&render::clean(&verdict.map(|it| it.feedback).unwrap_or_default()));
    }
    Ok(exit)
}
