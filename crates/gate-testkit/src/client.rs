//! A client with one key: plain HTTP, as any program would speak it.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// A test that waits longer for one answer has failed.
const ANSWER_SECONDS_MAX: u64 = 90;

/// Somebody who calls the gate.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

/// What the gate answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its bytes.
    pub body: Bytes,
}

impl Client {
    pub(crate) fn new(base: String, key: Option<String>) -> Self {
        // An error means that a provider was installed before, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(ANSWER_SECONDS_MAX))
            .build()
            .unwrap();
        Self { http, base, key }
    }

    /// The same caller with another key, or with none.
    #[must_use]
    pub fn with_key(&self, key: Option<&str>) -> Self {
        Self { key: key.map(ToOwned::to_owned), ..self.clone() }
    }

    /// A request that a test goes on with.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.header(AUTHORIZATION, format!("Bearer {key}")),
            None => request,
        }
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// `GET` of what must be there.
    ///
    /// # Panics
    /// When it is not.
    pub async fn read(&self, path: &str) -> Value {
        self.get(path).await.expect(200)
    }

    /// `POST` of a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body)).await
    }

    /// `POST` of a JSON body with more headers.
    pub async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let request = headers
            .iter()
            .fold(self.request(Method::POST, path), |it, (name, value)| it.header(*name, *value));
        Answer::of(request.json(body)).await
    }

    /// `POST` of these very bytes as JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        Answer::of(request.body(body.into())).await
    }

    /// `PUT` of bytes.
    pub async fn put_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(Method::PUT, path);
        Answer::of(request.header("content-type", "application/octet-stream").body(body.into()))
            .await
    }
}

impl Answer {
    /// Sends a request.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        Self { status, headers, body }
    }

    /// The JSON that it is.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|it| panic!("{it}: {} {:?}", self.status, self.body))
    }

    /// The JSON of an answer that must have this status.
    ///
    /// # Panics
    /// When it has another one.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The code of a problem, after its form was checked.
    ///
    /// # Panics
    /// When this is no well-formed problem of this status, or a fault of the gate.
    #[track_caller]
    #[must_use]
    pub fn problem(&self, status: u16) -> String {
        let body = self.expect(status);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{body}");
        assert_eq!(body["status"], status, "{body}");
        assert!(body["detail"].as_str().is_some_and(|it| !it.is_empty()), "{body}");
        assert_eq!(body["request_id"].as_str(), self.header("x-request-id"), "{body}");
        let code = body["code"].as_str().unwrap();
        assert_eq!(body["type"], format!("urn:donegate:problem:{code}"), "{body}");
        code.to_owned()
    }

    /// Where the faults of a problem lie.
    ///
    /// # Panics
    /// When it names none.
    #[must_use]
    pub fn pointers(&self) -> Vec<String> {
        let body = self.json();
        let errors = body["errors"].as_array().unwrap();
        errors.iter().map(|it| it["pointer"].as_str().unwrap().to_owned()).collect()
    }

    /// A header's text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let name: HeaderName = name.parse().unwrap();
        self.headers.get(name).and_then(|it| it.to_str().ok())
    }
}
