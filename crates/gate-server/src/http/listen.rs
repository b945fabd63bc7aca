//! Connections: accepted, bounded in time, and ended when the process stops.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

/// A client has this long to send its request line and headers.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// After a failed accept (too many open files), before the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stopping`; then open connections finish their request, and this returns when the last has ended.
pub(crate) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    stopping: CancellationToken,
) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                warn!(error = %error, "could not accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            debug!(error = %error, "could not switch off Nagle's algorithm");
        }
        let service = TowerToHyperService::new(router.clone());
        let stopping = stopping.clone();
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_READ_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                debug!(error = %error, "a connection ended early");
            }
        });
    }
    connections.close();
    connections.wait().await;
}
