//! The demo's work: a small git repository of a Cargo project, with one commit for each thing that the agent hands in.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository, and its commits by what they are.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) path: PathBuf,
    pub(super) baseline: String,
    pub(super) wrong: String,
    pub(super) tampered: String,
    pub(super) right: String,
}

/// Why there is no repository.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RepositoryError {
    #[error("the demo needs `{program}` on the PATH")]
    Missing { program: &'static str, source: io::Error },
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error("`git {words}` failed: {output}")]
    Git { words: String, output: String },
}

impl Repository {
    /// Makes the repository in an empty directory.
    pub(super) fn make(path: PathBuf) -> Result<Self, RepositoryError> {
        require("cargo")?;
        require("git")?;
        write(&path, "Cargo.toml", include_str!("shop/Cargo.toml.txt"))?;
        write(&path, ".gitignore", "target\nCargo.lock\n")?;
        write(&path, "tests/pages.rs", include_str!("shop/pages.rs"))?;
        git(&path, &["init", "--quiet", "--initial-branch=main"])?;
        let baseline = commit(&path, include_str!("shop/baseline.rs"), "Ask for pages of orders")?;
        let wrong = commit(&path, include_str!("shop/wrong.rs"), "Add pages of orders")?;
        write(&path, "tests/pages.rs", include_str!("shop/pages_edited.rs"))?;
        let tampered = commit(&path, include_str!("shop/wrong.rs"), "Make the tests green")?;
        write(&path, "tests/pages.rs", include_str!("shop/pages.rs"))?;
        let right = commit(&path, include_str!("shop/right.rs"), "Name no page after the last")?;
        Ok(Self { path, baseline, wrong, tampered, right })
    }

    /// How the gate is told where it is.
    pub(super) fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }
}

fn commit(path: &Path, library: &str, message: &str) -> Result<String, RepositoryError> {
    write(path, "src/lib.rs", library)?;
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message", message])?;
    git(path, &["rev-parse", "HEAD"])
}

fn write(root: &Path, name: &str, text: &str) -> Result<(), RepositoryError> {
    let path = root.join(name);
    let parent = path.parent().unwrap_or(root);
    let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
    written.map_err(|source| RepositoryError::Write { path, source })
}

fn require(program: &'static str) -> Result<(), RepositoryError> {
    let found = command(program).arg("--version").output();
    found.map(drop).map_err(|source| RepositoryError::Missing { program, source })
}

fn git(path: &Path, words: &[&str]) -> Result<String, RepositoryError> {
    let mut git = command("git");
    // The person's own configuration must not sign, hook, or rename anything here.
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (role, name) in [("AUTHOR", "coder-7"), ("COMMITTER", "coder-7")] {
        git.env(format!("GIT_{role}_NAME"), name)
            .env(format!("GIT_{role}_EMAIL"), "coder-7@demo.invalid");
    }
    let ended = git
        .arg("-C")
        .arg(path)
        .args(words)
        .output()
        .map_err(|source| RepositoryError::Missing { program: "git", source })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
    }
    let output = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    Err(RepositoryError::Git { words: words.join(" "), output })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the demo plays the agent here, which is not the gate"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}
