//! A stub of the gate's API: answers as a test says, and remembers what it was asked.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A running stub; it ends when it is dropped.
pub(crate) struct Stub {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _stop: oneshot::Sender<()>,
}

/// One request that was made.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The method, the path, and the query: `GET /v1/runs/…?wait=50`.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// How many requests of the same method and path came before it.
    pub(crate) before: usize,
}

/// What the stub answers.
pub(crate) struct Answer {
    status: u16,
    media_type: &'static str,
    location: Option<&'static str>,
    body: Vec<u8>,
}

impl Stub {
    /// Starts on a free port.
    pub(crate) fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    /// Starts on this listener, which may hold connections already.
    pub(crate) fn start_on(
        listener: TcpListener,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        listener.set_nonblocking(true).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel::<()>();
        let (answer, remembered) = (Arc::new(answer), Arc::clone(&seen));
        let router = Router::new().fallback(move |request: Request| {
            let (answer, remembered) = (Arc::clone(&answer), Arc::clone(&remembered));
            async move { reply(request, &remembered, answer.as_ref()).await }
        });
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { url, seen, _stop: stop }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Method, path, and query of all requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|it| it.line).collect()
    }
}

async fn reply(
    request: Request,
    remembered: &Mutex<Vec<Seen>>,
    answer: &(dyn Fn(&Seen) -> Answer + Send + Sync),
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap().to_vec();
    let line = format!("{} {}", parts.method, parts.uri);
    let route = |line: &str| line.split('?').next().map(str::to_owned);
    let seen = {
        let mut all = remembered.lock().unwrap();
        let before = all.iter().filter(|it: &&Seen| route(&it.line) == route(&line)).count();
        let seen = Seen { line, headers: parts.headers, body, before };
        all.push(seen.clone());
        seen
    };
    let answer = answer(&seen);
    let mut response =
        Response::builder().status(answer.status).header("content-type", answer.media_type);
    if let Some(location) = answer.location {
        response = response.header("location", location);
    }
    response.body(answer.body.into()).unwrap()
}

impl Seen {
    pub(crate) fn is(&self, start: &str) -> bool {
        self.line.starts_with(start)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Answer {
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap();
        Self { status, media_type: "application/json", location: None, body }
    }

    pub(crate) fn problem(body: &gate_api::ProblemBody) -> Self {
        let media_type = "application/problem+json";
        Self { media_type, ..Self::json(body.status, body) }
    }

    pub(crate) fn text(media_type: &'static str, body: &str) -> Self {
        Self { status: 200, media_type, location: None, body: body.as_bytes().to_vec() }
    }

    pub(crate) fn html(status: u16) -> Self {
        let body = b"<html>\x1b[31mnot a gate</html>".to_vec();
        Self { status, media_type: "text/html", location: None, body }
    }

    pub(crate) fn redirect(location: &'static str) -> Self {
        Self { location: Some(location), ..Self::html(301) }
    }
}
