//! For tests, also those of other crates: a scripted sandbox, and test binaries that are their own sandbox init.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gate_core::{
    Isolation, IsolationTier, LogStream, NetworkAccess, Outcome, PathPattern, RunLimits, Usage,
    Wanted,
};
use tokio_util::sync::CancellationToken;

use crate::init;
use crate::run::ended_with;
use crate::sandbox::{Ended, Job, ResultFile, Room, Sandbox, SandboxError, SandboxTier};
use crate::wire::Restored;
use crate::workspace::ProtectedFiles;

/// A test binary's `main` is not ours, so that it becomes an init before `main` where it is asked to.
#[used]
#[expect(unsafe_code, reason = "there is no safe way to run before the test harness does")]
// SAFETY: the section holds pointers to functions that the C runtime calls once, before `main` and on the only thread.
#[unsafe(link_section = ".init_array")]
static TAKE_OVER_IN_TESTS: extern "C" fn() = take_over_in_tests;

extern "C" fn take_over_in_tests() {
    init::take_over_if_asked();
}

/// How one command of a [`FakeSandbox`] ends.
#[derive(Debug, Clone)]
pub struct Scripted {
    outcome: Result<Outcome, &'static str>,
    usage: Usage,
    stragglers_killed: u32,
    printed: Vec<(LogStream, Vec<u8>)>,
}

impl Scripted {
    /// It ends so, and prints nothing.
    #[must_use]
    pub fn ended(outcome: Outcome) -> Self {
        Self {
            outcome: Ok(outcome),
            usage: Usage::default(),
            stragglers_killed: 0,
            printed: Vec::new(),
        }
    }

    /// It exits with this code.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        Self::ended(Outcome::Exited { code })
    }

    /// The sandbox fails at this stage, and nothing is known.
    #[must_use]
    pub fn sandbox_failed(stage: &'static str) -> Self {
        Self { outcome: Err(stage), ..Self::exited(0) }
    }

    /// Before that, it prints this to standard output.
    #[must_use]
    pub fn stdout(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.printed.push((LogStream::Stdout, text.into()));
        self
    }

    /// Before that, it prints this to standard error.
    #[must_use]
    pub fn stderr(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.printed.push((LogStream::Stderr, text.into()));
        self
    }

    /// It used this much.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// So many of its processes were still alive.
    #[must_use]
    pub fn stragglers(self, stragglers_killed: u32) -> Self {
        Self { stragglers_killed, ..self }
    }
}

/// Runs nothing: each command ends as the script says, in order. After the script's end every command exits with 0.
#[derive(Debug, Clone, Default)]
pub struct FakeSandbox(Arc<Script>);

#[derive(Debug, Default)]
struct Script {
    left: Mutex<VecDeque<Scripted>>,
    seen: Mutex<Vec<String>>,
}

impl FakeSandbox {
    /// Plays this script.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        let left = Mutex::new(script.into_iter().collect());
        Self(Arc::new(Script { left, seen: Mutex::default() }))
    }

    /// The commands that were run until now, as a person would type them.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Appends to the script.
    pub fn then(&self, scripted: Scripted) {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner).push_back(scripted);
    }
}

#[async_trait]
impl SandboxTier for FakeSandbox {
    fn tier(&self) -> IsolationTier {
        IsolationTier::Process
    }

    fn keeps_layers(&self) -> bool {
        false
    }

    fn isolation(&self, limits: RunLimits) -> Isolation {
        Isolation { limits, ..gate_core::testing::isolation() }
    }

    async fn open(
        &self,
        room: &Room<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        let root = room.place.join("workspace");
        Ok(Box::new(FakeRoom { root, script: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct FakeRoom {
    root: PathBuf,
    script: Arc<Script>,
}

#[async_trait]
impl Sandbox for FakeRoom {
    fn root(&self) -> &Path {
        &self.root
    }

    fn kernel_uid(&self) -> u32 {
        rustix::process::getuid().as_raw()
    }

    fn landlock_abi(&self) -> Option<u32> {
        None
    }

    async fn run(
        &mut self,
        job: &Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        if cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        let Script { left, seen } = &*self.script;
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(job.command.to_string());
        let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let next = next.unwrap_or_else(|| Scripted::exited(0));
        let tier = IsolationTier::Process;
        let failed = |stage, source| SandboxError::Failed { tier, stage, source };
        let outcome =
            next.outcome.map_err(|stage| failed(stage, io::Error::other("the script says so")))?;
        let ended = ended_with(job, outcome, &next.printed);
        let ended = ended.map_err(|source| failed("writing the logs", source))?;
        Ok(Ended { usage: next.usage, stragglers_killed: next.stragglers_killed, ..ended })
    }

    /// A command that does not run writes nothing.
    async fn results(&mut self, _: &[PathPattern]) -> Result<Vec<ResultFile>, SandboxError> {
        Ok(Vec::new())
    }

    /// Whatever is named is there.
    async fn look(&mut self, wanted: &[Wanted]) -> Result<Vec<bool>, SandboxError> {
        Ok(vec![true; wanted.len()])
    }

    /// Nor does it alter anything.
    async fn restore(&mut self, _: &ProtectedFiles) -> Result<Restored, SandboxError> {
        Ok(Restored::AsPrepared)
    }

    async fn with_network(
        self: Box<Self>,
        _network: NetworkAccess,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        Ok(self)
    }

    async fn close(self: Box<Self>) -> Result<(), SandboxError> {
        Ok(())
    }
}
