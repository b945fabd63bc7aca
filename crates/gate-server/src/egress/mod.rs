//! The way out of a sandbox with `network: full`: a forward proxy that reaches the public and nothing of ours.
//!
//! A sandbox has no route of its own. It gets a listener in its own network, and the gate serves it:
//! `CONNECT host:port` for TLS, and requests with a whole URL for plain HTTP. Names are looked up
//! here, once; what was checked is what is connected to. What is on the other side of the listener is
//! hostile: headers, connections, and silence are bounded.

mod exchange;
mod idle;
mod target;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::callback::Networks;

/// Names that are looked up at once, for all sandboxes: each keeps a thread busy.
const LOOKUPS_MAX: usize = 32;
/// After a failed accept (too many open files), before the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bounds of one sandbox's way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressLimits {
    /// Connections at once; more wait.
    pub connections_max: usize,
    /// A request's line and headers.
    pub header_bytes_max: usize,
    /// How long a request's line and headers may take to arrive.
    pub header: Duration,
    /// How long the lookup of a name, and a connection to it, may take each.
    pub connect: Duration,
    /// How long nothing may move.
    pub idle: Duration,
    /// How long one connection may last.
    pub total: Duration,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            connections_max: 64,
            header_bytes_max: 16 * 1024,
            header: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(3600),
        }
    }
}

/// Serves the ways out of sandboxes. One for a process; it is cheap to clone.
#[derive(Clone)]
pub struct EgressProxy {
    shared: Arc<Shared>,
    runtime: Handle,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    networks: Networks,
    limits: EgressLimits,
    lookups: Semaphore,
}

/// A way out that is open until this is dropped.
struct Serving(AbortHandle);

impl EgressProxy {
    /// Reaches public addresses, and of the private ones only those in `networks`. Must be made within the runtime.
    #[must_use]
    pub fn new(networks: Networks, limits: EgressLimits) -> Self {
        let shared = Shared { networks, limits, lookups: Semaphore::new(LOOKUPS_MAX) };
        Self { shared: Arc::new(shared), runtime: Handle::current() }
    }
}

impl gate_exec::Egress for EgressProxy {
    fn serve(&self, listener: std::net::TcpListener) -> io::Result<Box<dyn Send>> {
        listener.set_nonblocking(true)?;
        let listener = {
            let _within = self.runtime.enter();
            TcpListener::from_std(listener)?
        };
        let serving = self.runtime.spawn(accept(listener, Arc::clone(&self.shared)));
        Ok(Box::new(Serving(serving.abort_handle())))
    }
}

impl fmt::Debug for EgressProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressProxy").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Its connections are in a set that it owns, and end with it.
        self.0.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let slots = Arc::new(Semaphore::new(shared.limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        // Who comes when all are taken waits in the listener's backlog.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                warn!(%error, "could not accept a connection from a sandbox");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            serve_connection(stream, &shared).await;
            drop(slot);
        });
    }
}

async fn serve_connection(stream: TcpStream, shared: &Arc<Shared>) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "could not switch off Nagle's algorithm");
    }
    let served = exchange::serve(stream, Arc::clone(shared));
    if timeout(shared.limits.total, served).await.is_err() {
        debug!("a connection from a sandbox was ended at its total time");
    }
}
