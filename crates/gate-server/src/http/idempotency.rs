//! The `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use gate_api::ProblemKind;
use gate_core::Sha256Digest;
use gate_store::IdempotencyKey;

use super::auth::Caller;
use super::problem::Problem;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const KEY_BYTES_MAX: usize = 255;

/// The client's own name for this request, if it gave one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientKey(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for ClientKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        // A structured string has quotes; many clients send none. Both name the same request.
        let text = text.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(text);
        let visible = text.bytes().all(|it| it.is_ascii_graphic() || it == b' ');
        if (1..=KEY_BYTES_MAX).contains(&text.len()) && visible {
            return Ok(Self(Some(text.to_owned())));
        }
        let detail = "an Idempotency-Key has 1 to 255 visible ASCII characters";
        Err(Problem::new(ProblemKind::InvalidParameter, detail))
    }
}

impl ClientKey {
    /// The key with its scope: who sends it, to which path, with which body.
    pub(crate) fn scoped(
        self,
        caller: &Caller,
        route: String,
        body_sha256: Sha256Digest,
    ) -> Option<IdempotencyKey> {
        let principal = caller.principal.key_id;
        self.0.map(|key| IdempotencyKey { principal, route, key, body_sha256 })
    }
}

/// Marks an answer that an earlier request with the same key was given.
pub(crate) fn replayed(is_replay: bool) -> Option<(HeaderName, HeaderValue)> {
    is_replay.then_some((REPLAYED, HeaderValue::from_static("true")))
}
