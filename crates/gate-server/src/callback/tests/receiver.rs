//! A receiver: a real HTTP server that keeps what it got and answers as it was told to.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Nothing takes this long; a test that waits for longer fails.
const PATIENCE: Duration = Duration::from_secs(60);
const BODY_BYTES_MAX: usize = 64 * 1024;
const PIECE_BYTES: usize = 64 * 1024;

/// How the receiver answers.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Status(u16),
    With(u16, &'static str, String),
    /// Takes the request, and says nothing.
    Hang,
    /// A body without an end.
    Endless(u16),
}

/// A callback as it came.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) port: u16,
    /// Bytes of endless bodies that were taken from it.
    pub(super) body_bytes: Arc<AtomicU64>,
    received: mpsc::UnboundedReceiver<Received>,
    _server: JoinSet<()>,
}

#[derive(Debug, Clone)]
struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    received: mpsc::UnboundedSender<Received>,
    body_bytes: Arc<AtomicU64>,
}

impl Receiver {
    /// Gives these answers, one after the other, and 200 from then on.
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let body_bytes = Arc::new(AtomicU64::new(0));
        let script = Script {
            replies: Arc::new(Mutex::new(replies.into_iter().collect())),
            received: sender,
            body_bytes: Arc::clone(&body_bytes),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = Router::new().fallback(answer).with_state(script);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { port, body_bytes, received, _server: server }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hooks/gate?token=t0psecret", self.port)
    }

    /// The next callback; waits for it.
    pub(super) async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(PATIENCE, self.received.recv()).await;
        next.expect("a callback comes").expect("the receiver lives")
    }

    /// Nothing came that was not looked at.
    pub(super) fn is_empty(&mut self) -> bool {
        self.received.try_recv().is_err()
    }
}

async fn answer(State(script): State<Script>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    script.received.send(Received { headers: head.headers, body }).unwrap();
    let reply = script.replies.lock().unwrap().pop_front();
    let code = |it| StatusCode::from_u16(it).unwrap();
    match reply.unwrap_or(Reply::Status(200)) {
        Reply::Status(status) => code(status).into_response(),
        Reply::With(status, name, value) => (code(status), [(name, value)]).into_response(),
        Reply::Hang => std::future::pending().await,
        Reply::Endless(status) => {
            let pieces = stream::repeat_with(move || {
                let piece = Bytes::from_static(&[b'x'; PIECE_BYTES]);
                script.body_bytes.fetch_add(u64::try_from(piece.len()).unwrap(), Ordering::Relaxed);
                Ok::<_, Infallible>(piece)
            });
            (code(status), Body::from_stream(pieces)).into_response()
        }
    }
}
