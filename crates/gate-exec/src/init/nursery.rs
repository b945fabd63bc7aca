//! A process that stands ready to become inits: a fork of it costs a tenth of a new program.
//!
//! For each descriptor that the gate sends it forks a child, which attends to a run at the other end.
//! It keeps nothing of any run, and ends with the gate.

use std::io;
use std::os::unix::net::UnixStream;

use super::sys::{self, Fork};
use super::{greet_and_attend, leave};
use crate::wire;

/// Until the gate is gone.
pub(super) fn serve(line: &UnixStream) -> io::Result<()> {
    sys::let_children_go()?;
    while let Some(((), descriptors)) = wire::receive::<()>(line)? {
        for run in descriptors.into_iter().map(UnixStream::from) {
            match sys::fork()? {
                Fork::Parent(_) => {}
                Fork::Child => {
                    sys::wait_for_children_again()?;
                    leave(&greet_and_attend(&run));
                }
            }
        }
    }
    Ok(())
}
