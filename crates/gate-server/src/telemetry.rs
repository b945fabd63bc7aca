//! Logs and metrics: set up once for the process.

use std::io::IsTerminal;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::LogConfig;

/// Upper bounds of durations, in seconds: from one database round trip to an hour's run.
const DURATION_BUCKETS_SECONDS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0];

/// Writes logs to standard error from here on. A second call changes nothing.
pub fn log_to_stderr(config: &LogConfig) {
    let filter = EnvFilter::try_new(&config.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // What collects a container's log is no terminal.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // An error means that a subscriber is there already: the tests start many gates in one process.
    let _set = if config.json {
        builder.json().flatten_event(true).try_init().is_ok()
    } else {
        builder.with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init().is_ok()
    };
}

/// The recorder of this process's metrics.
pub(crate) fn metrics() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            let durations = Matcher::Suffix("_seconds".to_owned());
            let builder = PrometheusBuilder::new()
                .set_buckets_for_metric(durations, &DURATION_BUCKETS_SECONDS)
                .unwrap_or_else(|_| PrometheusBuilder::new());
            let recorder = builder.build_recorder();
            let handle = recorder.handle();
            // An error means that another recorder is there already; ours then counts nothing.
            let _installed = ::metrics::set_global_recorder(recorder).is_ok();
            handle
        })
        .clone()
}
