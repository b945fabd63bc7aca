//! What git says of a directory: the commit that a reporter would start from, and where a gate fetches it.
//!
//! Asks git, and changes nothing. Neither hooks nor a monitor of files that the repository names are run.

use std::path::Path;
use std::process::{Command, Stdio};

use gate_core::{GitSource, TreePath};
use url::Url;

/// What the reporter starts from, or why that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Baseline {
    /// A commit, and what a person should know of it.
    Git { source: GitSource, unsure: Vec<String> },
    /// No commit can be named, and why not.
    Missing(String),
}

/// Looks at the repository that the directory lies in.
pub(super) fn baseline(dir: &Path) -> Baseline {
    let missing = |why: &str| Baseline::Missing(why.to_owned());
    let Some(commit) = git(dir, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) else {
        return missing("the directory is in no git repository with a commit");
    };
    let prefix = git(dir, &["rev-parse", "--show-prefix"]).unwrap_or_default();
    let subdirectory = prefix.trim_end_matches('/');
    if !subdirectory.is_empty()
        && git(dir, &["cat-file", "-e", &format!("HEAD:{subdirectory}")]).is_none()
    {
        return missing("the directory is not in the newest commit");
    }
    let Some(remote) = git(dir, &["config", "--get", "remote.origin.url"]) else {
        return missing("the repository has no remote `origin` from which a gate could fetch it");
    };
    let url = match fetch_url(&remote) {
        Ok(url) => url,
        Err(why) => return Baseline::Missing(why),
    };
    let subdirectory = (!subdirectory.is_empty()).then(|| TreePath::parse(subdirectory));
    let subdirectory = match subdirectory.transpose() {
        Ok(it) => it,
        Err(error) => return Baseline::Missing(error.to_string()),
    };
    match GitSource::parse(url, commit.clone(), subdirectory) {
        Ok(source) => Baseline::Git { source, unsure: doubts(dir, &commit) },
        Err(error) => Baseline::Missing(format!("the remote `origin` cannot be fetched: {error}")),
    }
}

fn doubts(dir: &Path, commit: &str) -> Vec<String> {
    let mut unsure = Vec::new();
    let changed = git(dir, &["status", "--porcelain", "--untracked-files=no", "--", "."]);
    if changed.is_some_and(|it| !it.is_empty()) {
        unsure.push("changes that are not committed are not in the baseline".to_owned());
    }
    let holders = ["for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin"];
    if git(dir, &holders).is_none_or(|it| it.is_empty()) {
        unsure.push("the baseline's commit may not have been pushed to `origin`".to_owned());
    }
    unsure
}

/// The address without what opens it: a contract is shown to many.
fn fetch_url(remote: &str) -> Result<String, String> {
    if Path::new(remote).is_absolute() {
        let url = Url::from_file_path(remote).map_err(|()| "the path of `origin` is no URL")?;
        return Ok(url.into());
    }
    // `git@host:path` has no place for a password.
    if remote.starts_with("git@") {
        return Ok(remote.to_owned());
    }
    let unusable = || {
        "the remote `origin` has no address that a gate can fetch: https://, ssh://, git@, or file://"
            .to_owned()
    };
    let mut url = Url::parse(remote).or(Err(unusable()))?;
    let refused = |()| unusable();
    match url.scheme() {
        // A user's name may be a token, too.
        "http" | "https" => {
            url.set_username("").map_err(refused)?;
            url.set_password(None).map_err(refused)?;
            url.set_query(None);
            url.set_fragment(None);
        }
        "ssh" => url.set_password(None).map_err(refused)?,
        "file" => {}
        _ => return Err(unusable()),
    }
    Ok(url.into())
}

/// What git answers, without blanks around it; none where it fails or is not there.
#[expect(
    clippy::disallowed_methods,
    reason = "the person's own git, in the person's own directory"
)]
fn git(dir: &Path, words: &[&str]) -> Option<String> {
    let ended = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C"])
        .arg(dir)
        .args(words)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_nothing_that_opens_it() {
        for (remote, url) in [
            ("https://me:hunter2@git.example/shop.git", "https://git.example/shop.git"),
            ("https://ghp_0123@git.example/shop.git", "https://git.example/shop.git"),
            ("https://git.example/shop.git?token=hunter2#x", "https://git.example/shop.git"),
            ("ssh://git:hunter2@git.example:22/shop.git", "ssh://git@git.example:22/shop.git"),
            ("git@git.example:team/shop.git", "git@git.example:team/shop.git"),
            ("/srv/shop.git", "file:///srv/shop.git"),
            ("file:///srv/shop.git", "file:///srv/shop.git"),
        ] {
            assert_eq!(fetch_url(remote).as_deref(), Ok(url), "{remote}");
        }
        for remote in ["../shop.git", "ext::sh -c id", "me@host:shop.git", "git://h/x", ""] {
            assert!(fetch_url(remote).is_err(), "{remote}");
        }
    }
}
