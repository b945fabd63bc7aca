//! Users of the kernel for sandboxes, where the gate is root: each that runs has one of its own.
//!
//! A user is taken by listening on an abstract socket of its name, which the kernel gives back when
//! this process ends, however it ends. So two gates on one host never use the same one.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Sandboxes at once on one host.
const USERS_MAX: u32 = 1024;

/// Where the users begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uids(pub(super) u32);

/// A user that nobody else takes while this lives.
#[derive(Debug)]
pub(super) struct Uid {
    pub(super) number: u32,
    _taken: UnixListener,
}

impl Uids {
    pub(super) fn take(self) -> io::Result<Uid> {
        for number in self.0..self.0.saturating_add(USERS_MAX) {
            let name = SocketAddr::from_abstract_name(format!("donegate-user-{number}"))?;
            match UnixListener::bind_addr(&name) {
                Ok(taken) => return Ok(Uid { number, _taken: taken }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("every user for sandboxes on this host is taken"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_taken_once_and_given_back() {
        let uids = Uids(3_900_000_000);
        let (first, second) = (uids.take().unwrap(), uids.take().unwrap());
        assert_ne!(first.number, second.number);
        let number = first.number;
        drop(first);
        assert_eq!(uids.take().unwrap().number, number);
    }
}
