//! API keys of a project: made, listed, revoked.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use gate_api::{
    ApiKeyBody, ApiKeyPage, CreateApiKey, CreatedApiKey, Cursor, InvalidField, ProblemKind, Role,
};
use gate_core::KeyId;
use gate_store::{NewApiKey, PAGE_ROWS_MAX};
use uuid::Uuid;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery, Two};
use super::auth::{Caller, Permission, Slug};
use super::present;
use super::problem::Problem;
use super::runs::{PageQuery, link};
use crate::api_key::ApiKeySecret;

/// Make an API key for a project
///
/// The secret is shown once and stored hashed.
#[utoipa::path(post, path = "/v1/projects/{project}/keys", tag = "keys", request_body = CreateApiKey,
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$")),
    responses((status = 201, description = "The key with its secret", body = CreatedApiKey)))]
pub(crate) async fn create_api_key(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
    ApiJson(body): ApiJson<CreateApiKey>,
) -> Result<(StatusCode, ApiJson<CreatedApiKey>), Problem> {
    caller.require(Permission::ManageKeys)?;
    let project = caller.project(&app, &slug).await?;
    refuse_repeated(&body.roles)?;
    let roles: Vec<String> = body.roles.iter().map(|it| it.as_str().to_owned()).collect();
    let secret = ApiKeySecret::generate();
    let key = NewApiKey {
        id: KeyId::from_uuid(Uuid::now_v7()),
        project_id: Some(project.id),
        name: &body.name,
        prefix: secret.prefix(),
        sha256: secret.sha256(),
        roles: &roles,
        expires_at: body.expires_at,
    };
    let key = app.store.create_api_key(&key, &caller.origin()).await?;
    let created = CreatedApiKey { key: present::api_key(key), secret: secret.expose().to_owned() };
    Ok((StatusCode::CREATED, ApiJson(created)))
}

/// List the API keys of a project
///
/// Revoked and expired ones included; never a secret.
#[utoipa::path(get, path = "/v1/projects/{project}/keys", tag = "keys",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$"), PageQuery),
    responses((status = 200, description = "The oldest first", body = ApiKeyPage,
        headers(("link" = String, description = "The next page, RFC 8288")))))]
pub(crate) async fn list_api_keys(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
    ApiQuery(query): ApiQuery<PageQuery>,
) -> Result<(HeaderMap, ApiJson<ApiKeyPage>), Problem> {
    caller.require(Permission::ManageKeys)?;
    let project = caller.project(&app, &slug).await?;
    let after = query.after::<KeyId>()?.map(|Cursor(it)| it);
    let keys = app.store.api_keys(Some(project.id), after, PAGE_ROWS_MAX + 1).await?;
    let (keys, next_cursor) = present::page(keys, PAGE_ROWS_MAX, |it| it.id);
    let items = keys.into_iter().map(present::api_key).collect();
    let headers = link(&format!("/v1/projects/{slug}/keys?"), next_cursor.as_deref());
    Ok((headers, ApiJson(ApiKeyPage { items, next_cursor })))
}

/// Revoke an API key
///
/// It stops to work at once. Revoking it again changes nothing.
#[utoipa::path(delete, path = "/v1/projects/{project}/keys/{key}", tag = "keys",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$"),
           ("key" = uuid::Uuid, Path, description = "The key's id")),
    responses((status = 200, description = "The revoked key", body = ApiKeyBody)))]
pub(crate) async fn revoke_api_key(
    State(app): State<App>,
    caller: Caller,
    ApiPath(Two(slug, key)): ApiPath<Two<Slug, KeyId>>,
) -> Result<ApiJson<ApiKeyBody>, Problem> {
    caller.require(Permission::ManageKeys)?;
    let project = caller.project(&app, &slug).await?;
    let key = app.store.revoke_api_key(Some(project.id), key, &caller.origin()).await?;
    Ok(ApiJson(present::api_key(key)))
}

fn refuse_repeated(roles: &[Role]) -> Result<(), Problem> {
    let repeated = |(at, role): (usize, &Role)| roles[..at].contains(role).then_some(at);
    match roles.iter().enumerate().find_map(repeated) {
        None => Ok(()),
        Some(at) => {
            let field = InvalidField::new(format!("/roles/{at}"), "this role is given twice");
            Err(Problem::fields(ProblemKind::InvalidBody, vec![field]))
        }
    }
}
