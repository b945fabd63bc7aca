//! A verdict as other programs read it: Markdown for the next prompt, and the formats of other tools.

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use gate_api::VerdictBody;
use gate_api::export::{Format, export};
use gate_core::RunId;
use gate_store::{Run, StoredVerdict};
use serde::Deserialize;
use utoipa::ToSchema;

use super::App;
use super::api_json::{ApiPath, ApiQuery};
use super::auth::{Caller, Permission};
use super::present;
use super::problem::Problem;

const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Which of the two texts.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FormQuery {
    /// `feedback` by default.
    #[param(inline)]
    form: Option<FormWord>,
}

/// A text for the next prompt.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FormWord {
    /// What to fix, first cause first.
    Feedback,
    /// What ran, what that proved, what it did not, and then what to fix.
    ExecutionReport,
}

/// What a verdict is written as.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FormatQuery {
    /// JUnit XML, CTRF JSON, SARIF 2.1.0, or the annotations of GitHub's workflow commands.
    #[param(inline)]
    format: Format,
}

/// A document of another tool's format.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExportText(String);

/// Read a verdict as Markdown for the next prompt
///
/// At most 8 KiB. What differs between two runs of one tree stands at its end, so that a prompt with it can be cached.
#[utoipa::path(get, path = "/v1/runs/{run}/feedback", tag = "runs",
    params(("run" = uuid::Uuid, Path, description = "The run's id"), FormQuery),
    responses((status = 200, description = "The text", body = inline(ExportText), content_type = "text/markdown")))]
pub(crate) async fn get_feedback(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<RunId>,
    ApiQuery(query): ApiQuery<FormQuery>,
) -> Result<Response, Problem> {
    let (_, verdict) = stored(&app, &caller, id).await?;
    let text = match query.form {
        // Older verdicts have no execution report.
        Some(FormWord::ExecutionReport) if !verdict.execution_report.is_empty() => {
            verdict.execution_report
        }
        Some(FormWord::ExecutionReport | FormWord::Feedback) | None => verdict.feedback,
    };
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(MARKDOWN))], text).into_response())
}

/// Export a verdict for other tools
///
/// From the verdict alone: a run has one `testcase` for each check and each of its failing tests, not for each test that passed.
#[utoipa::path(get, path = "/v1/runs/{run}/export", tag = "runs",
    params(("run" = uuid::Uuid, Path, description = "The run's id"), FormatQuery),
    responses((status = 200, description = "The document", content(
        (inline(ExportText) = "application/xml"),
        (inline(ExportText) = "application/json"),
        (inline(ExportText) = "application/sarif+json"),
        (inline(ExportText) = "text/plain")))))]
pub(crate) async fn export_run(
    State(app): State<App>,
    caller: Caller,
    ApiPath(id): ApiPath<RunId>,
    ApiQuery(query): ApiQuery<FormatQuery>,
) -> Result<Response, Problem> {
    let (run, verdict) = stored(&app, &caller, id).await?;
    let verdict: VerdictBody = present::verdict(&run, verdict)?;
    let content_type = HeaderValue::from_static(query.format.content_type());
    Ok(([(CONTENT_TYPE, content_type)], export(&verdict, query.format)).into_response())
}

async fn stored(app: &App, caller: &Caller, id: RunId) -> Result<(Run, StoredVerdict), Problem> {
    caller.require(Permission::Read)?;
    let run = app.store.run(caller.within(), id).await?;
    let verdict = app.store.verdict(run.project_id, id).await?;
    Ok((run, verdict.ok_or_else(|| Problem::not_found("verdict yet"))?))
}
