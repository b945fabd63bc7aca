//! The gate's API as the executable uses it: one method for each request, typed both ways.
//!
//! A method makes one attempt; to try again is left to [`crate::patience`].

use std::time::Duration;

use gate_api::body::Format;
use gate_api::{
    ApiKeyBody, ApiKeyPage, ArchiveBody, CreateApiKey, CreateProject, CreatedApiKey,
    CreatedProject, ProblemBody, ReportAccepted, RunBody, SubmitReport, TaskBody,
};
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, IF_MATCH, LOCATION,
};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use url::{Host, Url};
use uuid::Uuid;

use crate::api_key::ApiKey;
use crate::document::Document;
use crate::error::CliError;
use crate::upload::Upload;

/// A gate in reach answers a connection attempt at once.
const CONNECT_SECONDS_MAX: u64 = 5;
/// What an answer may take, beyond the time that the gate was asked to wait.
const ANSWER_SECONDS_MAX: u64 = 15;
/// For one archive of the largest size, on a slow line.
const UPLOAD_SECONDS_MAX: u64 = 3600;
/// Of an answer that is not a gate's, so much is shown.
const FOREIGN_CHARACTERS_MAX: usize = 200;
/// Names a submission, so that it counts once however often it is sent.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A connection to a gate.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
}

/// A new version of a contract, and what it is made for.
#[derive(Debug)]
pub(crate) struct Amendment<'a> {
    /// The task that gets the new version.
    pub(crate) task: Uuid,
    /// The task's version that the amendment is made for.
    pub(crate) if_match: u64,
    /// Why.
    pub(crate) reason: &'a str,
}

impl Client {
    /// Looks at the address and the key; nothing is sent yet.
    pub(crate) fn new(url: &str, key: &ApiKey) -> Result<Self, CliError> {
        let base = read_base(url)?;
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, key.header()?);
        // An error means that a provider was installed before, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("donegate/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            // A POST that is sent on becomes a GET, and the key would go along.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|source| CliError::Tls { source })?;
        Ok(Self { http, base })
    }

    /// Makes a project.
    pub(crate) async fn create_project(
        &self,
        project: &CreateProject,
    ) -> Result<CreatedProject, CliError> {
        self.send(self.http.post(self.url(&["projects"])).json(project)).await
    }

    /// Makes an API key.
    pub(crate) async fn create_key(
        &self,
        project: &str,
        key: &CreateApiKey,
    ) -> Result<CreatedApiKey, CliError> {
        self.send(self.http.post(self.url(&["projects", project, "keys"])).json(key)).await
    }

    /// All API keys of a project, page by page.
    pub(crate) async fn keys(&self, project: &str) -> Result<Vec<ApiKeyBody>, CliError> {
        let mut keys = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut url = self.url(&["projects", project, "keys"]);
            if let Some(cursor) = &cursor {
                url.query_pairs_mut().append_pair("cursor", cursor);
            }
            let page: ApiKeyPage = self.send(self.http.get(url).timeout(answer_timeout(0))).await?;
            keys.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(keys);
            }
        }
    }

    /// Ends an API key.
    pub(crate) async fn revoke_key(
        &self,
        project: &str,
        key: Uuid,
    ) -> Result<ApiKeyBody, CliError> {
        let url = self.url(&["projects", project, "keys", &key.to_string()]);
        self.send(self.http.delete(url).timeout(answer_timeout(0))).await
    }

    /// Publishes a contract as a new task.
    pub(crate) async fn publish(
        &self,
        project: &str,
        contract: &Document,
        idempotency_key: &HeaderValue,
    ) -> Result<TaskBody, CliError> {
        let url = self.url(&["projects", project, "tasks"]);
        self.send(self.post_contract(url, contract, idempotency_key)).await
    }

    /// Publishes a new version of a task's contract.
    pub(crate) async fn amend(
        &self,
        amendment: &Amendment<'_>,
        contract: &Document,
        idempotency_key: &HeaderValue,
    ) -> Result<TaskBody, CliError> {
        let mut url = self.url(&["tasks", &amendment.task.to_string(), "contracts"]);
        url.query_pairs_mut().append_pair("reason", amendment.reason);
        let request = self.post_contract(url, contract, idempotency_key);
        self.send(request.header(IF_MATCH, format!("\"{}\"", amendment.if_match))).await
    }

    /// Reads a task; the gate answers when it is settled, or when the time is up.
    pub(crate) async fn task(&self, task: Uuid, wait_seconds: u64) -> Result<TaskBody, CliError> {
        self.send(self.get(&["tasks", &task.to_string()], wait_seconds)).await
    }

    /// Reads a run; the gate answers when it is judged, or when the time is up.
    pub(crate) async fn run(&self, run: Uuid, wait_seconds: u64) -> Result<RunBody, CliError> {
        self.send(self.get(&["runs", &run.to_string()], wait_seconds)).await
    }

    /// Reads something of a run that is no JSON of ours, as it is answered.
    pub(crate) async fn run_text(
        &self,
        run: Uuid,
        what: &str,
        query: (&str, &str),
    ) -> Result<Vec<u8>, CliError> {
        let mut url = self.url(&["runs", &run.to_string(), what]);
        url.query_pairs_mut().append_pair(query.0, query.1);
        Ok(self.exchange(self.http.get(url).timeout(answer_timeout(0))).await?.0)
    }

    /// Posts a completion report; the gate answers when it is judged, or when the time is up.
    pub(crate) async fn submit(
        &self,
        task: Uuid,
        report: &SubmitReport,
        idempotency_key: &HeaderValue,
        wait_seconds: u64,
    ) -> Result<ReportAccepted, CliError> {
        let mut url = self.url(&["tasks", &task.to_string(), "reports"]);
        if wait_seconds > 0 {
            url.query_pairs_mut().append_pair("wait", &wait_seconds.to_string());
        }
        let request = self.http.post(url).timeout(answer_timeout(wait_seconds));
        self.send(request.header(IDEMPOTENCY_KEY, idempotency_key).json(report)).await
    }

    /// Uploads a workspace archive.
    pub(crate) async fn upload(
        &self,
        project: &str,
        upload: &Upload,
    ) -> Result<ArchiveBody, CliError> {
        let mut url = self.url(&["workspaces", &upload.sha256.to_hex()]);
        url.query_pairs_mut().append_pair("project", project);
        let request = self
            .http
            .put(url)
            .timeout(Duration::from_secs(UPLOAD_SECONDS_MAX))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, upload.size_bytes)
            .body(upload.body());
        self.send(request).await
    }

    fn url(&self, path: &[&str]) -> Url {
        below(&self.base, path)
    }

    fn get(&self, path: &[&str], wait_seconds: u64) -> RequestBuilder {
        let mut url = self.url(path);
        if wait_seconds > 0 {
            url.query_pairs_mut().append_pair("wait", &wait_seconds.to_string());
        }
        self.http.get(url).timeout(answer_timeout(wait_seconds))
    }

    fn post_contract(&self, url: Url, contract: &Document, key: &HeaderValue) -> RequestBuilder {
        let media_type = match contract.format {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
        };
        self.http
            .post(url)
            .timeout(answer_timeout(0))
            .header(IDEMPOTENCY_KEY, key)
            .header(CONTENT_TYPE, media_type)
            .body(contract.bytes.clone())
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CliError> {
        let (bytes, status) = self.exchange(request).await?;
        serde_json::from_slice(&bytes).ok().ok_or_else(|| self.foreign(&bytes, status))
    }

    /// The bytes of an answer that is a success.
    async fn exchange(&self, request: RequestBuilder) -> Result<(Vec<u8>, StatusCode), CliError> {
        let unreachable = |source: reqwest::Error| {
            // The address is in our own sentence, without the query.
            CliError::Unreachable { url: self.base.to_string(), source: source.without_url() }
        };
        let response = request.send().await.map_err(unreachable)?;
        if response.status().is_redirection() {
            return Err(self.sent_on(&response));
        }
        let status = response.status();
        let bytes = response.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok((bytes.to_vec(), status));
        }
        let problem = serde_json::from_slice::<ProblemBody>(&bytes).ok();
        Err(problem.map_or_else(|| self.foreign(&bytes, status), CliError::refused))
    }

    fn foreign(&self, bytes: &[u8], status: StatusCode) -> CliError {
        CliError::NotAGate {
            url: self.base.to_string(),
            status: status.as_u16(),
            start: String::from_utf8_lossy(bytes).chars().take(FOREIGN_CHARACTERS_MAX).collect(),
        }
    }

    fn sent_on(&self, response: &Response) -> CliError {
        let to = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
        CliError::SentOn { url: self.base.to_string(), to: to.unwrap_or("nowhere").to_owned() }
    }
}

fn answer_timeout(wait_seconds: u64) -> Duration {
    Duration::from_secs(wait_seconds + ANSWER_SECONDS_MAX)
}

fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    url.path_segments_mut()
        .expect("an http URL has a path; `read_base` took no other")
        .pop_if_empty()
        .push("v1")
        .extend(path);
    url
}

/// Where the gate at this address publishes the JSON Schema of contracts.
pub(crate) fn schema_url(base: &str) -> Result<String, CliError> {
    Ok(below(&read_base(base)?, &["schemas", "contract"]).into())
}

fn read_base(text: &str) -> Result<Url, CliError> {
    let refuse = |expected| CliError::Url { url: text.to_owned(), expected };
    let url = Url::parse(text).or(Err(refuse("write it like http://127.0.0.1:8080")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it begins with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The text is not shown: it holds a password.
        let url = format!("{}://…", url.scheme());
        return Err(CliError::Url { url, expected: "the API key is the only credential" });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has no ? and no #"));
    }
    Ok(url)
}

/// A proxy cannot reach what only this machine can.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Client {
        Client::new(url, &ApiKey::from("dg_x".to_owned())).unwrap()
    }

    #[test]
    fn paths_stand_below_the_address_and_are_escaped() {
        let gate = client("https://fleet.example/gate/");
        let url = gate.url(&["projects", "a/b?c", "tasks"]);
        assert_eq!(url.as_str(), "https://fleet.example/gate/v1/projects/a%2Fb%3Fc/tasks");
        assert_eq!(client("http://h:1").url(&["runs"]).as_str(), "http://h:1/v1/runs");
    }

    #[test]
    fn an_address_that_is_none_is_refused_and_a_password_is_not_shown() {
        for text in ["", "gate:8080", "ftp://h", "http://h/?a", "http://h/#a", "http://"] {
            assert!(matches!(read_base(text), Err(CliError::Url { .. })), "{text}");
        }
        let error = read_base("http://me:hunter2@h").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn only_loopback_goes_past_the_proxy() {
        for (text, is) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]", true),
            ("http://localhost", true),
            ("http://10.0.0.1", false),
            ("http://gate", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(text).unwrap()), is, "{text}");
        }
    }
}
