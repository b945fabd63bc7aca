//! `donegate submit`: hand in the workspace, post the report, and wait for the verdict where that is asked for.

use gate_api::{ReportAccepted, RunBody};
use reqwest::header::HeaderValue;

use crate::api_key::ApiKey;
use crate::arguments::{GlobalArguments, SubmitArguments};
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, Progress};
use crate::patience::{self, Patience};
use crate::report::{self, Prepared};
use crate::wait::state_after;
use crate::{render, submission_key};

pub(crate) async fn run(
    arguments: &SubmitArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let client = Client::new(&global.url, &ApiKey::find(global)?)?;
    let key = submission_key::of(arguments.idempotency_key.as_deref())?;
    let progress = output.progress("reading the report and its workspace");
    // Packing blocks this task, and there is no other.
    let prepared = tokio::task::block_in_place(|| report::prepare(arguments))?;
    if let Some(packed) = &prepared.packed {
        progress.note(output, packed);
    }
    let answer = submit(&client, arguments, &prepared, &key, &progress).await;
    drop(progress);
    if let (Err(error), None) = (&answer, &arguments.idempotency_key)
        && error.is_passing()
    {
        let key = key.to_str().unwrap_or_default();
        output
            .note(&format!("repeat with --idempotency-key {key}, so that the report counts once"));
    }
    let accepted = answer?;
    Ok(tell(&accepted, arguments.wait.is_some(), output))
}

async fn submit(
    client: &Client,
    arguments: &SubmitArguments,
    prepared: &Prepared,
    key: &HeaderValue,
    progress: &Progress,
) -> Result<ReportAccepted, CliError> {
    let task = arguments.task;
    if let Some(archive) = &prepared.upload {
        let patience = Patience::new(patience::BRIEF);
        let found = patience::persist(patience, progress, async || client.task(task, 0).await);
        let project = found.await?.project;
        progress.say(&format!("uploading {} bytes", archive.size_bytes));
        let uploading = async || client.upload(&project, archive).await;
        patience::persist(patience, progress, uploading).await?;
    }
    progress.say("posting the report");
    let wait = arguments.wait.unwrap_or_default();
    // The time of the upload is not taken from the time for the verdict.
    let patience = Patience::new(wait);
    let asking = Patience::new(wait.max(patience::BRIEF));
    let posting =
        async || client.submit(task, &prepared.report, key, patience.wait_seconds()).await;
    let mut accepted = patience::persist(asking, progress, posting).await?;
    let waits_for = accepted.run.as_ref().filter(|it| it.verdict.is_none()).map(|it| it.id);
    if let (Some(run), Some(_)) = (waits_for, arguments.wait) {
        let run = patience::until_judged(client, run, patience, progress).await?;
        if let Some(verdict) = &run.verdict {
            // One commit of the gate records the verdict and moves the task.
            accepted.next_step = Some(verdict.next_step);
            accepted.task_state = state_after(verdict.next_step).unwrap_or(accepted.task_state);
        }
        accepted.run = Some(run);
    }
    Ok(accepted)
}

fn tell(accepted: &ReportAccepted, waited: bool, output: Output) -> Exit {
    match (&accepted.run, accepted.next_step) {
        (Some(RunBody { verdict: Some(verdict), .. }), _) => {
            let word = render::decision_word(verdict.decision);
            output.answer(accepted, &render::verdict(verdict), &word);
            Exit::of_verdict(verdict)
        }
        (Some(run), _) => {
            let (id, exit) = (run.id, if waited { Exit::Undecided } else { Exit::Pass });
            let head =
                if waited { render::unjudged_run(run) } else { format!("accepted as run {id}") };
            let text = format!("{head}\nits verdict: donegate wait --run {id}");
            output.answer(accepted, &text, &id);
            exit
        }
        (None, next_step) => {
            let text = match next_step {
                Some(step) => render::routed(step),
                None => "the report was accepted and leads to no run".to_owned(),
            };
            output.answer(accepted, &text, &accepted.report_id);
            Exit::of_unjudged(next_step)
        }
    }
}
