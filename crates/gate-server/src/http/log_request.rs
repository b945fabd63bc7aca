//! The only place where a request is logged, and where its metrics are counted.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{debug, error, info};

use super::context::RequestContext;
use super::problem::Problem;

/// One line for each request, with its id; `error` only where somebody must look.
pub(crate) async fn log_request(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("unmatched", MatchedPath::as_str)
        .to_owned();
    let path = request.uri().path().to_owned();
    let context = request.extensions().get::<RequestContext>().cloned();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let elapsed = started.elapsed();
    let duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let request_id = context.map(|it| it.request_id).unwrap_or_default();
    let problem = response.extensions().get::<Problem>();
    let cause = problem.and_then(|it| it.cause.as_deref()).unwrap_or_default();
    let code = problem.map(|it| it.kind.code()).unwrap_or_default();
    match status {
        500.. => {
            error!(request.id = request_id, http.method = %method, http.path = path, http.status = status,
                duration_ms, problem.code = code, error = cause, "request {request_id} failed with {status}");
        }
        400.. => {
            info!(request.id = request_id, http.method = %method, http.path = path, http.status = status,
                duration_ms, problem.code = code, "request {request_id} was refused with {status}");
        }
        _ => {
            debug!(request.id = request_id, http.method = %method, http.path = path, http.status = status,
                duration_ms, "request {request_id} was answered with {status}");
        }
    }
    metrics::counter!("gate_http_requests_total", "method" => method.to_string(), "route" => route.clone(),
        "status" => status.to_string())
    .increment(1);
    metrics::histogram!("gate_http_request_duration_seconds", "route" => route)
        .record(elapsed.as_secs_f64());
    response
}
