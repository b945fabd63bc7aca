//! What the gate and an init say to each other: one set-up, then one order and one answer for each command.
//!
//! Each message is a JSON document behind its length. An order carries the descriptors that become
//! the command's output; a refusal names its stage. End of file from the gate means *end it all*,
//! which is also what the kernel says when the gate is killed.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::workspace::Prepared;

/// A message is never longer: the largest command and its variables fit.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Standard output and standard error.
pub(crate) const DESCRIPTORS_MAX: usize = 2;

/// What an init says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) pid: i32,
}

/// How the commands of one run are walled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetUp {
    pub(crate) walls: Walls,
    /// The user that the commands become, where the gate is root.
    pub(crate) uid: Option<u32>,
    /// Where commands start, as they see it.
    pub(crate) directory: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) bounds: Bounds,
}

/// The walls of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Walls {
    None,
    Landlock(LandlockWalls),
    Namespace(NamespaceWalls),
    /// What a container engine has put up already.
    Container(ContainerWalls),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockWalls {
    /// May be read and executed, with all below; what is not there is passed over.
    pub(crate) readable: Vec<PathBuf>,
    /// May be written as well.
    pub(crate) writable: Vec<PathBuf>,
    /// The port of the gate's proxy on 127.0.0.1, the only one that may be connected to.
    pub(crate) proxy_port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamespaceWalls {
    /// An empty directory of this run, on which the new root is built.
    pub(crate) place: PathBuf,
    /// What the workspace begins as: directories with `workspace` and `home`, the lowest first.
    pub(crate) layers: Vec<PathBuf>,
    /// Whether they are laid under, or copied.
    pub(crate) overlay: bool,
    /// Where what is written stays when the sandbox is gone: an empty directory.
    pub(crate) keep: Option<PathBuf>,
    /// Laid into the new root read-only, where they are.
    pub(crate) readable: Vec<PathBuf>,
    /// Whether the gate's proxy gets a listener inside.
    pub(crate) proxy: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerWalls {
    /// Whether the gate's proxy gets a listener inside.
    pub(crate) proxy: bool,
    /// What the engine was asked to bound memory and what is written to, together.
    pub(crate) engine_memory_bytes: u64,
    /// The same for processes.
    pub(crate) engine_processes: u64,
}

/// What the init itself enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Of all processes together; watched where no cgroup counts it.
    pub(crate) memory_bytes: Option<u64>,
    /// Whether a cgroup counts it, so that the kernel need not bound each process.
    pub(crate) memory_in_cgroup: bool,
    /// Processes and threads of the command.
    pub(crate) processes_max: Option<u64>,
    /// Processes and threads of its user, where no cgroup counts those of the command.
    pub(crate) processes_of_user: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) cpu_ms: Option<u64>,
    /// Of the file system in memory that everything is written to, where there is one.
    pub(crate) disk_bytes: u64,
    pub(crate) disk_entries: u64,
    /// Of each file, where nothing bounds all of them.
    pub(crate) file_bytes: Option<u64>,
}

/// What an init says when its walls stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) landlock_abi: Option<u32>,
    pub(crate) loopback: bool,
}

/// What the gate wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    Run {
        words: Vec<OsString>,
    },
    /// Ends the command that runs.
    CutOff,
    /// Hands over what the last command wrote into files that match: a [`Results`] and one descriptor with their bytes.
    Results {
        globs: Vec<String>,
    },
    /// Tells of each of these whether it is there for a command: a list of yes and no.
    Look {
        wanted: Vec<Named>,
    },
    /// Tells which of these protected files are not as they were prepared: their places in the list.
    Altered {
        files: Vec<Prepared>,
    },
    /// Puts this one back, with the bytes of its one descriptor; a link has none. The answer is a [`Restored`].
    Restore {
        file: Prepared,
    },
}

/// What a command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Named {
    /// Looked up as for executing it.
    Program(OsString),
    /// Relative to the workspace.
    Path(OsString),
}

/// What became of protected files that a command has altered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Restored {
    /// All are as they were prepared.
    AsPrepared,
    /// The commands until now have filled the disk of the run, so that they could not be put back.
    NoRoom,
}

/// Result files, whose bytes stand in this order behind one descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Results(pub(crate) Vec<(String, u64)>);

/// How a command ended, and what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) how: HowItEnded,
    pub(crate) cpu_us: u64,
    pub(crate) memory_peak_bytes: u64,
    pub(crate) stragglers_killed: u32,
    /// Whether there was no more room to write to.
    pub(crate) disk_was_full: bool,
    /// Whether as many processes were seen as there may be.
    pub(crate) process_limit_hit: bool,
}

impl Record {
    /// It used nothing that is known.
    pub(crate) fn plain(how: HowItEnded) -> Self {
        Self {
            how,
            cpu_us: 0,
            memory_peak_bytes: 0,
            stragglers_killed: 0,
            disk_was_full: false,
            process_limit_hit: false,
        }
    }
}

/// How the init saw it end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HowItEnded {
    Exited(i32),
    Signal(i32),
    NotFound,
    NotExecutable(i32),
    OutOfMemory,
    CpuLimit,
    /// It made more files than it may; where a file system counts them, that says so by itself.
    DiskFull,
    /// The gate said so.
    CutOff,
}

/// What an init could not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{stage}: {detail}")]
pub(crate) struct Refusal {
    pub(crate) stage: String,
    pub(crate) detail: String,
    pub(crate) errno: Option<i32>,
}

impl Refusal {
    /// For `map_err`.
    pub(crate) fn at<E: Into<io::Error>>(stage: &str) -> impl FnOnce(E) -> Self {
        move |error| {
            let error = error.into();
            Self { stage: stage.to_owned(), detail: error.to_string(), errno: error.raw_os_error() }
        }
    }

    pub(crate) fn says(stage: &str, detail: &str) -> Self {
        Self { stage: stage.to_owned(), detail: detail.to_owned(), errno: None }
    }
}

/// Sends one message, and descriptors with it.
pub(crate) fn send<T: Serialize>(
    line: &UnixStream,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let sent = sendmsg(line, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut line = line;
    line.write_all(&length[sent..])?;
    line.write_all(&body)
}

/// Takes one message with its descriptors; `None` at the end of the file.
pub(crate) fn receive<T: DeserializeOwned>(
    line: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = loop {
        let mut parts = [IoSliceMut::new(&mut length)];
        match recvmsg(line, &mut parts, &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got?.bytes,
        }
    };
    if got == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let mut line = line;
    line.read_exact(&mut length[got..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other("a message is longer than any of ours"));
    }
    let mut body = vec![0; length];
    line.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, descriptors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_message_arrives_whole_and_with_its_descriptors() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let words = vec![OsString::from("sh"), "x".repeat(100_000).into()];
        let order = Order::Run { words };
        let sent = order.clone();
        let sending = std::thread::spawn(move || {
            send(&here, &sent, &[writer.as_fd(), writer.as_fd()]).unwrap();
        });
        let (got, descriptors) = receive::<Order>(&there).unwrap().unwrap();
        sending.join().unwrap();
        assert_eq!((got, descriptors.len()), (order, 2));
        std::fs::File::from(descriptors.into_iter().next().unwrap()).write_all(b"said").unwrap();
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "said");
    }

    #[test]
    fn the_end_of_the_gate_is_no_message_and_half_a_message_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert!(receive::<Order>(&there).unwrap().is_none());
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&[9, 0, 0, 0, b'{']).unwrap();
        drop(here);
        receive::<Order>(&there).unwrap_err();
    }
}
