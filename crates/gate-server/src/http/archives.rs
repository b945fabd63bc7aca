//! Workspace archives: uploaded once, named by the SHA-256 of their bytes.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use gate_api::{ArchiveBody, InvalidField, ProblemKind};
use gate_core::Sha256Digest;
use gate_core::limits::ARCHIVE_BYTES_MAX;
use serde::Deserialize;
use utoipa::ToSchema;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery, refuse_too_large};
use super::auth::{Caller, Permission, Slug};
use super::problem::Problem;
use crate::archives;

/// Which project the archive belongs to.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProjectQuery {
    /// The project's slug; needed only with an admin key of the whole gate.
    #[param(min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$")]
    project: Option<String>,
}

/// The bytes of an archive.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ArchiveBytes(Vec<u8>);

/// Upload a workspace archive
///
/// tar, tar.gz, tar.zst, or zip, of 512 MiB at most. Repeating an upload changes nothing.
#[utoipa::path(put, path = "/v1/workspaces/{sha256}", tag = "workspaces",
    params(("sha256" = String, Path, description = "The SHA-256 of the bytes, 64 hex digits", min_length = 64, max_length = 71, pattern = "^(sha256:)?[0-9a-fA-F]{64}$"), ProjectQuery),
    request_body(content = inline(ArchiveBytes), content_type = "application/octet-stream"),
    responses((status = 200, description = "The gate had it before", body = ArchiveBody),
              (status = 201, description = "Stored", body = ArchiveBody),
              (status = 422, description = "The bytes have another digest, or are no archive", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
#[expect(clippy::too_many_arguments, reason = "each extractor is one part of the request")]
pub(crate) async fn put_workspace(
    State(app): State<App>,
    caller: Caller,
    ApiPath(sha256): ApiPath<Sha256Digest>,
    ApiQuery(query): ApiQuery<ProjectQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, ApiJson<ArchiveBody>), Problem> {
    caller.require(Permission::Report)?;
    refuse_too_large(&headers, ARCHIVE_BYTES_MAX)?;
    let project_id = project_id(&app, &caller, query).await?;
    let stored = archives::receive(&app.blobs, project_id, sha256, body, ARCHIVE_BYTES_MAX).await?;
    let actor = &caller.principal.name;
    let existed = app.store.record_archive(project_id, sha256, stored.size_bytes, actor).await?;
    let status = if existed { StatusCode::OK } else { StatusCode::CREATED };
    let body = ArchiveBody { sha256: sha256.to_string(), size_bytes: stored.size_bytes, existed };
    Ok((status, ApiJson(body)))
}

async fn project_id(app: &App, caller: &Caller, query: ProjectQuery) -> Result<i64, Problem> {
    let slug = query.project.map(|it| it.parse::<Slug>()).transpose();
    let slug = slug.map_err(|it| Problem::parameter("project", it.to_string()))?;
    match (slug, caller.within()) {
        (Some(slug), _) => Ok(caller.project(app, &slug).await?.id),
        (None, Some(project_id)) => Ok(project_id),
        (None, None) => {
            let detail = "this key belongs to no project; say which one the archive is for";
            let field = InvalidField::new("?project", detail);
            Err(Problem::fields(ProblemKind::InvalidParameter, vec![field]))
        }
    }
}
