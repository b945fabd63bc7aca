//! An orchestrator's side of callbacks: takes them, verifies them, and can be told to refuse some.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use gate_server::callback::{
    CallbackSecret, HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, Signed,
};
use gate_server::clock::{Clock, SystemClock};
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A test that waits longer for its callbacks has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A listening receiver; dropping it ends it.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    _task: JoinSet<()>,
}

/// One callback that came in, was verified, and was accepted.
#[derive(Debug, Clone)]
pub struct Received {
    /// Its `webhook-id`.
    pub id: String,
    /// What it tells.
    pub body: Value,
}

#[derive(Debug)]
struct Shared {
    secret: CallbackSecret,
    inside: Mutex<Inside>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    accepted: Vec<Received>,
    /// Ids that were answered with another status than 204, as often as they were.
    refused: Vec<String>,
    faults: Vec<String>,
    /// What the next ones are answered with.
    answers: VecDeque<u16>,
}

impl Receiver {
    /// Listens on a free port of the loopback interface for what is signed with this secret.
    ///
    /// # Panics
    /// When the secret is none.
    pub async fn listen(secret: &str) -> Self {
        let secret = secret.parse().unwrap();
        let shared = Arc::new(Shared { secret, inside: Mutex::default(), changed: Notify::new() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(Arc::clone(&shared));
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _task: task }
    }

    /// Where callbacks go.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/hooks/gate", self.address)
    }

    /// The next callback is answered with this status; the ones after it as usual.
    pub fn answer_next(&self, status: u16) {
        self.shared.lock().answers.push_back(status);
    }

    /// Waits until this many callbacks were accepted, and returns all that were.
    ///
    /// # Panics
    /// When they do not come, or one is not signed as it should be.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        let wait = async {
            loop {
                let mut changed = std::pin::pin!(self.shared.changed.notified());
                changed.as_mut().enable();
                let accepted = self.accepted();
                if accepted.len() >= count {
                    return accepted;
                }
                changed.await;
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        waited.unwrap_or_else(|_| panic!("{count} callbacks did not come: {:?}", self.accepted()))
    }

    /// What was accepted until now.
    ///
    /// # Panics
    /// When a callback was not signed as it should be.
    #[must_use]
    pub fn accepted(&self) -> Vec<Received> {
        let inside = self.shared.lock();
        assert!(inside.faults.is_empty(), "{:?}", inside.faults);
        inside.accepted.clone()
    }

    /// The ids of what was refused on purpose.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.shared.lock().refused.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By our own verifier, and by the reference implementation.
    fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<Received, String> {
        let header = |name: &str| {
            let value = headers.get(name).and_then(|it| it.to_str().ok());
            value.ok_or_else(|| format!("no header {name}"))
        };
        let id = header(HEADER_ID)?;
        let (timestamp, signature) = (header(HEADER_TIMESTAMP)?, header(HEADER_SIGNATURE)?);
        let signed = Signed { id, timestamp, signature, body };
        signed.verify(&self.secret, SystemClock.now()).map_err(|it| it.to_string())?;
        let webhook = Webhook::new(&self.secret.expose()).map_err(|it| it.to_string())?;
        webhook.verify(body, headers).map_err(|it| it.to_string())?;
        let body = serde_json::from_slice(body).map_err(|it| it.to_string())?;
        Ok(Received { id: id.to_owned(), body })
    }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let verified = shared.verify(&headers, &body);
    let mut inside = shared.lock();
    let answer = match verified {
        Err(fault) => {
            inside.faults.push(fault);
            401
        }
        Ok(received) => match inside.answers.pop_front() {
            Some(status) => {
                inside.refused.push(received.id);
                status
            }
            None => {
                inside.accepted.push(received);
                204
            }
        },
    };
    drop(inside);
    shared.changed.notify_waiters();
    StatusCode::from_u16(answer).unwrap()
}
