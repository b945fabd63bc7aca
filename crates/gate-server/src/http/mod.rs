//! The HTTP API: every route, one line each, and the layers around them.

mod api_json;
mod archives;
mod auth;
mod callbacks;
mod context;
mod contracts;
mod docs;
mod events;
mod executions;
mod exports;
mod health;
mod idempotency;
mod keys;
mod listen;
mod log_request;
mod present;
mod problem;
mod projects;
mod reports;
mod runs;
mod system;
mod tasks;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use gate_blob::BlobStore;
use gate_core::limits::BODY_BYTES_MAX;
use gate_store::Store;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::callback::{Networks, SecretKey};

pub use docs::openapi;
pub(crate) use listen::serve_connections;

/// A body must keep arriving: this long without a byte ends the request.
const BODY_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Requests of this process that wait for a verdict at once; more get the present state.
const WAITERS_MAX: usize = 2_000;

/// What handlers share.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) blobs: Arc<BlobStore>,
    pub(crate) secret_key: Arc<SecretKey>,
    pub(crate) networks: Arc<Networks>,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) waiters: Arc<Semaphore>,
    /// Becomes closed when the process is asked to stop.
    pub(crate) stopping: tokio_util::sync::CancellationToken,
}

impl App {
    pub(crate) fn waiters() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(WAITERS_MAX))
    }
}

/// Every route that is in the OpenAPI document.
fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(docs::description())
        .routes(routes!(projects::create_project, projects::list_projects))
        .routes(routes!(projects::get_project))
        .routes(routes!(projects::rotate_callback_secret))
        .routes(routes!(keys::create_api_key, keys::list_api_keys))
        .routes(routes!(keys::revoke_api_key))
        .routes(routes!(tasks::create_task, tasks::list_tasks))
        .routes(routes!(tasks::get_task))
        .routes(routes!(tasks::cancel_task))
        .routes(routes!(contracts::get_contract))
        .routes(routes!(contracts::amend_contract))
        .routes(routes!(contracts::contract_schema))
        .routes(routes!(reports::submit_report))
        .routes(routes!(runs::list_runs))
        .routes(routes!(runs::get_run))
        .routes(routes!(runs::get_verdict))
        .routes(routes!(exports::get_feedback))
        .routes(routes!(exports::export_run))
        .routes(routes!(executions::get_execution_log))
        .routes(routes!(events::list_task_events))
        .routes(routes!(callbacks::list_callbacks))
        .routes(routes!(callbacks::redeliver_callback))
        .routes(routes!(system::get_system))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics_text))
}

/// What a worker answers: whether it lives, and what it counts.
pub(crate) fn worker_router(app: App) -> Router {
    let (router, _) = OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics_text))
        .split_for_parts();
    layered(router, app)
}

/// The upload has its own bound, far above that of a JSON body.
fn uploads() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(archives::put_workspace)).layer(DefaultBodyLimit::disable())
}

/// The whole API.
pub(crate) fn router(app: App) -> Router {
    let (router, document) = documented()
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .merge(uploads())
        .split_for_parts();
    layered(router.merge(docs::pages(docs::finish(document))), app)
}

fn layered(router: Router<App>, app: App) -> Router {
    router
        .fallback(problem::no_such_path)
        .layer(CatchPanicLayer::custom(problem::after_panic))
        .layer(RequestBodyTimeoutLayer::new(BODY_SILENCE_MAX))
        .layer(from_fn(problem::finish))
        .layer(from_fn(log_request::log_request))
        .layer(from_fn(context::set_context))
        .with_state(app)
}
