//! What the gate is, and what it can do now.

use axum::extract::State;
use gate_api::{SystemBody, SystemIsolation, WorkerBody};
use gate_store::WorkerStatus;
use tracing::warn;

use super::App;
use super::api_json::ApiJson;
use super::auth::{Caller, Permission};
use super::problem::Problem;

/// Read what the gate is and what it can do
///
/// Which isolation tier each living worker has, what that means on its machine, and why it has no stronger one.
#[utoipa::path(get, path = "/v1/system", tag = "operation",
    responses((status = 200, description = "The version, and the workers that live", body = SystemBody)))]
pub(crate) async fn get_system(
    State(app): State<App>,
    caller: Caller,
) -> Result<ApiJson<SystemBody>, Problem> {
    caller.require(Permission::Read)?;
    let workers = app.store.living_workers().await?;
    let workers = workers.into_iter().filter_map(told).collect();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(ApiJson(SystemBody { version, isolation: SystemIsolation { workers } }))
}

/// None of a worker of another version, which tells nothing that this one understands.
fn told(WorkerStatus { node, isolation }: WorkerStatus) -> Option<WorkerBody> {
    match serde_json::from_value(isolation.unwrap_or_default()) {
        Ok(isolation) => Some(WorkerBody { node, isolation }),
        Err(error) => {
            warn!(worker.node = node, %error, "the worker {node} is of another version; what it can do is not known");
            None
        }
    }
}
