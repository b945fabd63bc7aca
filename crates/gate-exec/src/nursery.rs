//! The gate's end of a nursery: a process from which inits are forked, started anew when it is lost.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use crate::spawn;
use crate::stop::KillOnDrop;
use crate::wire;

/// One nursery, for all sandboxes of a gate.
#[derive(Debug, Default)]
pub(crate) struct Nursery(Mutex<Option<Process>>);

#[derive(Debug)]
struct Process {
    line: UnixStream,
    /// Ended when this is dropped; the inits that were forked from it stay until their own lines end.
    _child: KillOnDrop,
}

impl Nursery {
    /// The line to a new init.
    pub(crate) fn init(&self) -> io::Result<UnixStream> {
        let mut process = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, far_end) = UnixStream::pair()?;
        if let Some(process) = &*process
            && wire::send(&process.line, &(), &[far_end.as_fd()]).is_ok()
        {
            return Ok(line);
        }
        let (child, own_line) = spawn::nursery()?;
        wire::send(&own_line, &(), &[far_end.as_fd()])?;
        *process = Some(Process { line: own_line, _child: KillOnDrop(child) });
        Ok(line)
    }
}
