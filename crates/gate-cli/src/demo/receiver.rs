//! The demo's orchestrator: receives callbacks, and verifies them with the reference implementation of Standard Webhooks.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use gate_api::CallbackPayload;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Twice what the gate promises to stay below.
const BODY_BYTES_MAX: usize = 40 * 1024;
/// Callbacks that nobody has looked at yet.
const RECEIVED_MAX: usize = 16;

/// A listening receiver; dropping it ends it.
#[derive(Debug)]
pub(super) struct Receiver {
    address: SocketAddr,
    received: mpsc::Receiver<Received>,
    _task: JoinSet<()>,
}

/// One callback that came in.
#[derive(Debug)]
pub(super) struct Received {
    /// Its `webhook-id`.
    pub(super) id: String,
    /// What it says, or why it is not believed.
    pub(super) verified: Result<CallbackPayload, String>,
}

impl Receiver {
    /// Listens on a free port of the loopback interface.
    pub(super) async fn listen(secret: &str) -> io::Result<Self> {
        let webhook = Webhook::new(secret).map_err(|it| io::Error::other(it.to_string()))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (sender, received) = mpsc::channel(RECEIVED_MAX);
        let mut task = JoinSet::new();
        task.spawn(accept(listener, Arc::new(webhook), sender));
        Ok(Self { address, received, _task: task })
    }

    /// Where callbacks go.
    pub(super) fn url(&self) -> String {
        format!("http://{}/hooks/gate", self.address)
    }

    /// The next callback.
    pub(super) async fn next(&mut self) -> Option<Received> {
        self.received.recv().await
    }
}

async fn accept(listener: TcpListener, webhook: Arc<Webhook>, sender: mpsc::Sender<Received>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _peer)) = listener.accept().await {
        let (webhook, sender) = (Arc::clone(&webhook), sender.clone());
        let service = service_fn(move |request| {
            let (webhook, sender) = (Arc::clone(&webhook), sender.clone());
            async move { Ok::<_, Infallible>(receive(request, &webhook, &sender).await) }
        });
        connections.spawn(async move {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A sender that hangs up early is the gate's to log.
            connection.await.ok();
        });
    }
}

async fn receive(
    request: Request<Incoming>,
    webhook: &Webhook,
    sender: &mpsc::Sender<Received>,
) -> Response<Empty<Bytes>> {
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return answer(StatusCode::PAYLOAD_TOO_LARGE),
    };
    let id = parts.headers.get("webhook-id").and_then(|it| it.to_str().ok());
    let id = id.unwrap_or_default().to_owned();
    let verified = webhook
        .verify(&body, &parts.headers)
        .map_err(|it| it.to_string())
        .and_then(|()| serde_json::from_slice(&body).map_err(|it| it.to_string()));
    let status = if verified.is_ok() { StatusCode::NO_CONTENT } else { StatusCode::UNAUTHORIZED };
    // The demo may have ended already.
    sender.send(Received { id, verified }).await.ok();
    answer(status)
}

fn answer(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}
