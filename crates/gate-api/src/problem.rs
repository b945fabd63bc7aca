//! Problem details of RFC 9457: the body of every error that the API answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error, as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// A URI that names the kind: `urn:donegate:problem:` and the code.
    #[serde(rename = "type")]
    #[schema(example = "urn:donegate:problem:not_found")]
    pub kind: String,
    /// The kind in a few words, the same for all problems of it.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened here, and what to do about it.
    pub detail: String,
    /// The path that was asked for.
    pub instance: String,
    /// The kind, for programs. Stable.
    pub code: ProblemKind,
    /// Every single fault of the body or the parameters; empty where there is none to point at.
    pub errors: Vec<InvalidField>,
    /// Names this request in the gate's logs.
    pub request_id: String,
}

/// One fault of a body or a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvalidField {
    /// Where: a JSON pointer (RFC 6901) into the body, or `?name` for a parameter.
    #[schema(example = "/checks/0/run")]
    pub pointer: String,
    /// What is wrong, and what to write instead.
    pub detail: String,
}

impl InvalidField {
    /// A fault at `pointer`.
    #[must_use]
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// All kinds of problems. The list is closed: a client can match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The body is not JSON, not YAML, or not UTF-8.
    MalformedBody,
    /// A path or query parameter, or a header, does not have its form.
    InvalidParameter,
    /// There is no API key, or not a live one.
    Unauthenticated,
    /// The key's roles do not allow this.
    Forbidden,
    /// There is no such thing, or the key may not see it.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// A project with this slug exists.
    SlugTaken,
    /// The task's state does not take this now.
    TaskState,
    /// The task has had all the reports that its contract allows.
    ReportsExhausted,
    /// A request with the same idempotency key is still being worked on.
    IdempotencyKeyInFlight,
    /// The thing has changed since the version that `If-Match` names.
    PreconditionFailed,
    /// The body is larger than this path takes.
    PayloadTooLarge,
    /// The `Content-Type` is not one that this path takes.
    UnsupportedMediaType,
    /// The byte range lies outside the log.
    RangeNotSatisfiable,
    /// The body is well-formed and does not have the form that it should.
    InvalidBody,
    /// The contract does not hold together.
    ContractInvalid,
    /// The report does not answer the contract.
    ReportInvalid,
    /// The bytes do not have the digest that the path names.
    DigestMismatch,
    /// The bytes are no archive that the gate can unpack.
    ArchiveInvalid,
    /// The idempotency key was used before with another body.
    IdempotencyKeyReused,
    /// The request must say which version it changes: send `If-Match`.
    PreconditionRequired,
    /// The request took too long to arrive.
    RequestTimeout,
    /// The gate failed. The request id leads to the log.
    Internal,
    /// The gate cannot reach what it needs; try again.
    Unavailable,
}

impl ProblemKind {
    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::MalformedBody | Self::InvalidParameter => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::SlugTaken
            | Self::TaskState
            | Self::ReportsExhausted
            | Self::IdempotencyKeyInFlight => 409,
            Self::PreconditionFailed => 412,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::RangeNotSatisfiable => 416,
            Self::InvalidBody
            | Self::ContractInvalid
            | Self::ReportInvalid
            | Self::DigestMismatch
            | Self::ArchiveInvalid
            | Self::IdempotencyKeyReused => 422,
            Self::PreconditionRequired => 428,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// The kind in a few words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::MalformedBody => "The body cannot be read",
            Self::InvalidParameter => "A parameter does not have its form",
            Self::Unauthenticated => "An API key is needed",
            Self::Forbidden => "This key may not do that",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "The method is not allowed here",
            Self::SlugTaken => "A project with this slug exists",
            Self::TaskState => "The task does not take this now",
            Self::ReportsExhausted => "All reports are used up",
            Self::IdempotencyKeyInFlight => "A request with this idempotency key is in flight",
            Self::PreconditionFailed => "It has changed since then",
            Self::PayloadTooLarge => "The body is too large",
            Self::UnsupportedMediaType => "The content type is not taken here",
            Self::RangeNotSatisfiable => "The range lies outside the log",
            Self::InvalidBody => "The body does not have its form",
            Self::ContractInvalid => "The contract does not hold together",
            Self::ReportInvalid => "The report does not answer its contract",
            Self::DigestMismatch => "The bytes have another digest",
            Self::ArchiveInvalid => "The archive cannot be unpacked",
            Self::IdempotencyKeyReused => "The idempotency key was used with another body",
            Self::PreconditionRequired => "If-Match is needed",
            Self::RequestTimeout => "The request took too long to arrive",
            Self::Internal => "The gate failed",
            Self::Unavailable => "The gate cannot do this now",
        }
    }

    /// The kind, for programs.
    #[must_use]
    pub fn code(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(code)) => code,
            Ok(_) | Err(_) => String::new(),
        }
    }
}
