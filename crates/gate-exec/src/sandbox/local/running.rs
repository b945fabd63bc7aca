//! The sandbox of one run: its init at work.

use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use gate_core::{NetworkAccess, PathPattern, Wanted};
use rustix::process::getuid;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::super::outcome::{ended, failed, look, restore, results};
use super::super::room::OwnRoom;
use super::super::uids::Uid;
use super::super::way_out::Guard;
use super::super::{Ended, Job, ResultFile, Sandbox, SandboxError};
use super::LocalTier;
use super::place::sweep_shared_memory;
use crate::attend::{self, AttendError, Init, Task};
use crate::disk;
use crate::wire::Restored;
use crate::workspace::ProtectedFiles;

/// The commands of one run.
#[derive(Debug)]
pub(super) struct LocalSandbox {
    pub(super) tier: LocalTier,
    pub(super) room: OwnRoom,
    pub(super) root: PathBuf,
    /// Away while a command runs.
    pub(super) init: Option<Init>,
    pub(super) uid: Option<Uid>,
    pub(super) landlock_abi: Option<u32>,
    pub(super) proxy: Guard,
}

#[async_trait]
impl Sandbox for LocalSandbox {
    fn root(&self) -> &Path {
        &self.root
    }

    fn kernel_uid(&self) -> u32 {
        self.uid.as_ref().map_or_else(|| getuid().as_raw(), |it| it.number)
    }

    fn landlock_abi(&self) -> Option<u32> {
        self.landlock_abi
    }

    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let lost = |it| self.tier.failed("running the command", it);
        let task = Task {
            words: job.command.to_words().into_iter().map(Into::into).collect(),
            time: job.time_limit,
            output_bytes: job.output_bytes_max,
            logs: Some(job.logs.clone()),
            disk: (!self.tier.is_namespace()).then(|| {
                let (bytes, entries) = (job.limits.disk_bytes(), job.limits.disk_entries());
                (self.room.place.join("run"), disk::Room { bytes, entries })
            }),
        };
        let mut init =
            self.init.take().ok_or_else(|| lost(io::Error::other("its init is gone")))?;
        let work = move |cancelled: &io::PipeReader| {
            let finished = init.run(&task, cancelled);
            (init, finished)
        };
        let (init, finished) = attend::with_thread(work, cancel).await.map_err(lost)?;
        self.init = Some(init);
        let tier = self.tier.tier;
        ended(finished.map_err(|it| failed(tier, it))?, job, tier)
    }

    async fn results(&mut self, patterns: &[PathPattern]) -> Result<Vec<ResultFile>, SandboxError> {
        results(&mut self.init, patterns, self.tier.tier).await
    }

    async fn look(&mut self, wanted: &[Wanted]) -> Result<Vec<bool>, SandboxError> {
        look(&mut self.init, wanted, self.tier.tier).await
    }

    async fn restore(&mut self, protected: &ProtectedFiles) -> Result<Restored, SandboxError> {
        restore(&mut self.init, protected, self.tier.tier).await
    }

    async fn with_network(
        mut self: Box<Self>,
        network: NetworkAccess,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        if network == self.room.network {
            return Ok(self);
        }
        self.room.network = network;
        if self.tier.is_namespace() && network == NetworkAccess::None {
            // The listener was the only way out of this network.
            self.proxy = Guard(None);
            return Ok(self);
        }
        let Self { tier, room, init, uid, .. } = *self;
        let lost = tier.clone();
        let work = move || {
            init.map_or(Ok(()), Init::close).map_err(|it| failed(tier.tier, it))?;
            tier.put_up(room, uid)
        };
        let renewed = spawn_blocking(work).await;
        let renewed =
            renewed.map_err(|it| lost.failed("a thread of the gate", io::Error::other(it)));
        renewed.and_then(|it| it).map(|it| Box::new(it) as Box<dyn Sandbox>)
    }

    async fn close(mut self: Box<Self>) -> Result<(), SandboxError> {
        let Some(init) = self.init.take() else { return Ok(()) };
        let tier = self.tier.tier;
        let closed = spawn_blocking(move || init.close()).await;
        let closed = closed.map_err(|it| AttendError::System {
            stage: "taking the sandbox down",
            source: io::Error::other(it),
        });
        if let Some(uid) = &self.uid {
            sweep_shared_memory(uid.number);
        }
        closed.and_then(|it| it).map_err(|it| failed(tier, it))
    }
}
