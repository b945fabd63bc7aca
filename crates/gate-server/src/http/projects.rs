//! Projects: the tenants.

use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use gate_api::{
    CreateProject, CreatedProject, Cursor, ProblemKind, ProjectBody, ProjectPage, RotatedSecret,
};
use gate_store::PAGE_ROWS_MAX;

use super::App;
use super::api_json::{ApiJson, ApiPath, ApiQuery};
use super::auth::{Caller, Permission, Slug};
use super::present;
use super::problem::Problem;
use super::runs::{PageQuery, link};

/// Make a project
///
/// Needs an admin key of the whole gate. The callback secret is shown once.
#[utoipa::path(post, path = "/v1/projects", tag = "projects", request_body = CreateProject,
    responses((status = 201, description = "The project, and the secret of its callbacks", body = CreatedProject,
        headers(("location" = String, description = "The path of the project"))),
        (status = 409, description = "A project with this slug exists", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
pub(crate) async fn create_project(
    State(app): State<App>,
    caller: Caller,
    ApiJson(body): ApiJson<CreateProject>,
) -> Result<(StatusCode, [(HeaderName, String); 1], ApiJson<CreatedProject>), Problem> {
    caller.require(Permission::ManageGate)?;
    let weight = body.weight.unwrap_or(1);
    let project = app.store.create_project(&body.slug, weight, &caller.origin()).await?;
    let created = CreatedProject {
        project: present::project(&project),
        callback_secret: app
            .secret_key
            .callback_secret(project.id, project.secret_generation)
            .expose(),
    };
    let location = [(LOCATION, format!("/v1/projects/{}", project.slug))];
    Ok((StatusCode::CREATED, location, ApiJson(created)))
}

/// List the projects that the key may see
#[utoipa::path(get, path = "/v1/projects", tag = "projects", params(PageQuery),
    responses((status = 200, description = "By slug", body = ProjectPage,
        headers(("link" = String, description = "The next page, RFC 8288")))))]
pub(crate) async fn list_projects(
    State(app): State<App>,
    caller: Caller,
    ApiQuery(query): ApiQuery<PageQuery>,
) -> Result<(HeaderMap, ApiJson<ProjectPage>), Problem> {
    caller.require(Permission::Read)?;
    let after = query.after::<Slug>()?;
    let after = after.as_ref().map(|Cursor(slug)| slug.as_str());
    let projects = app.store.projects(caller.within(), after, PAGE_ROWS_MAX + 1).await?;
    let (projects, next_cursor) = present::page(projects, PAGE_ROWS_MAX, |it| it.slug.clone());
    let items = projects.iter().map(present::project).collect();
    let headers = link("/v1/projects?", next_cursor.as_deref());
    Ok((headers, ApiJson(ProjectPage { items, next_cursor })))
}

/// Read a project
#[utoipa::path(get, path = "/v1/projects/{project}", tag = "projects",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$")),
    responses((status = 200, description = "The project", body = ProjectBody)))]
pub(crate) async fn get_project(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
) -> Result<ApiJson<ProjectBody>, Problem> {
    caller.require(Permission::Read)?;
    Ok(ApiJson(present::project(&caller.project(&app, &slug).await?)))
}

/// Put a new callback secret in force
///
/// For a day every callback is signed with both secrets, so that receivers can change over.
#[utoipa::path(post, path = "/v1/projects/{project}/callback-secret/rotate", tag = "callbacks",
    params(("project" = String, Path, description = "The project's slug", min_length = 1, max_length = 63, pattern = "^[a-z0-9][a-z0-9-]*$")),
    responses((status = 200, description = "The new secret, shown once", body = RotatedSecret)))]
pub(crate) async fn rotate_callback_secret(
    State(app): State<App>,
    caller: Caller,
    ApiPath(slug): ApiPath<Slug>,
) -> Result<ApiJson<RotatedSecret>, Problem> {
    caller.require(Permission::ManageCallbacks)?;
    let project = caller.project(&app, &slug).await?;
    let project = app.store.rotate_callback_secret(project.id, &caller.origin()).await?;
    let previous_valid_until = project
        .previous_secret_until
        .ok_or_else(|| Problem::new(ProblemKind::Internal, "the rotation was not recorded"))?;
    let callback_secret =
        app.secret_key.callback_secret(project.id, project.secret_generation).expose();
    Ok(ApiJson(RotatedSecret { callback_secret, previous_valid_until }))
}
