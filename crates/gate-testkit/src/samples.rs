//! Contracts, reports, workspaces, and small git repositories, from which a test changes one thing.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::tools::command;

/// A contract with one blocking check of kind `command`: a script for the shell.
#[must_use]
pub fn shell(script: &str) -> Value {
    contract(&json!({ "id": "command", "kind": "command", "shell": script }))
}

/// A contract with this one check.
#[must_use]
pub fn contract(check: &Value) -> Value {
    json!({
        "title": "A sample",
        "criteria": [{ "id": "AC1", "text": "It works", "checks": [check["id"]] }],
        "checks": [check],
    })
}

/// The same contract with a callback.
#[must_use]
pub fn called_back(mut contract: Value, url: &str) -> Value {
    contract["callback"] = json!({ "url": url });
    contract
}

/// A report that claims success.
#[must_use]
pub fn report(workspace: &Value) -> Value {
    json!({
        "status": "success",
        "summary": "It is done.",
        "workspace": workspace,
        "criteria": [{ "id": "AC1", "status": "met" }],
        "not_verified": [],
        "deviations": [],
    })
}

/// An inline workspace.
#[must_use]
pub fn files(files: &[(&str, &str)]) -> Value {
    let file = |(path, content): &(&str, &str)| json!({ "path": path, "content": content });
    json!({ "files": files.iter().map(file).collect::<Vec<_>>() })
}

/// The smallest workspace.
#[must_use]
pub fn tiny() -> Value {
    files(&[("README.md", "A sample.\n")])
}

/// The path of an uploaded archive, and the source that names it.
#[must_use]
pub fn archive(bytes: &[u8]) -> (String, Value) {
    let sha256 = hex::encode(Sha256::digest(bytes));
    (format!("/v1/workspaces/{sha256}"), json!({ "archive": { "sha256": sha256 } }))
}

/// A git repository on this disk.
#[derive(Debug)]
pub struct Repository {
    directory: TempDir,
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Repository {
    /// An empty one.
    ///
    /// # Panics
    /// When there is no git.
    #[must_use]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Self { directory };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How the gate is told of one of its commits.
    #[must_use]
    pub fn source(&self, commit: &str) -> Value {
        let url = format!("file://{}", self.path().display());
        json!({ "git": { "url": url, "commit": commit } })
    }

    /// Writes these files, commits all that there is, and returns the commit's id.
    ///
    /// # Panics
    /// When a file cannot be written.
    #[must_use]
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            let path = self.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "Work"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = command("git");
        // The person's own configuration must not sign, hook, or rename anything here.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "coder-7");
            git.env(format!("GIT_{role}_EMAIL"), "coder-7@example.invalid");
        }
        let ended = git.arg("-C").arg(self.path()).args(words).output().unwrap();
        assert!(
            ended.status.success(),
            "git {words:?}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }
}

/// A Cargo project without dependencies, whose library is `src` and whose tests are `tests`.
#[must_use]
pub fn cargo_project<'a>(library: &'a str, tests: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        ),
        (".gitignore", "target\nCargo.lock\n"),
        ("src/lib.rs", library),
        ("tests/pages.rs", tests),
    ]
}
