//! The OpenAPI document and the page that shows it.

use axum::Router;
use utoipa::OpenApi;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
};
use utoipa_swagger_ui::SwaggerUi;

use super::App;
use super::problem::PROBLEM_JSON;

/// The errors that any request with a key may meet.
const COMMON_ERRORS: [(&str, &str); 8] = [
    ("400", "The body cannot be read, or a parameter does not have its form"),
    ("401", "There is no API key, or not a live one"),
    ("403", "The key's roles do not allow this"),
    ("404", "There is no such thing, or the key may not see it"),
    ("413", "The body is too large"),
    ("415", "The content type is not taken here"),
    ("422", "The body does not have its form"),
    ("503", "The gate cannot reach what it needs; try again"),
];

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Donegate",
        description = "An acceptance gate for coding agents. Orchestrators post a task contract and later a completion report; the gate fetches the exact revision, runs the contract's commands itself, and answers PASS, FAIL, or INCONCLUSIVE.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
        contact(name = "The Donegate team")
    ),
    servers((url = "/", description = "This gate")),
    security(("api_key" = [])),
    components(schemas(
        gate_api::ProblemBody, gate_api::ProblemKind, gate_api::InvalidField,
        gate_api::CallbackPayload, gate_api::CallbackBody
    )),
    tags(
        (name = "projects", description = "The tenants of the gate"),
        (name = "keys", description = "Who may do what"),
        (name = "tasks", description = "What must be done, and where it stands"),
        (name = "contracts", description = "What done means"),
        (name = "workspaces", description = "Uploaded workspace archives"),
        (name = "reports", description = "\"It is done\""),
        (name = "runs", description = "What the gate did about it, and what it decided"),
        (name = "events", description = "Every change of state"),
        (name = "callbacks", description = "Who was told, and when"),
        (name = "operation", description = "For those who run the gate"),
    )
)]
struct Description;

pub(super) fn description() -> utoipa::openapi::OpenApi {
    let mut document = Description::openapi();
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("dg_…")
        .description(Some("An API key of Donegate"))
        .build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
    document.webhooks = Some(PathsBuilder::new().path("callback", callback()).build());
    document
}

/// What a receiver of callbacks is sent; no macro of utoipa describes it.
fn callback() -> PathItem {
    let header = |name: &str, description: &str| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(description))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
    };
    let schema = Ref::from_schema_name("CallbackPayload");
    let body = RequestBodyBuilder::new()
        .content("application/json", ContentBuilder::new().schema(Some(schema)).build())
        .required(Some(Required::True))
        .build();
    let answer = |text: &str| ResponseBuilder::new().description(text).build();
    let operation = OperationBuilder::new()
        .operation_id(Some("receive_callback"))
        .tag("callbacks")
        .summary(Some("What the gate posts to a contract's callback URL"))
        .description(Some(
            "Signed as Standard Webhooks 1.0.0 says, and sent until it is answered with 2xx.",
        ))
        .securities(Some([SecurityRequirement::default()]))
        .parameter(header("webhook-id", "The same on every attempt"))
        .parameter(header("webhook-timestamp", "Of this attempt, in seconds since 1970"))
        .parameter(header(
            "webhook-signature",
            "`v1,` and the HMAC-SHA256, for each secret that holds",
        ))
        .request_body(Some(body))
        .response("2XX", answer("It was received"))
        .response("410", answer("Nobody listens here any more; it is not sent again"))
        .build();
    PathItem::new(HttpMethod::Post, operation)
}

/// The whole document, as it is committed in `openapi/`.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let (_, document) = super::documented().merge(super::uploads()).split_for_parts();
    finish(document)
}

/// Names in every operation the errors that it may answer.
pub(super) fn finish(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            let is_open = operation.security.as_ref().is_some_and(|it| !it.is_empty());
            if !is_open {
                add_common_errors(operation);
            }
        }
    }
    document
}

fn add_common_errors(operation: &mut Operation) {
    let has_body = operation.request_body.is_some();
    for (status, description) in COMMON_ERRORS {
        let of_bodies = matches!(status, "413" | "415" | "422");
        let given = &mut operation.responses.responses;
        if (has_body || !of_bodies) && !given.contains_key(status) {
            given.insert(status.to_owned(), RefOr::T(problem_response(description)));
        }
    }
}

fn problem_response(description: &str) -> Response {
    let schema = Ref::from_schema_name("ProblemBody");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build()
}

/// `/docs` and `/openapi.json`.
pub(super) fn pages(document: utoipa::openapi::OpenApi) -> Router<App> {
    SwaggerUi::new("/docs").url("/openapi.json", document).into()
}
