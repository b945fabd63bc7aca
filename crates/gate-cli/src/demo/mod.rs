//! `donegate demo`: a complete gate on real input, in one minute: an agent says "done" three times, and once it is true.

mod receiver;
mod repository;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gate_api::{
    ClaimBody, ClaimStatusWord, CreateApiKey, CreateProject, GitSourceBody, ReportAccepted, Role,
    SourceBody, SubmitReport, TaskBody, TaskStateWord,
};
use gate_api::{ReportStatusWord, body::Format};
use gate_server::{ApiKeySecret, Config, TierChoice};
use reqwest::header::HeaderValue;
use tokio::time::timeout;
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::client::Client;
use crate::document::Document;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::patience;
use crate::render;
use crate::serve::{self, Running, ServeArguments};
use receiver::Receiver;
use repository::Repository;

pub(crate) use repository::RepositoryError;

/// A verdict of the demo's three tests, on a slow machine.
const VERDICT_PATIENCE: Duration = Duration::from_secs(300);
const CALLBACK_PATIENCE: Duration = Duration::from_secs(30);

/// What the demo is told.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArguments {
    /// End when the story is told, instead of serving until Ctrl-C
    #[arg(long)]
    pub(crate) exit: bool,
    /// Where the API listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Where the demo's gate keeps its files; by default `demo` in the data directory of `serve`
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Why the story was not told to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("cannot make the demo's repository")]
    Repository(#[from] RepositoryError),
    #[error("cannot use the demo's own files")]
    Files(#[from] io::Error),
    #[error("{step}: expected {expected}, got {got}")]
    Unexpected { step: &'static str, expected: &'static str, got: String },
    #[error("no callback came within {} s", CALLBACK_PATIENCE.as_secs())]
    NoCallback,
    #[error("the callback {id} is not to be believed: {reason}")]
    Forged { id: String, reason: String },
}

/// Tells the story, then serves until it is asked to stop.
pub(crate) async fn run(arguments: &DemoArguments, output: Output) -> Result<Exit, CliError> {
    let secret = ApiKeySecret::generate();
    let config = config(arguments, &secret)?;
    gate_server::log_to_stderr(&config.log);
    let scratch = tempfile::tempdir().map_err(DemoError::from)?;
    output.say("Donegate: \"done\" is a verdict, not a sentence.\n");
    output.say("Starting a gate of its own: PostgreSQL, API, worker, callbacks …");
    let running = serve::start(config).await?;
    let told = tell(&running, &secret, scratch.path(), output).await;
    if told.is_ok() && !arguments.exit {
        let address = running.gate.address();
        output
            .say(&format!("\nServing on http://{address} until Ctrl-C. Try the lines above with"));
        output.say(&format!("  export KEY={}", secret.expose()));
        output.say(&format!("  curl -H \"Authorization: Bearer $KEY\" http://{address}/v1/projects\nThe API is described at http://{address}/docs"));
        running.until_signal().await?;
        return Ok(Exit::Pass);
    }
    running.stop().await?;
    told?;
    Ok(Exit::Pass)
}

fn config(arguments: &DemoArguments, secret: &ApiKeySecret) -> Result<Config, CliError> {
    let serve = ServeArguments { role: None, listen: Some(arguments.listen), data_dir: None };
    let mut config = serve::read_config(&serve)?;
    config.data_dir = arguments.data_dir.clone().unwrap_or_else(|| config.data_dir.join("demo"));
    config.blobs_url = config.data_dir.join("blobs").to_string_lossy().into_owned();
    config.admin_key = Some(secret.clone());
    // The demo runs its own three tests, which need not be walled in to be shown.
    if config.sandbox.tier == TierChoice::Auto {
        config.sandbox.tier = TierChoice::AutoOrProcess;
    }
    if std::env::var_os("DONEGATE_LOG").is_none() {
        "warn".clone_into(&mut config.log.filter);
    }
    Ok(config)
}

/// The whole story; each step is one that an orchestrator would take.
async fn tell(
    running: &Running,
    secret: &ApiKeySecret,
    scratch: &Path,
    output: Output,
) -> Result<(), CliError> {
    let base = format!("http://{}", running.gate.address());
    let admin = Client::new(&base, &ApiKey::from(secret.expose().to_owned()))?;
    let repository = Repository::make(scratch.join("shop")).map_err(DemoError::from)?;
    output.say(&format!(
        "\n1. The work: a git repository with a Cargo project and three tests\n   {}",
        repository.url()
    ));
    // The time in milliseconds, in hex: a demo directory can be used again.
    let slug = format!("demo-{}", &Uuid::now_v7().simple().to_string()[..12]);
    let created = admin.create_project(&CreateProject { slug: slug.clone(), weight: None }).await?;
    let body = CreateApiKey {
        name: "orchestrator".to_owned(),
        roles: vec![Role::Orchestrator],
        expires_at: None,
    };
    let key = admin.create_key(&slug, &body).await?.secret;
    let mut receiver = Receiver::listen(&created.callback_secret).await.map_err(DemoError::from)?;
    let client = Client::new(&base, &ApiKey::from(key))?;
    let mut story =
        Story { client: &client, base: &base, scratch, output, receiver: &mut receiver };
    let task = story.publish(&slug, &repository).await?;
    let first = Act {
        number: 3,
        name: "first",
        intro: "The agent says \"done\". Its own claim: all criteria met.",
        commit: &repository.wrong,
        expected: "FAIL",
    };
    story.report(&task, &first, &repository).await?;
    let second = Act {
        number: 4,
        name: "second",
        intro: "It edits the failing test until it is green, and says \"done\" again. The gate runs the contract's own tests.",
        commit: &repository.tampered,
        expected: "FAIL",
    };
    story.report(&task, &second, &repository).await?;
    let third = Act {
        number: 5,
        name: "third",
        intro: "It fixes the code, and says \"done\" a third time.",
        commit: &repository.right,
        expected: "PASS",
    };
    story.report(&task, &third, &repository).await
}

/// What every step needs.
struct Story<'a> {
    client: &'a Client,
    base: &'a str,
    scratch: &'a Path,
    output: Output,
    receiver: &'a mut Receiver,
}

/// One report of the agent.
struct Act<'a> {
    number: u32,
    name: &'static str,
    intro: &'static str,
    commit: &'a str,
    expected: &'static str,
}

impl Story<'_> {
    async fn publish(&mut self, slug: &str, repository: &Repository) -> Result<TaskBody, CliError> {
        let path = self.scratch.join("contract.yaml");
        let text = contract(repository, &self.receiver.url());
        std::fs::write(&path, &text).map_err(DemoError::from)?;
        self.output.say("\n2. The contract: what done means, and the command that shows it\n");
        self.output.say(&indent(&text));
        let url = format!("{}/v1/projects/{slug}/tasks", self.base);
        self.curl(&url, "application/yaml", &path);
        let document =
            Document { name: path.display().to_string(), format: Format::Yaml, bytes: text.into() };
        let key = HeaderValue::from_static("demo-contract");
        let task = self.client.publish(slug, &document, &key).await?;
        self.output.say(&format!("   → 201, task {}", task.id));
        let progress = self.output.progress("cargo test runs on the baseline");
        let task = patience::until_proven(self.client, task, &progress).await?;
        drop(progress);
        if task.state != TaskStateWord::Pending {
            let got = gate_core::TaskState::from(task.state).as_str().to_owned();
            return Err(
                DemoError::Unexpected { step: "preflight", expected: "pending", got }.into()
            );
        }
        self.output.say("   Before an agent gets it, the gate proves that it can say no: on the untouched baseline the tests fail.");
        self.callback().await?;
        Ok(task)
    }

    async fn report(
        &mut self,
        task: &TaskBody,
        act: &Act<'_>,
        repository: &Repository,
    ) -> Result<(), CliError> {
        let report = report(repository, act.commit);
        let path = self.scratch.join(format!("{}.json", act.name));
        let text = serde_json::to_string_pretty(&report).map_err(io::Error::other);
        let text = text.map_err(DemoError::from)?;
        std::fs::write(&path, text).map_err(DemoError::from)?;
        self.output.say(&format!("\n{}. {}\n", act.number, act.intro));
        let url = format!("{}/v1/tasks/{}/reports?wait=60", self.base, task.id);
        self.curl(&url, "application/json", &path);
        let accepted = self.submit(task, &report, act).await?;
        let verdict = accepted.run.and_then(|it| it.verdict);
        let verdict = verdict.ok_or(DemoError::Unexpected {
            step: act.name,
            expected: act.expected,
            got: "no verdict".to_owned(),
        })?;
        self.output.say(&indent(&render::verdict(&verdict)));
        let word = render::decision_word(verdict.decision).to_string();
        if word != act.expected {
            let unexpected =
                DemoError::Unexpected { step: act.name, expected: act.expected, got: word };
            return Err(unexpected.into());
        }
        self.callback().await
    }

    async fn submit(
        &self,
        task: &TaskBody,
        report: &SubmitReport,
        act: &Act<'_>,
    ) -> Result<ReportAccepted, CliError> {
        let key = HeaderValue::from_static(act.name);
        let ends = tokio::time::Instant::now() + VERDICT_PATIENCE;
        let progress = self.output.progress("cargo test runs in a workspace of its own");
        loop {
            // Under one key the report counts once, however often we ask what became of it.
            let accepted = self.client.submit(task.id, report, &key, 30).await?;
            let is_decided = accepted.run.as_ref().is_none_or(|it| it.verdict.is_some());
            if is_decided || tokio::time::Instant::now() >= ends {
                drop(progress);
                return Ok(accepted);
            }
        }
    }

    /// The verdict also comes by itself, signed.
    async fn callback(&mut self) -> Result<(), CliError> {
        let received = timeout(CALLBACK_PATIENCE, self.receiver.next()).await;
        let received = received.ok().flatten().ok_or(DemoError::NoCallback)?;
        let id = received.id;
        match received.verified {
            Ok(payload) => {
                let decision = payload.data.decision.map(render::decision_word);
                let decision = decision.map(|it| format!(" ({it})")).unwrap_or_default();
                self.output.say(&format!(
                    "   Callback {}{decision} received, signature verified: webhook-id {id}",
                    payload.kind
                ));
                Ok(())
            }
            Err(reason) => Err(DemoError::Forged { id, reason }.into()),
        }
    }

    fn curl(&self, url: &str, media_type: &str, path: &Path) {
        self.output.say(&format!(
            "   curl -H \"Authorization: Bearer $KEY\" -H 'Content-Type: {media_type}' \\\n        --data-binary @{} {url}",
            path.display()
        ));
    }
}

fn contract(repository: &Repository, callback_url: &str) -> String {
    format!(
        "title: Pages of orders
baseline:
  git: {{ url: \"{}\", commit: {} }}
criteria:
  - {{ id: AC1, text: A page holds at most its size, checks: [tests] }}
  - {{ id: AC2, text: Every page but the last names the next one, checks: [tests] }}
protected: [\"tests/**\", Cargo.toml]
checks:
  - {{ id: tests, kind: tests, run: [cargo, test], at_least: 3, fails_on_baseline: true }}
rounds_max: 3
callback: {{ url: \"{callback_url}\" }}
",
        repository.url(),
        quoted(&repository.baseline)
    )
}

/// A commit id of digits only would be a number in YAML.
fn quoted(commit: &str) -> String {
    format!("\"{commit}\"")
}

fn report(repository: &Repository, commit: &str) -> SubmitReport {
    let claim = |id: &str| ClaimBody {
        id: id.to_owned(),
        status: ClaimStatusWord::Met,
        evidence: Vec::new(),
        note: None,
    };
    let git =
        GitSourceBody { url: repository.url(), commit: commit.to_owned(), subdirectory: None };
    SubmitReport {
        status: ReportStatusWord::Success,
        reason_code: None,
        resumable_handle: None,
        summary: Some("Done. All tests pass.".to_owned()),
        workspace: Some(SourceBody { git: Some(git), ..SourceBody::default() }),
        files_changed: Vec::new(),
        criteria: vec![claim("AC1"), claim("AC2")],
        commands_run: Vec::new(),
        not_verified: Vec::new(),
        deviations: Vec::new(),
        agent: None,
        trace_id: None,
    }
}

fn indent(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|it| if it.is_empty() { String::new() } else { format!("   {it}") })
        .collect();
    lines.join("\n")
}
