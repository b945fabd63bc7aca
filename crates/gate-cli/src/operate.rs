//! The small commands of an operator: `migrate`, `openapi`, and `keys`.

use clap::{Args, Subcommand, ValueEnum};
use gate_api::{ApiKeyBody, CreateApiKey, Role};
use gate_server::ApiKeySecret;
use serde_json::json;
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::arguments::GlobalArguments;
use crate::client::Client;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::serve::{ServeArguments, read_config};

/// What is to be done with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key for a project; its secret is shown once
    Create(CreateKeyArguments),
    /// List the keys of a project, never their secrets
    List(ProjectArguments),
    /// End a key at once
    Revoke(RevokeArguments),
    /// Make up an admin key for `DONEGATE_ADMIN_KEY`, without a gate
    Generate,
}

/// Whose keys.
#[derive(Debug, Args)]
pub(crate) struct ProjectArguments {
    /// The project's slug
    #[arg(long, value_name = "SLUG")]
    pub(crate) project: String,
}

/// A new key.
#[derive(Debug, Args)]
pub(crate) struct CreateKeyArguments {
    #[command(flatten)]
    pub(crate) project: ProjectArguments,
    /// Says whose it is
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do; more than one with commas
    #[arg(long, value_enum, value_delimiter = ',', required = true, value_name = "ROLE")]
    pub(crate) roles: Vec<RoleArgument>,
}

/// A key that ends.
#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    #[command(flatten)]
    pub(crate) project: ProjectArguments,
    /// The key's id, from `keys list`
    pub(crate) key: Uuid,
}

/// A role of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArgument {
    /// Publishes contracts
    Planner,
    /// Uploads workspaces and posts completion reports
    Reporter,
    /// Reads
    Reviewer,
    /// Planner, reporter, cancel, and callbacks
    Orchestrator,
    /// Everything within the project
    Admin,
}

/// Applies the migrations that are missing.
pub(crate) async fn migrate(output: Output) -> Result<Exit, CliError> {
    let arguments = ServeArguments { role: None, listen: None, data_dir: None };
    let config = read_config(&arguments)?;
    let url = config.database_url.ok_or(CliError::NoDatabase)?;
    gate_server::migrate(&url).await?;
    output.answer(
        &json!({ "migrated": true }),
        "the database has the schema of this build",
        &"migrated",
    );
    Ok(Exit::Pass)
}

/// Prints the OpenAPI document.
pub(crate) fn openapi(output: Output) -> Exit {
    output.document(&gate_server::openapi());
    Exit::Pass
}

/// Makes, lists, or ends API keys.
pub(crate) async fn keys(
    command: &KeysCommand,
    global: &GlobalArguments,
    output: Output,
) -> Result<Exit, CliError> {
    match command {
        KeysCommand::Generate => {
            let key = ApiKeySecret::generate();
            output.answer(&json!({ "secret": key.expose() }), key.expose(), &key.expose());
        }
        KeysCommand::Create(arguments) => create(arguments, global, output).await?,
        KeysCommand::List(arguments) => list(arguments, global, output).await?,
        KeysCommand::Revoke(arguments) => {
            let client = client(global)?;
            let key = client.revoke_key(&arguments.project.project, arguments.key).await?;
            output.answer(&key, &format!("the key `{}` is revoked", key.name), &key.id);
        }
    }
    Ok(Exit::Pass)
}

async fn create(
    arguments: &CreateKeyArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<(), CliError> {
    let body = CreateApiKey {
        name: arguments.name.clone(),
        roles: arguments.roles.iter().map(|it| role(*it)).collect(),
        expires_at: None,
    };
    let created = client(global)?.create_key(&arguments.project.project, &body).await?;
    let text = format!(
        "the key `{}` ({}), shown this once:\n{}",
        created.key.name,
        roles(&created.key),
        created.secret
    );
    output.answer(&created, &text, &created.secret);
    Ok(())
}

async fn list(
    arguments: &ProjectArguments,
    global: &GlobalArguments,
    output: Output,
) -> Result<(), CliError> {
    let keys = client(global)?.keys(&arguments.project).await?;
    let lines: Vec<String> = keys
        .iter()
        .map(|key| {
            let ended = if key.revoked_at.is_some() { "  revoked" } else { "" };
            format!("{}  {}…  {}  {}{ended}", key.id, key.prefix, roles(key), key.name)
        })
        .collect();
    let text =
        if lines.is_empty() { "the project has no keys".to_owned() } else { lines.join("\n") };
    output.answer(&keys, &text, &keys.len());
    Ok(())
}

fn client(global: &GlobalArguments) -> Result<Client, CliError> {
    Client::new(&global.url, &ApiKey::find(global)?)
}

fn roles(key: &ApiKeyBody) -> String {
    key.roles.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
}

const fn role(argument: RoleArgument) -> Role {
    match argument {
        RoleArgument::Planner => Role::Planner,
        RoleArgument::Reporter => Role::Reporter,
        RoleArgument::Reviewer => Role::Reviewer,
        RoleArgument::Orchestrator => Role::Orchestrator,
        RoleArgument::Admin => Role::Admin,
    }
}
