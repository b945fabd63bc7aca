//! `files`: is what the contract asks for there, and not empty?

use super::Reason;
use crate::{Evidence, FileFact, FindingKind, Location, TreePath};

/// The parameters of a `files` check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesCheck {
    /// Files, or directories, of the workspace as it was handed in.
    pub paths: Vec<TreePath>,
}

impl FilesCheck {
    pub(super) fn apply(&self, evidence: &Evidence) -> Vec<Reason> {
        self.paths.iter().filter_map(|path| missing(path, evidence.file(path))).collect()
    }
}

/// The rule for one path; deliverables share it.
pub(crate) fn missing(path: &TreePath, fact: FileFact) -> Option<Reason> {
    let (kind, title) = match fact {
        FileFact::File { size_bytes: 1.. } | FileFact::Directory { entries: 1.. } => return None,
        FileFact::File { size_bytes: 0 } => (FindingKind::FileEmpty, format!("`{path}` is empty")),
        FileFact::Directory { entries: 0 } => {
            (FindingKind::FileEmpty, format!("the directory `{path}` is empty"))
        }
        FileFact::Other => {
            (FindingKind::FileMissing, format!("`{path}` is neither a file nor a directory"))
        }
        FileFact::Missing => (FindingKind::FileMissing, format!("`{path}` does not exist")),
    };
    let location = Location { file: path.as_str().to_owned(), line: None, column: None };
    Some(Reason::new(kind, title).at(Some(location)))
}
