//! Is it alive, is it ready, and what does it count?

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use gate_api::ProblemKind;
use gate_core::Chain;

use super::App;
use super::problem::Problem;

/// Is the process alive?
#[utoipa::path(get, path = "/healthz", tag = "operation", security(()),
    responses((status = 200, description = "It is", body = String, content_type = "text/plain")))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Can it do its work?
///
/// No while the database does not answer, has an older schema, or the process is stopping.
#[utoipa::path(get, path = "/readyz", tag = "operation", security(()),
    responses((status = 200, description = "It can", body = String, content_type = "text/plain"),
              (status = 503, description = "It cannot now", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
pub(crate) async fn readyz(State(app): State<App>) -> Result<&'static str, Problem> {
    if app.stopping.is_cancelled() {
        return Err(Problem::new(ProblemKind::Unavailable, "the process is stopping"));
    }
    match app.store.ready().await {
        Ok(()) => Ok("ready\n"),
        Err(error) => {
            let cause = Some(Chain(&error).to_string());
            let detail = "the database does not answer, or has another schema";
            Err(Problem { cause, ..Problem::new(ProblemKind::Unavailable, detail) })
        }
    }
}

/// Metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operation", security(()),
    responses((status = 200, description = "Text exposition format", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics_text(State(app): State<App>) -> Response {
    // While the database does not answer, the rest is still worth reading.
    if let Ok(figures) = app.store.figures().await {
        let gauge = |name: &'static str, value: u64| {
            metrics::gauge!(name).set(f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
        };
        gauge("gate_queue_ready_runs", figures.queue_ready);
        gauge("gate_queue_waiting_runs", figures.queue_waiting);
        gauge("gate_queue_running_runs", figures.queue_running);
        gauge("gate_queue_oldest_seconds", figures.queue_oldest_seconds);
        gauge("gate_callbacks_due", figures.callbacks_due);
        gauge("gate_workers_alive", figures.workers_alive);
    }
    let text = app.metrics.render();
    (StatusCode::OK, [(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
