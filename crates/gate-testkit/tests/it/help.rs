//! What several stories share: words out of JSON, and commands that a test holds and lets go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The kinds of a verdict's findings, in their order.
pub(crate) fn kinds(verdict: &Value) -> Vec<&str> {
    let findings = verdict["findings"].as_array().unwrap();
    findings.iter().map(|it| it["kind"].as_str().unwrap()).collect()
}

/// The finding of a kind.
#[track_caller]
pub(crate) fn finding<'a>(verdict: &'a Value, kind: &str) -> &'a Value {
    let findings = verdict["findings"].as_array().unwrap();
    findings.iter().find(|it| it["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {verdict:#}"))
}

/// Commands that say when they run, and go on when they are told to.
pub(crate) struct Barrier {
    directory: TempDir,
}

impl Barrier {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A script that writes its process id, and ends when the test lets it.
    pub(crate) fn script(&self) -> String {
        let directory = self.directory.path().display();
        format!(
            "echo $$ > {directory}/pid.new\nmv {directory}/pid.new {directory}/pid\n\
             until test -e {directory}/go; do sleep 0.02; done"
        )
    }

    /// Waits until the script runs, and tells its process id.
    pub(crate) async fn entered(&self) -> u32 {
        let path = self.directory.path().join("pid");
        wait_until(&format!("{} is there", path.display()), || path.exists()).await;
        std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }

    pub(crate) fn let_go(&self) {
        std::fs::write(self.directory.path().join("go"), "").unwrap();
    }
}

/// Looks again and again; for what sends no event.
pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it never was so that {what}");
        sleep(LOOK_EVERY).await;
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
