//! One attempt: signs the body anew, posts it through the guard, and says what follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gate_core::Chain;
use gate_store::{Delivery, LeasedCallback};
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, redirect};
use serde::Deserialize;
use url::Url;

use super::answer::{Answer, Consequence, no_answer};
use super::guard::{GuardedResolver, Networks};
use super::secret::SecretKey;
use super::sign::{HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, sign};
use crate::clock::Clock;

const USER_AGENT: &str = concat!("donegate/", env!("CARGO_PKG_VERSION"));
/// An answer is read up to here, so that its connection can be used again; more is cut off.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// How long an attempt may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// Until there is a connection, the look-up of the host included.
    pub connect: Duration,
    /// In all. Well below the lease of a callback.
    pub total: Duration,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(15) }
    }
}

/// Sends callbacks, and keeps connections. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sender {
    client: Client,
    networks: Arc<Networks>,
    key: SecretKey,
    clock: Arc<dyn Clock>,
    limits: SendLimits,
}

/// There can be no HTTP client.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not set up TLS for callbacks; are the certificates of authorities installed (package ca-certificates)?"
)]
pub struct SenderError(#[source] reqwest::Error);

impl Sender {
    /// Signs with secrets derived from `key`, and goes to public addresses and to `networks`.
    ///
    /// # Errors
    /// When this machine has no certificates of authorities.
    pub fn new(
        key: SecretKey,
        networks: Networks,
        clock: Arc<dyn Clock>,
        limits: SendLimits,
    ) -> Result<Self, SenderError> {
        // The client would refuse to be built without one; it does no harm when there is one.
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another provider of cryptography is in place");
        }
        let networks = Arc::new(networks);
        let client = Client::builder()
            .user_agent(USER_AGENT)
            // A proxy would look names up by itself, past the guard.
            .no_proxy()
            .redirect(redirect::Policy::none())
            .dns_resolver(Arc::new(GuardedResolver::new(Arc::clone(&networks))))
            .connect_timeout(limits.connect)
            .timeout(limits.total)
            .build()
            .map_err(SenderError)?;
        Ok(Self { client, networks, key, clock, limits })
    }

    /// Makes one attempt. Whatever happens is an answer, and none is an error of ours.
    pub async fn send(&self, callback: &LeasedCallback) -> Delivery {
        let started = Instant::now();
        let (status, consequence) = self.attempt(callback).await;
        let delay = consequence.delay(callback.step.saturating_add(1), rand::random());
        Delivery {
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            status,
            retry_after: delay,
            error: match consequence {
                Consequence::Delivered => None,
                Consequence::Failed { error, .. } | Consequence::Dead { error } => Some(error),
            },
        }
    }

    async fn attempt(&self, callback: &LeasedCallback) -> (Option<u16>, Consequence) {
        let failed = |error| (None, Consequence::Failed { error, retry_after_seconds: None });
        let url = match Url::parse(&callback.url) {
            Ok(url) => url,
            Err(error) => {
                return (None, Consequence::Dead { error: format!("the URL is none: {error}") });
            }
        };
        if let Err(refusal) = self.networks.check_url(&url) {
            return failed(refusal.to_string());
        }
        match self.post(url, callback).await {
            Ok(answer) => {
                let consequence = Consequence::of(&answer, self.clock.now());
                (Some(answer.status.as_u16()), consequence)
            }
            Err(error) => failed(no_answer(&error, self.limits.total)),
        }
    }

    async fn post(&self, url: Url, callback: &LeasedCallback) -> Result<Answer, reqwest::Error> {
        let now = self.clock.now();
        let (id, timestamp) = (callback.id.to_string(), now.timestamp());
        let mut secrets =
            vec![self.key.callback_secret(callback.project_id, callback.secret_generation)];
        if callback.previous_secret_until.is_some_and(|until| now < until) {
            let previous = callback.secret_generation.saturating_sub(1);
            secrets.push(self.key.callback_secret(callback.project_id, previous));
        }
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(HEADER_SIGNATURE, sign(&secrets, &id, timestamp, callback.body.as_bytes()))
            .header(HEADER_ID, id)
            .header(HEADER_TIMESTAMP, timestamp)
            .body(callback.body.clone());
        if let Some(traceparent) = traceparent(&callback.body) {
            request = request.header("traceparent", traceparent);
        }
        Ok(read(request.send().await?).await)
    }
}

/// Reads what is wanted of an answer. That its body breaks off changes nothing: the status has come.
async fn read(mut response: Response) -> Answer {
    let mut body = Vec::new();
    while body.len() < ANSWER_BYTES_MAX {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = ANSWER_BYTES_MAX - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Ok(None) => break,
            Err(error) => {
                let error = error.without_url();
                tracing::debug!(error = %Chain(&error), "the body of an answer broke off");
                break;
            }
        }
    }
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    Answer {
        status: response.status(),
        retry_after: retry_after.map(str::to_owned),
        from: response.remote_addr().map(|it| it.ip()),
        body,
    }
}

/// The trace of the report that led here: the body has it, as it was written with the event.
fn traceparent(body: &str) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Payload {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        traceparent: Option<String>,
    }
    let payload: Payload = serde_json::from_str(body).ok()?;
    HeaderValue::try_from(payload.data.traceparent?).ok()
}
