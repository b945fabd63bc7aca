//! A project and the people who work in it.

use serde_json::{Value, json};

use crate::{Answer, Client, Receiver, samples};

/// A project with a key for its orchestrator.
#[derive(Debug)]
pub struct Project {
    /// Its name in paths.
    pub slug: String,
    /// Verifies its callbacks.
    pub secret: String,
    /// May do all that a task needs.
    pub orchestrator: Client,
    admin: Client,
}

impl Project {
    pub(crate) async fn new(slug: &str, secret: String, admin: Client) -> Self {
        let slug = slug.to_owned();
        let mut project = Self { slug, secret, orchestrator: admin.clone(), admin };
        project.orchestrator = project.key(&["orchestrator"]).await;
        project
    }

    /// Somebody with a new key of these roles.
    ///
    /// # Panics
    /// When there is none to be had.
    pub async fn key(&self, roles: &[&str]) -> Client {
        let body = json!({ "name": roles.join("+"), "roles": roles });
        let made = self.admin.post(&self.path("keys"), &body).await.expect(201);
        self.admin.with_key(made["secret"].as_str())
    }

    /// A receiver of this project's callbacks.
    pub async fn receiver(&self) -> Receiver {
        Receiver::listen(&self.secret).await
    }

    /// A path below the project's.
    #[must_use]
    pub fn path(&self, below: &str) -> String {
        format!("/v1/projects/{}/{below}", self.slug)
    }

    /// Registers a task with this contract, and waits for its preflight; its path is `/v1/tasks/{id}`.
    ///
    /// # Panics
    /// When the contract is refused.
    pub async fn post_contract(&self, contract: &Value) -> String {
        let path = self.path("tasks?wait=60");
        let made = self.orchestrator.post(&path, contract).await.expect(201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// Reports that the work of a task is done.
    pub async fn post_report(&self, task: &str, workspace: &Value) -> Answer {
        let report = samples::report(workspace);
        self.orchestrator.post(&format!("/v1/tasks/{task}/reports"), &report).await
    }

    /// Reports, and goes on without the verdict; a quick one may be there already.
    ///
    /// # Panics
    /// When the report is refused.
    pub async fn hand_in(&self, task: &str, workspace: &Value) -> Value {
        let answer = self.post_report(task, workspace).await;
        assert!([200, 202].contains(&answer.status), "{answer:?}");
        answer.json()
    }

    /// Reports, and waits for the verdict.
    ///
    /// # Panics
    /// When the report is refused, or there is no verdict in time.
    pub async fn judge(&self, task: &str, workspace: &Value) -> Value {
        let report = samples::report(workspace);
        let path = format!("/v1/tasks/{task}/reports?wait=60");
        let accepted = self.orchestrator.post(&path, &report).await.expect(200);
        accepted["run"]["verdict"].clone()
    }

    /// Registers a task, reports, and waits for the verdict.
    pub async fn judge_once(&self, contract: &Value, workspace: &Value) -> Value {
        let task = self.post_contract(contract).await;
        self.judge(&task, workspace).await
    }

    /// The run of the newest report of a task, once it has ended.
    ///
    /// # Panics
    /// When there is none.
    pub async fn last_run(&self, task: &str) -> Value {
        let runs = self.orchestrator.read(&format!("/v1/tasks/{task}/runs")).await;
        let id = runs["items"][0]["id"].as_str().unwrap();
        self.orchestrator.read(&format!("/v1/runs/{id}?wait=60")).await
    }

    /// The kinds of all events of a task, the oldest first.
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn event_kinds(&self, task: &str) -> Vec<String> {
        let events = self.orchestrator.read(&format!("/v1/tasks/{task}/events")).await;
        let events = events["items"].as_array().unwrap();
        events.iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect()
    }
}
