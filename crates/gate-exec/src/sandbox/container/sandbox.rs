//! The commands of one run, in its container.

use std::io::{self, PipeReader};
use std::path::Path;

use async_trait::async_trait;
use gate_core::{NetworkAccess, PathPattern, Wanted};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::super::outcome::{ended, failed, look, restore, results};
use super::super::uids::Uid;
use super::super::way_out::Guard;
use super::super::{Ended, Job, ResultFile, Sandbox, SandboxError};
use super::{CONTAINER_WORKSPACE, Seen, TIER, stage};
use crate::attend::{self, AttendError, Init, Task};
use crate::wire::Restored;
use crate::workspace::ProtectedFiles;

/// The commands of one run.
#[derive(Debug)]
pub(super) struct ContainerSandbox {
    /// Away while a command runs.
    pub(super) init: Option<Init>,
    /// Held until the container is gone.
    pub(super) uid: Option<Uid>,
    pub(super) seen: Seen,
    pub(super) network: NetworkAccess,
    pub(super) guard: Guard,
}

#[async_trait]
impl Sandbox for ContainerSandbox {
    fn root(&self) -> &Path {
        Path::new(CONTAINER_WORKSPACE)
    }

    fn kernel_uid(&self) -> u32 {
        self.seen.kernel_uid
    }

    fn landlock_abi(&self) -> Option<u32> {
        self.seen.landlock_abi
    }

    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let lost = |it: io::Error| stage("running the command", it);
        let task = Task {
            words: job.command.to_words().into_iter().map(Into::into).collect(),
            time: job.time_limit,
            output_bytes: job.output_bytes_max,
            logs: Some(job.logs.clone()),
            disk: None,
        };
        let mut init =
            self.init.take().ok_or_else(|| lost(io::Error::other("its init is gone")))?;
        let work = move |cancelled: &PipeReader| {
            let finished = init.run(&task, cancelled);
            (init, finished)
        };
        let (init, finished) = attend::with_thread(work, cancel).await.map_err(lost)?;
        self.init = Some(init);
        ended(finished.map_err(|it| failed(TIER, it))?, job, TIER)
    }

    async fn results(&mut self, patterns: &[PathPattern]) -> Result<Vec<ResultFile>, SandboxError> {
        results(&mut self.init, patterns, TIER).await
    }

    async fn look(&mut self, wanted: &[Wanted]) -> Result<Vec<bool>, SandboxError> {
        look(&mut self.init, wanted, TIER).await
    }

    async fn restore(&mut self, protected: &ProtectedFiles) -> Result<Restored, SandboxError> {
        restore(&mut self.init, protected, TIER).await
    }

    async fn with_network(
        mut self: Box<Self>,
        network: NetworkAccess,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        match (self.network, network) {
            (NetworkAccess::None, NetworkAccess::Full) => {
                self.close().await?;
                let why = "a container that was started without a way out gets none later; let `setup` have `network: full` as well";
                return Err(stage("opening the network", why));
            }
            // The listener was the only way out.
            (NetworkAccess::Full, NetworkAccess::None) => self.guard = Guard(None),
            (NetworkAccess::None, NetworkAccess::None)
            | (NetworkAccess::Full, NetworkAccess::Full) => {}
        }
        self.network = network;
        Ok(self)
    }

    async fn close(mut self: Box<Self>) -> Result<(), SandboxError> {
        let Some(init) = self.init.take() else { return Ok(()) };
        let closed = spawn_blocking(move || init.close()).await;
        let closed = closed.map_err(|it| AttendError::System {
            stage: "taking the sandbox down",
            source: io::Error::other(it),
        });
        closed.flatten().map_err(|it| failed(TIER, it))
    }
}

impl Drop for ContainerSandbox {
    /// Not here: an async task may be what drops it, and an engine takes its time.
    fn drop(&mut self) {
        let Some(init) = self.init.take() else { return };
        let uid = self.uid.take();
        let close = move || {
            if let Err(error) = init.close() {
                tracing::warn!(error = %error, "a container was not taken down; the next start sweeps it");
            }
            drop(uid);
        };
        if let Err(error) = std::thread::Builder::new().name("container".into()).spawn(close) {
            tracing::warn!(error = %error, "no thread to take a container down; the next start sweeps it");
        }
    }
}
