//! Fetches one commit into a mirror, bounded in time and bytes. Only with the mirror's lock.

use std::ffi::OsString;
use std::path::Path;

use gate_core::GitSource;
use tokio_util::sync::CancellationToken;

use super::super::error::SourceError;
use super::super::remove::remove_tree;
use super::message::{Meaning, meaning};
use super::mirror::Mirror;
use super::{Mirrors, in_background};
use crate::attend::{Ending, Task};
use crate::limits::{GIT_MESSAGE_BYTES_MAX, MIRROR_PACKS_MAX};
use crate::tool::{self, Tool};

/// First exactly the commit, without its history; then, where the server does not serve that, all branches and tags.
pub(super) async fn fetch(
    mirrors: &Mirrors,
    mirror: &Mirror,
    source: &GitSource,
    cancel: &CancellationToken,
) -> Result<(), SourceError> {
    make(mirrors, mirror, source, cancel).await?;
    let exact = format!("+{0}:refs/gate/{0}", source.commit());
    let arguments = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", "--"];
    let mut first: Vec<OsString> = arguments.map(Into::into).into();
    first.extend([source.url().into(), exact.into()]);
    let words = match git(mirrors, mirror.directory(), first, cancel).await? {
        Ended::Well => return tidy(mirrors, mirror, cancel).await,
        Ended::Badly(words) => words,
    };
    match meaning(&words) {
        Meaning::OnlyByName => {}
        other @ (Meaning::NoSuchCommit
        | Meaning::NoAccess
        | Meaning::TooLarge
        | Meaning::Damaged
        | Meaning::Unavailable) => {
            return Err(other.into_error(source, &words, mirrors.pack_bytes_max));
        }
    }
    let mut all: Vec<OsString> = arguments[..4].iter().map(Into::into).collect();
    if mirror.is_shallow() {
        all.push("--unshallow".into());
    }
    all.extend(["--".into(), source.url().into()]);
    all.extend(["+refs/heads/*:refs/heads/*".into(), "+refs/tags/*:refs/tags/*".into()]);
    match git(mirrors, mirror.directory(), all, cancel).await? {
        Ended::Well => tidy(mirrors, mirror, cancel).await,
        Ended::Badly(words) => {
            Err(meaning(&words).into_error(source, &words, mirrors.pack_bytes_max))
        }
    }
}

/// Makes the mirror where there is none, and mends one that a crash left in the middle of a fetch.
async fn make(
    mirrors: &Mirrors,
    mirror: &Mirror,
    source: &GitSource,
    cancel: &CancellationToken,
) -> Result<(), SourceError> {
    if mirror.exists() {
        let mended = mirror.clone();
        let clear = move || mended.clear_leftovers();
        let cleared =
            in_background(move || clear().map_err(SourceError::system("mending the mirror")));
        if cleared.await.is_ok() {
            return Ok(());
        }
        mirror.remove().await?;
    }
    let unfinished = mirror.unfinished();
    remove_tree(&unfinished).map_err(SourceError::system("removing half a mirror"))?;
    let format = if source.commit().len() == 64 { "sha256" } else { "sha1" };
    let mut arguments: Vec<OsString> =
        ["init", "--quiet", "--bare", "--template="].map(Into::into).into();
    arguments.push(format!("--object-format={format}").into());
    if let Ended::Badly(words) = git(mirrors, &unfinished, arguments, cancel).await? {
        return Err(broken("making a mirror", words));
    }
    let named = std::fs::rename(&unfinished, mirror.directory());
    named.map_err(SourceError::system("naming a mirror"))
}

/// Many small packs make every look-up slow.
async fn tidy(
    mirrors: &Mirrors,
    mirror: &Mirror,
    cancel: &CancellationToken,
) -> Result<(), SourceError> {
    if mirror.packs() <= MIRROR_PACKS_MAX {
        return Ok(());
    }
    let arguments = ["repack", "-a", "-d", "-q"].map(Into::into).into();
    match git(mirrors, mirror.directory(), arguments, cancel).await? {
        Ended::Well => Ok(()),
        Ended::Badly(words) => Err(broken("putting packs together", words)),
    }
}

enum Ended {
    Well,
    /// With these last words.
    Badly(String),
}

async fn git(
    mirrors: &Mirrors,
    directory: &Path,
    arguments: Vec<OsString>,
    cancel: &CancellationToken,
) -> Result<Ended, SourceError> {
    // Named, or git would look for another repository above a damaged one.
    let mut words = vec!["git".into(), "--git-dir".into(), directory.into()];
    words.extend(arguments);
    let task = Task {
        words,
        time: mirrors.timeout,
        output_bytes: GIT_MESSAGE_BYTES_MAX,
        logs: None,
        disk: None,
    };
    let tool = Tool {
        variables: mirrors.variables.clone(),
        directory: mirrors.directory.clone(),
        file_bytes_max: mirrors.pack_bytes_max,
    };
    let finished = tool::run(tool, task, cancel).await;
    let finished = finished.map_err(|it| SourceError::system("running git")(it))?;
    let mut words = String::from_utf8_lossy(&finished.kept.merged.head).into_owned();
    match finished.ending {
        Ending::Exited(0) => return Ok(Ended::Well),
        Ending::Cancelled => return Err(SourceError::Cancelled),
        Ending::NotFound => words.push_str("fatal: there is no program `git` on the gate's PATH"),
        Ending::NotExecutable(errno) => {
            words.push_str("fatal: git cannot be executed, errno ");
            words.push_str(&errno.to_string());
        }
        Ending::TimedOut => {
            words.push_str("fatal: no end within ");
            words.push_str(&mirrors.timeout.as_secs().to_string());
            words.push_str(" s");
        }
        Ending::Signal(signal) => {
            words.push_str("fatal: git died of signal ");
            words.push_str(&signal.to_string());
        }
        Ending::Exited(_)
        | Ending::OutputLimit
        | Ending::CpuLimit
        | Ending::OutOfMemory
        | Ending::DiskFull => {}
    }
    Ok(Ended::Badly(words))
}

fn broken(stage: &'static str, words: String) -> SourceError {
    SourceError::System { stage, source: std::io::Error::other(words) }
}
