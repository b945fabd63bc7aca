//! `donegate wait`: the verdict of a task or of a run.

use gate_api::{NextStepWord, RunBody, TaskBody, TaskStateWord};
use serde_json::json;
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::arguments::{GlobalArguments, WaitArguments};
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::patience::{self, Patience};
use crate::render;

pub(crate) async fn run(
    arguments: &WaitArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    let client = Client::new(&global.url, &ApiKey::find(global)?)?;
    let patience = Patience::new(arguments.timeout);
    match (arguments.run, arguments.task) {
        (Some(run), _) => wait_for_run(&client, run, patience, output).await,
        (None, task) => {
            // Clap lets no call through without a task or a run.
            wait_for_task(&client, task.unwrap_or_default(), patience, output).await
        }
    }
}

async fn wait_for_run(
    client: &Client,
    run: Uuid,
    patience: Patience,
    output: Output,
) -> Result<Exit, CliError> {
    let progress = output.progress("waiting for the verdict");
    let run = patience::until_judged(client, run, patience, &progress).await?;
    drop(progress);
    Ok(tell_run(&run, &run, output))
}

async fn wait_for_task(
    client: &Client,
    task: Uuid,
    patience: Patience,
    output: Output,
) -> Result<Exit, CliError> {
    let progress = output.progress("waiting for the verdict");
    let task = patience::until_settled(client, task, patience, &progress).await?;
    let run = match verdict_of(&task) {
        // A brief time even when the wait is over: the answer is there.
        Some(run) => {
            let brief = Patience::new(patience::BRIEF);
            let asking = async || client.run(run, 0).await;
            Some(patience::persist(brief, &progress, asking).await?)
        }
        None => None,
    };
    drop(progress);
    let body = json!({ "task": task, "run": run });
    Ok(match &run {
        Some(run) => tell_run(run, &body, output),
        None => {
            let word = gate_core::TaskState::from(task.state).as_str();
            output.answer(&body, &render::task(&task), &word);
            Exit::of_state(task.state)
        }
    })
}

fn tell_run(run: &RunBody, body: &impl serde::Serialize, output: Output) -> Exit {
    if let Some(verdict) = &run.verdict {
        let word = render::decision_word(verdict.decision);
        output.answer(body, &render::verdict(verdict), &word);
        return Exit::of_verdict(verdict);
    }
    output.answer(body, &render::unjudged_run(run), &"undecided");
    Exit::Undecided
}

/// The run whose verdict led to the task's state. An older verdict says nothing about where the task stands now.
fn verdict_of(task: &TaskBody) -> Option<Uuid> {
    let of_report = task.last_verdict.as_ref();
    let of_report = of_report.filter(|it| state_after(it.next_step) == Some(task.state));
    let may_be_preflights =
        matches!(task.state, TaskStateWord::ContractRejected | TaskStateWord::NeedsHuman);
    // Ids of runs rise with time.
    of_report.map(|it| it.run_id).max(task.preflight_run_id.filter(|_| may_be_preflights))
}

/// Where a verdict with this next step leaves its task; none for a step that no verdict has.
pub(crate) const fn state_after(next_step: NextStepWord) -> Option<TaskStateWord> {
    match next_step {
        NextStepWord::Complete => Some(TaskStateWord::Done),
        NextStepWord::Rework => Some(TaskStateWord::Rework),
        NextStepWord::NeedsHuman => Some(TaskStateWord::NeedsHuman),
        NextStepWord::FixContract => Some(TaskStateWord::ContractRejected),
        NextStepWord::Resume
        | NextStepWord::AnswerInput
        | NextStepWord::RetryAfter
        | NextStepWord::Stop
        | NextStepWord::Start => None,
    }
}
