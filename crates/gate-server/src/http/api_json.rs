//! Extractors whose rejections are problems: bodies, path and query parameters.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use gate_api::ProblemKind;
use gate_api::body::{self, Format};
use gate_core::Sha256Digest;
use gate_core::limits::BODY_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::problem::Problem;

/// So much of a body that is too large is taken in before it is refused.
const DISCARDED_BYTES_MAX: usize = 8 * BODY_BYTES_MAX;
/// So long is waited for the next bytes of such a body: a client that writes nothing more can read.
const DISCARD_SILENCE_MAX: Duration = Duration::from_millis(500);
/// So long is such a body taken in, however steadily it arrives.
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

/// A JSON body that has the form of its published schema, with the digest of its bytes; or a JSON answer.
#[derive(Debug)]
pub(crate) struct ApiJson<T>(pub(crate) T);

/// A body with the exact bytes it was read from.
#[derive(Debug)]
pub(crate) struct RawBody {
    pub(crate) text: String,
    pub(crate) format: Format,
    pub(crate) sha256: Sha256Digest,
}

impl<S: Send + Sync, T: DeserializeOwned + ToSchema + 'static> FromRequest<S> for ApiJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let raw = RawBody::from_request(request, state).await?;
        raw.json_only()?;
        Ok(Self(body::read(raw.text.as_bytes(), Format::Json)?))
    }
}

impl<T: Serialize> IntoResponse for ApiJson<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let format = format(request.headers())?;
        if let Err(problem) = refuse_too_large(request.headers(), BODY_BYTES_MAX as u64) {
            // Who asks first is told before it writes; to read would be to say "continue" (RFC 9110, 10.1.1).
            if !request.headers().contains_key(EXPECT) {
                timeout(DISCARD_TIME_MAX, discard(request.into_body())).await.ok();
            }
            return Err(problem);
        }
        let bytes = Bytes::from_request(request, state).await.map_err(of_body_rejection)?;
        let sha256 = Sha256Digest::from_bytes(Sha256::digest(&bytes).into());
        let text = String::from_utf8(bytes.into()).map_err(|error| {
            Problem::new(ProblemKind::MalformedBody, format!("the body is not UTF-8: {error}"))
        })?;
        Ok(Self { text, format, sha256 })
    }
}

impl RawBody {
    /// Refuses what only contracts may be written in.
    pub(crate) fn json_only(&self) -> Result<(), Problem> {
        match self.format {
            Format::Json => Ok(()),
            Format::Yaml => {
                let detail = "this path takes application/json";
                Err(Problem::new(ProblemKind::UnsupportedMediaType, detail))
            }
        }
    }

    pub(crate) fn read<T: DeserializeOwned + ToSchema + 'static>(&self) -> Result<T, Problem> {
        self.json_only()?;
        Ok(body::read(self.text.as_bytes(), Format::Json)?)
    }
}

fn format(headers: &HeaderMap) -> Result<Format, Problem> {
    let refuse = |given: &str| {
        let detail =
            format!("`{given}` is not taken here; send application/json or application/yaml");
        Err(Problem::new(ProblemKind::UnsupportedMediaType, detail))
    };
    let Some(value) = headers.get(CONTENT_TYPE) else { return refuse("no Content-Type") };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => Ok(Format::Json),
        "application/yaml" | "application/x-yaml" | "text/yaml" => Ok(Format::Yaml),
        _ => refuse(text),
    }
}

/// Takes in a body that nobody wants: a client that still writes when the connection ends sees no answer.
async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut left = DISCARDED_BYTES_MAX;
    while let Ok(Some(Ok(chunk))) = timeout(DISCARD_SILENCE_MAX, chunks.next()).await {
        let Some(rest) = left.checked_sub(chunk.len()) else { return };
        left = rest;
    }
}

/// A body that says that it is too large is refused before a byte of it is read.
pub(crate) fn refuse_too_large(headers: &HeaderMap, bytes_max: u64) -> Result<(), Problem> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|it| it > bytes_max) {
        return Err(too_large(bytes_max));
    }
    Ok(())
}

fn too_large(bytes_max: u64) -> Problem {
    let detail = format!("a body has at most {bytes_max} bytes here");
    Problem::new(ProblemKind::PayloadTooLarge, detail)
}

fn of_body_rejection(rejection: axum::extract::rejection::BytesRejection) -> Problem {
    let response = rejection.into_response();
    match response.status().as_u16() {
        413 => too_large(BODY_BYTES_MAX as u64),
        _ => Problem::new(ProblemKind::RequestTimeout, "the body did not arrive whole"),
    }
}

/// One path parameter, parsed; a malformed one is a problem that names it.
#[derive(Debug)]
pub(crate) struct ApiPath<T>(pub(crate) T);

/// The values of a path, in order, from text.
pub(crate) trait PathParts: Sized {
    fn read(values: &[(String, String)]) -> Result<Self, Problem>;
}

impl<S: Send + Sync, T: PathParts> FromRequestParts<S> for ApiPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let raw = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::new(ProblemKind::InvalidParameter, error.to_string()))?;
        let values: Vec<(String, String)> =
            raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        T::read(&values).map(Self)
    }
}

impl<A: FromStr<Err: Display>> PathParts for A {
    fn read(values: &[(String, String)]) -> Result<Self, Problem> {
        part(values, 0)
    }
}

/// Two parameters.
#[derive(Debug)]
pub(crate) struct Two<A, B>(pub(crate) A, pub(crate) B);

impl<A: FromStr<Err: Display>, B: FromStr<Err: Display>> PathParts for Two<A, B> {
    fn read(values: &[(String, String)]) -> Result<Self, Problem> {
        Ok(Self(part(values, 0)?, part(values, 1)?))
    }
}

fn part<A: FromStr<Err: Display>>(values: &[(String, String)], at: usize) -> Result<A, Problem> {
    let Some((name, value)) = values.get(at) else {
        return Err(Problem::new(ProblemKind::InvalidParameter, "a path parameter is missing"));
    };
    value.parse().map_err(|error: A::Err| {
        let field = gate_api::InvalidField::new(format!("{{{name}}}"), error.to_string());
        Problem::fields(ProblemKind::InvalidParameter, vec![field])
    })
}

/// Query parameters; an unknown or malformed one is a problem that names it.
#[derive(Debug)]
pub(crate) struct ApiQuery<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let deserializer = serde_urlencoded_deserializer(query);
        serde_path_to_error::deserialize(deserializer).map(Self).map_err(|error| {
            let name = error.path().to_string();
            Problem::parameter(if name == "." { "" } else { &name }, error.into_inner().to_string())
        })
    }
}

fn serde_urlencoded_deserializer(query: &str) -> serde_urlencoded::Deserializer<'_> {
    serde_urlencoded::Deserializer::new(url::form_urlencoded::parse(query.as_bytes()))
}
