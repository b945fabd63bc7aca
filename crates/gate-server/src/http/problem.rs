//! The only place where an error becomes a response: `application/problem+json`, RFC 9457.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gate_api::body::BodyError;
use gate_api::{InvalidField, ProblemBody, ProblemKind};
use gate_blob::BlobError;
use gate_core::Chain;
use gate_store::StoreError;

use super::context::RequestContext;
use crate::logs::LogError;

/// The media type of every error.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
/// What a client waits before it tries again, where the gate cannot know better.
const RETRY_AFTER_SECONDS: u32 = 2;

/// An error on its way to the client. What the client may not know goes to the log only.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    pub(crate) detail: String,
    pub(crate) errors: Vec<InvalidField>,
    /// For the log.
    pub(crate) cause: Option<String>,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: Vec::new(), cause: None }
    }

    pub(crate) fn not_found(what: &str) -> Self {
        let detail = format!("there is no such {what}, or this key may not see it");
        Self::new(ProblemKind::NotFound, detail)
    }

    pub(crate) fn fields(kind: ProblemKind, errors: Vec<InvalidField>) -> Self {
        let detail = match errors.as_slice() {
            [one] if one.pointer.is_empty() => one.detail.clone(),
            [one] => format!("{}: {}", one.pointer, one.detail),
            many => format!("{} faults, each with its place in `errors`", many.len()),
        };
        Self { errors, ..Self::new(kind, detail) }
    }

    pub(crate) fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let field = InvalidField::new(format!("?{name}"), detail);
        Self::fields(ProblemKind::InvalidParameter, vec![field])
    }

    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        let detail = "the gate failed; the request id leads to its log";
        let cause = Some(Chain(error).to_string());
        Self { cause, ..Self::new(ProblemKind::Internal, detail) }
    }

    fn unavailable(error: &(dyn std::error::Error + 'static)) -> Self {
        let detail = "the gate cannot reach its database or its storage; try again";
        let cause = Some(Chain(error).to_string());
        Self { cause, ..Self::new(ProblemKind::Unavailable, detail) }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what } => Self::not_found(what),
            StoreError::SlugTaken => {
                Self::new(ProblemKind::SlugTaken, "choose another slug, or use that project")
            }
            StoreError::TaskState { state } => {
                let detail = format!("the task is `{state}`, which does not take this");
                Self::new(ProblemKind::TaskState, detail)
            }
            StoreError::ReportsExhausted { reports_max } => {
                let detail = format!(
                    "the contract allows {reports_max} reports, and they are used up; a person decides"
                );
                Self::new(ProblemKind::ReportsExhausted, detail)
            }
            StoreError::Stale { version } => {
                let detail = format!(
                    "the task was changed meanwhile and has version {version} now; read it again"
                );
                Self::new(ProblemKind::PreconditionFailed, detail)
            }
            StoreError::KeyReused => {
                let detail =
                    "this Idempotency-Key was sent before with another body; use a new key";
                Self::new(ProblemKind::IdempotencyKeyReused, detail)
            }
            StoreError::KeyInFlight => {
                let detail = "the first request with this Idempotency-Key has not ended; try again";
                Self::new(ProblemKind::IdempotencyKeyInFlight, detail)
            }
            error if error.is_unavailable() => Self::unavailable(&error),
            error @ (StoreError::LeaseLost
            | StoreError::OtherSecretKey { .. }
            | StoreError::SchemaOutdated
            | StoreError::CorruptRow { .. }
            | StoreError::Migrate(_)
            | StoreError::Database(_)) => Self::internal(&error),
        }
    }
}

impl From<BlobError> for Problem {
    fn from(error: BlobError) -> Self {
        match &error {
            BlobError::NotFound { .. } => Self::not_found("content"),
            BlobError::DigestMismatch { .. } => {
                Self::new(ProblemKind::DigestMismatch, error.to_string())
            }
            BlobError::Input(_) => {
                let cause = Some(Chain(&error).to_string());
                let detail = "the body did not arrive whole; send it again";
                Self { cause, ..Self::new(ProblemKind::RequestTimeout, detail) }
            }
            BlobError::TooLarge { .. } => {
                Self::new(ProblemKind::PayloadTooLarge, error.to_string())
            }
            _ => Self::unavailable(&error),
        }
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Blob(error) => error.into(),
            LogError::File(error) => Self::internal(&error),
        }
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Syntax(detail) => Self::new(ProblemKind::MalformedBody, detail),
            BodyError::Form(errors) => Self::fields(ProblemKind::InvalidBody, errors),
        }
    }
}

impl IntoResponse for Problem {
    /// Only the status and the headers: [`finish`] knows the request and writes the body.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.status());
        let mut response = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        let headers = response.headers_mut();
        match self.kind.status() {
            401 => {
                headers.insert(
                    WWW_AUTHENTICATE,
                    HeaderValue::from_static("Bearer realm=\"donegate\""),
                );
            }
            503 => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
            }
            _ => {}
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the body of every error, also of those that the HTTP libraries answer by themselves.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let instance = request.uri().path().to_owned();
    let request_id = request
        .extensions()
        .get::<RequestContext>()
        .map(|it| it.request_id.clone())
        .unwrap_or_default();
    let mut response = next.run(request).await;
    let problem = match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem,
        None => match of_library(&response) {
            Some(problem) => problem,
            None => return response,
        },
    };
    let body = ProblemBody {
        kind: format!("urn:donegate:problem:{}", problem.kind.code()),
        title: problem.kind.title().to_owned(),
        status: problem.kind.status(),
        detail: problem.detail.clone(),
        instance,
        code: problem.kind,
        errors: problem.errors.clone(),
        request_id,
    };
    let json = serde_json::to_vec(&body).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::from_u16(body.status).unwrap_or(parts.status);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    // For the log, which is written further out.
    parts.extensions.insert(problem);
    Response::from_parts(parts, Body::from(json))
}

/// What axum, tower, and hyper answer as plain text.
fn of_library(response: &Response) -> Option<Problem> {
    let (kind, detail) = match response.status() {
        StatusCode::NOT_FOUND => (ProblemKind::NotFound, "there is nothing at this path"),
        StatusCode::METHOD_NOT_ALLOWED => (
            ProblemKind::MethodNotAllowed,
            "this path takes other methods; the Allow header lists them",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            (ProblemKind::PayloadTooLarge, "the body is larger than this path takes")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            (ProblemKind::UnsupportedMediaType, "this path does not take that content type")
        }
        StatusCode::REQUEST_TIMEOUT => (ProblemKind::RequestTimeout, "the body stopped arriving"),
        StatusCode::UNPROCESSABLE_ENTITY => {
            (ProblemKind::InvalidBody, "the body does not have its form")
        }
        status if status.is_client_error() => {
            (ProblemKind::InvalidParameter, "the request could not be read")
        }
        status if status.is_server_error() => {
            (ProblemKind::Internal, "the gate failed; the request id leads to its log")
        }
        _ => return None,
    };
    Some(Problem::new(kind, detail))
}

pub(crate) async fn no_such_path() -> Problem {
    Problem::new(ProblemKind::NotFound, "there is nothing at this path; see /docs")
}

/// A panic in a handler is a bug; it ends one request and nothing else.
#[expect(clippy::needless_pass_by_value, reason = "the layer wants this signature")]
pub(crate) fn after_panic(panic: Box<dyn std::any::Any + Send>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
    let detail = "the gate failed; the request id leads to its log";
    let cause = Some(format!("panic: {}", text.unwrap_or_default()));
    Problem { cause, ..Problem::new(ProblemKind::Internal, detail) }.into_response()
}
