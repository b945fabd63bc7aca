//! Contract versions: read as published, amended while nothing runs.

use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use gate_api::{ContractBody, ContractDocument, ProblemKind, TaskBody, body};
use gate_core::TaskId;
use gate_store::Amendment;
use serde::Deserialize;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery, RawBody};
use super::auth::{Caller, Permission};
use super::idempotency::{ClientKey, replayed};
use super::present;
use super::problem::Problem;
use super::tasks::{etag, matches_etag, preflight, read_contract, with_body};

/// A reason has this many characters at most.
const REASON_CHARACTERS_MAX: usize = 2_000;

/// Which version of a contract.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct VersionQuery {
    /// The one in force by default.
    #[param(minimum = 1)]
    version: Option<u32>,
}

/// Why a contract is amended.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReasonQuery {
    /// Kept with the version, and in its event.
    #[param(min_length = 1, max_length = 2000)]
    reason: String,
}

/// Read a contract version, exactly as it was published
#[utoipa::path(get, path = "/v1/tasks/{task}/contract", tag = "contracts",
    params(("task" = uuid::Uuid, Path, description = "The task's id"), VersionQuery),
    responses((status = 200, description = "The version", body = ContractBody,
        headers(("etag" = String, description = "The version of the task, for the `If-Match` of an amendment")))))]
pub(crate) async fn get_contract(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    ApiQuery(query): ApiQuery<VersionQuery>,
) -> Result<([(HeaderName, HeaderValue); 1], ApiJson<ContractBody>), Problem> {
    caller.require(Permission::Read)?;
    let task = app.store.task(caller.within(), id).await?;
    let contract = app.store.contract(task.project_id, id, query.version).await?;
    let body = ContractBody {
        version: contract.version,
        digest: contract.sha256.to_string(),
        media_type: contract.media_type,
        text: contract.text,
        reason: contract.reason,
        created_at: contract.created_at,
    };
    Ok(([(ETAG, etag(task.version))], ApiJson(body)))
}

/// Publish the next version of a contract
///
/// Possible while no run is queued or running and the task is not closed. A version with a baseline is proven
/// there first, as the first one was. `If-Match` names the task's version that you have read. Every verdict names the version that it was judged by.
#[utoipa::path(post, path = "/v1/tasks/{task}/contracts", tag = "contracts",
    params(("task" = uuid::Uuid, Path, description = "The task's id"), ReasonQuery,
           ("if-match" = String, Header, description = "The task's `ETag`", pattern = "^(\\*|\"[0-9]{1,18}\")$"),
           ("idempotency-key" = Option<String>, Header, description = "Your own name for this request", min_length = 1, max_length = 255, pattern = "^[!#-~]+$")),
    request_body(content = ContractDocument, description = "As JSON, or as YAML with the content type application/yaml"),
    responses(
        (status = 200, description = "The task, with the new version in force", body = TaskBody, headers(("etag" = String, description = "Its version"))),
        (status = 409, description = "A run is in progress, or the task is closed", body = gate_api::ProblemBody, content_type = "application/problem+json"),
        (status = 412, description = "The task has changed since the version that `If-Match` names", body = gate_api::ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The contract does not hold together", body = gate_api::ProblemBody, content_type = "application/problem+json"),
        (status = 428, description = "`If-Match` is missing", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
#[expect(clippy::too_many_arguments, reason = "each extractor is one part of the request")]
pub(crate) async fn amend_contract(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<TaskId>,
    ApiQuery(query): ApiQuery<ReasonQuery>,
    client_key: ClientKey,
    headers: HeaderMap,
    raw: RawBody,
) -> Result<Response, Problem> {
    caller.require(Permission::Plan)?;
    check_reason(&query.reason)?;
    let task = app.store.task(caller.within(), id).await?;
    let key = client_key.scoped(&caller, format!("POST /v1/tasks/{id}/contracts"), raw.sha256);
    let (contract, text) = read_contract(&app, task.project_id, raw).await?;
    let amendment = Amendment {
        task_version: if_match(&headers, task.version)?,
        reason: &query.reason,
        title: contract.title(),
        contract: &text,
        rounds_max: contract.rounds_max(),
        reports_max: contract.reports_max(),
        callback_url: contract.callback_url(),
        preflight: preflight(&contract),
        idempotency: key.as_ref(),
    };
    let made = app.store.amend_contract(task.key(), &amendment, &caller.origin()).await?;
    let task = app.store.task(caller.within(), id).await?;
    let mut response = [(ETAG, etag(task.version))].into_response();
    response.headers_mut().extend(replayed(made.is_replay()));
    Ok(with_body(response, ApiJson(present::task(task)?)))
}

/// The JSON Schema of contracts
///
/// For editors, and for checking a contract before it is published.
#[utoipa::path(get, path = "/v1/schemas/contract", tag = "contracts", security(()),
    responses((status = 200, description = "JSON Schema 2020-12", body = serde_json::Value, content_type = "application/schema+json")))]
pub(crate) async fn contract_schema() -> Response {
    let schema = body::schema::<ContractDocument>().to_string();
    ([(axum::http::header::CONTENT_TYPE, "application/schema+json")], schema).into_response()
}

fn check_reason(reason: &str) -> Result<(), Problem> {
    let length = reason.chars().count();
    if (1..=REASON_CHARACTERS_MAX).contains(&length) && !reason.contains('\0') {
        return Ok(());
    }
    let detail = format!("1 to {REASON_CHARACTERS_MAX} characters, none of them NUL");
    Err(Problem::parameter("reason", detail))
}

/// The version that the caller has seen. `*` is whatever there is.
fn if_match(headers: &HeaderMap, current: u64) -> Result<u64, Problem> {
    let Some(value) = headers.get(IF_MATCH) else {
        let detail = "send the task's ETag as If-Match, so that nobody's change is overwritten";
        return Err(Problem::new(ProblemKind::PreconditionRequired, detail));
    };
    if matches_etag(value, current) {
        return Ok(current);
    }
    // A replayed request names an older version, so the decision is left to the store.
    let text = value.to_str().unwrap_or_default().trim_start_matches("W/").trim_matches('"');
    let detail = format!("If-Match must be the task's ETag, which is \"{current}\" now");
    text.parse().or(Err(Problem::new(ProblemKind::PreconditionFailed, detail)))
}
