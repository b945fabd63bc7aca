//! The repository in which one diff is applied, and the calls of git in it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::error::SourceError;
use super::super::ground::{Plot, make_private};
use super::super::in_background;
use super::super::sources::Makers;
use super::place::Refusal;
use crate::attend::{Ending, Finished, Task};
use crate::limits::{
    GIT_MESSAGE_BYTES_MAX, PATCH_LIST_BYTES_MAX, PATCH_SECONDS_MAX, PATCHED_FILES_BYTES_MAX,
};
use crate::logs::{LogPlace, log_slice};
use crate::tool::{self, Tool};

/// Nothing that a file of the tree says changes what is read of it.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Gone when it is dropped.
pub(super) struct Scratch {
    plot: Plot,
    variables: Vec<(OsString, OsString)>,
}

impl Scratch {
    pub(super) async fn new(makers: &Makers, diff: &str) -> Result<Self, SourceError> {
        let failed = || SourceError::system("making a place for the patch");
        let plot = makers.ground.plot().map_err(failed())?;
        let mut variables = makers.mirrors.variables().to_vec();
        // A binary patch says itself how large its result is: git asks for no more than this at once.
        variables.push(("GIT_ALLOC_LIMIT".into(), PATCHED_FILES_BYTES_MAX.to_string().into()));
        variables.push(("GIT_INDEX_FILE".into(), plot.path().join("index").into()));
        let scratch = Self { plot, variables };
        let (patch, tree) = (scratch.patch(), scratch.tree());
        let attributes = scratch.repository().join("info");
        // The last newline is what is lost most often when a diff is quoted.
        let end = if diff.ends_with('\n') { "" } else { "\n" };
        let diff = format!("{diff}{end}");
        in_background(move || {
            let make = || -> io::Result<()> {
                make_private(&attributes)?;
                make_private(&tree)?;
                fs::write(attributes.join("attributes"), ATTRIBUTES)?;
                fs::write(patch, diff)
            };
            make().map_err(failed())
        })
        .await?;
        Ok(scratch)
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.plot.path().join("repository")
    }

    /// The touched files of the baseline.
    pub(super) fn tree(&self) -> PathBuf {
        self.plot.path().join("tree")
    }

    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    fn patch(&self) -> PathBuf {
        self.plot.path().join("patch")
    }

    pub(super) async fn init(&self, cancel: &CancellationToken) -> Result<(), SourceError> {
        let words = ["init", "--quiet", "--template=", "--object-format=sha1"];
        self.well(&words, cancel).await.map(drop)
    }

    /// Which files the diff is about, as git reads it.
    pub(super) async fn numstat(
        &self,
        diff: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>, SourceError> {
        let patch = self.patch();
        let words = ["apply", "--numstat", "-z", "--whitespace=nowarn", "--"].map(OsString::from);
        let words = words.into_iter().chain([patch.into()]).collect();
        let logs = LogPlace { directory: self.plot.path().to_owned(), stem: "list".to_owned() };
        let finished = self.git(words, Some(logs), cancel).await?;
        verdict(&finished, diff)?;
        let list = finished.kept.logs.first().map(|it| it.path.clone());
        let failed = || SourceError::system("reading what git listed");
        let list = list.ok_or_else(|| failed()(io::Error::other("there is no log")))?;
        in_background(move || {
            let log = File::open(list).map_err(failed())?;
            log_slice(log, 0, PATCH_LIST_BYTES_MAX).map_err(failed())
        })
        .await
    }

    /// Takes the touched files into the index.
    pub(super) async fn add(&self, cancel: &CancellationToken) -> Result<(), SourceError> {
        self.well(&["add", "--all", "--force", "--", "."], cancel).await.map(drop)
    }

    /// Applies the diff to the index.
    pub(super) async fn apply(
        &self,
        diff: &str,
        cancel: &CancellationToken,
    ) -> Result<(), SourceError> {
        let patch = self.patch();
        let words = ["apply", "--cached", "--whitespace=nowarn", "--"].map(OsString::from);
        let words = words.into_iter().chain([patch.into()]).collect();
        verdict(&self.git(words, None, cancel).await?, diff)
    }

    /// The id of the index's tree.
    pub(super) async fn write_tree(
        &self,
        cancel: &CancellationToken,
    ) -> Result<String, SourceError> {
        self.well(&["write-tree"], cancel).await.map(|it| it.trim().to_owned())
    }

    /// What git printed; that it fails is not the diff's fault.
    async fn well(
        &self,
        words: &[&str],
        cancel: &CancellationToken,
    ) -> Result<String, SourceError> {
        let words = words.iter().map(OsString::from).collect();
        let finished = self.git(words, None, cancel).await?;
        if finished.ending == Ending::Exited(0) {
            return Ok(text(&finished.kept.stdout.head));
        }
        Err(broken(&finished))
    }

    async fn git(
        &self,
        arguments: Vec<OsString>,
        logs: Option<LogPlace>,
        cancel: &CancellationToken,
    ) -> Result<Finished, SourceError> {
        let mut words = vec!["git".into(), "--git-dir".into(), self.repository().into()];
        words.extend(["--work-tree".into(), self.tree().into()]);
        words.extend(arguments);
        let bytes = if logs.is_some() { PATCH_LIST_BYTES_MAX } else { GIT_MESSAGE_BYTES_MAX };
        let time = Duration::from_secs(PATCH_SECONDS_MAX);
        let task = Task { words, time, output_bytes: bytes, logs, disk: None };
        let tool = Tool {
            variables: self.variables.clone(),
            directory: self.tree(),
            file_bytes_max: PATCHED_FILES_BYTES_MAX,
        };
        let finished = tool::run(tool, task, cancel).await;
        let finished = finished.map_err(SourceError::system("running git"))?;
        if finished.ending == Ending::Cancelled {
            return Err(SourceError::Cancelled);
        }
        Ok(finished)
    }
}

/// What git says of the diff itself is the reporter's; all else is ours.
fn verdict(finished: &Finished, diff: &str) -> Result<(), SourceError> {
    match finished.ending {
        Ending::Exited(0) => Ok(()),
        Ending::Exited(_) => {
            let words = text(&finished.kept.stderr.head);
            if words.contains("over limit") {
                let limit = PATCHED_FILES_BYTES_MAX;
                return Err(SourceError::TooLarge { limit, unit: "bytes in one patched file" });
            }
            Err(SourceError::Patch { detail: Refusal::read(&words, diff).to_string() })
        }
        Ending::TimedOut => {
            let detail = format!("it was not applied within {PATCH_SECONDS_MAX} s");
            Err(SourceError::Patch { detail })
        }
        Ending::Signal(_)
        | Ending::NotFound
        | Ending::NotExecutable(_)
        | Ending::CpuLimit
        | Ending::OutOfMemory
        | Ending::DiskFull
        | Ending::OutputLimit
        | Ending::Cancelled => Err(broken(finished)),
    }
}

fn broken(finished: &Finished) -> SourceError {
    let words = text(&finished.kept.merged.head);
    let error = io::Error::other(format!("git ended with {:?}: {words}", finished.ending));
    SourceError::system("applying the patch")(error)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
