//! The gate as a process: HTTP, workers, callbacks, configuration.
//!
//! It contains no SQL and starts no process itself. [`Gate::start`] is everything that `donegate
//! serve` does, so that the executable and the tests start the same thing.
#![forbid(unsafe_code)]

mod api_key;
mod archives;
pub mod callback;
pub mod clock;
mod config;
pub mod egress;
mod gate;
mod http;
mod logs;
mod machine;
mod payload;
mod pipeline;
mod sweeper;
mod telemetry;
mod tiers;
mod worker;

pub use api_key::{ApiKeyError, ApiKeySecret};
pub use config::{
    CallbackConfig, Config, ConfigError, LogConfig, Overrides, PostgresConfig, Role, SETTINGS,
    SandboxConfig, Setting, TierChoice, WorkerConfig, WorkspaceConfig,
};
pub use gate::{Gate, StartError, migrate};
pub use gate_exec::init::take_over_if_asked as become_sandbox_if_asked;
pub use http::openapi;
pub use machine::{Surveyed, survey};
pub use telemetry::log_to_stderr;
pub use tiers::NoTier;
