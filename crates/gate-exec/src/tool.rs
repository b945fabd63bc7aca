//! Runs a tool of the gate's own, such as git, below an init and within bounds, but without walls.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::attend::{self, Finished, Init, Task};
use crate::wire::{Bounds, SetUp, Walls};

/// What a tool finds around it. It inherits nothing.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    /// The largest file that it may write.
    pub(crate) file_bytes_max: u64,
}

/// Runs it to its end.
pub(crate) async fn run(
    tool: Tool,
    task: Task,
    cancel: &CancellationToken,
) -> io::Result<Finished> {
    let Tool { variables, directory, file_bytes_max } = tool;
    let bounds = Bounds { file_bytes: Some(file_bytes_max), ..Bounds::default() };
    let set_up = SetUp { walls: Walls::None, uid: None, directory, variables, bounds };
    let work = move |cancelled: &io::PipeReader| {
        let mut init = Init::start(&set_up).map_err(io::Error::other)?;
        let finished = init.run(&task, cancelled).map_err(io::Error::other)?;
        init.close().map_err(io::Error::other)?;
        Ok(finished)
    };
    attend::with_thread(work, cancel).await?
}
