//! What every request carries: its id and its trace, in, out, and into whatever it causes.

use axum::extract::{FromRequestParts, Request};
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use uuid::Uuid;

use super::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// A client's own request id is taken up to this length.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Names a request, and the trace that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) request_id: String,
    pub(crate) traceparent: String,
}

/// Takes both from the request where they are well-formed, makes them where they are not, and sends them back.
pub(crate) async fn set_context(mut request: Request, next: Next) -> Response {
    let context = RequestContext {
        request_id: request_id(request.headers()),
        traceparent: traceparent(request.headers()),
    };
    request.extensions_mut().insert(context.clone());
    let mut response = next.run(request).await;
    for (name, value) in [(REQUEST_ID, context.request_id), (TRACEPARENT, context.traceparent)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

impl RequestContext {
    /// The context that [`set_context`] put into the request.
    pub(crate) fn of(parts: &Parts) -> Self {
        parts.extensions.get().cloned().unwrap_or_else(|| Self {
            request_id: Uuid::now_v7().to_string(),
            traceparent: new_traceparent(),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self::of(parts))
    }
}

fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|it| it.to_str().ok());
    let fits = |it: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte);
        (1..=REQUEST_ID_BYTES_MAX).contains(&it.len()) && it.bytes().all(plain)
    };
    given.filter(fits).map_or_else(|| Uuid::now_v7().to_string(), ToOwned::to_owned)
}

fn traceparent(headers: &HeaderMap) -> String {
    let given = headers.get(TRACEPARENT).and_then(|it| it.to_str().ok());
    given.filter(|it| is_traceparent(it)).map_or_else(new_traceparent, ToOwned::to_owned)
}

/// W3C Trace Context, version 00: version, trace id, parent id, flags.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex =
        |it: &str| it.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    matches!(parts.as_slice(), ["00", trace, parent, flags]
        if trace.len() == 32 && parent.len() == 16 && flags.len() == 2
        && hex(trace) && hex(parent) && hex(flags)
        && trace.contains(|it| it != '0') && parent.contains(|it| it != '0'))
}

fn new_traceparent() -> String {
    // Zero is not allowed; with an or, it cannot come up.
    let (trace, parent) = (rand::random::<u128>() | 1, rand::random::<u64>() | 1);
    format!("00-{trace:032x}-{parent:016x}-01")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_was_made_is_well_formed() {
        assert!(is_traceparent(&new_traceparent()));
    }

    #[test]
    fn a_malformed_trace_is_replaced() {
        let zero = format!("00-{}-{}-01", "0".repeat(32), "1".repeat(16));
        for text in ["", "00-1-2-3", &zero, "01-x"] {
            assert!(!is_traceparent(text), "{text}");
        }
    }

    #[test]
    fn a_request_id_with_odd_characters_is_replaced() {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static("a b"));
        assert_ne!(request_id(&headers), "a b");
        headers.insert(REQUEST_ID, HeaderValue::from_static("deploy-7/1"));
        assert_eq!(request_id(&headers), "deploy-7/1");
    }
}
