//! Workspace sources as they are written in contracts and reports.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gate_core::limits::{INLINE_BYTES_MAX, PATCH_BYTES_MAX};
use gate_core::{GitSource, InlineFile, SharedPath, TreePath, WorkspaceSource};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::InvalidField;

/// Where a workspace is fetched from. Exactly one of the fields is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceBody {
    /// A commit of a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSourceBody>,
    /// An archive that was uploaded before with `PUT /v1/workspaces/{sha256}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ArchiveSource>,
    /// A small tree, inline; 1 MiB at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000)]
    pub files: Option<Vec<FileSource>>,
    /// A unified diff on the contract's baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchSource>,
    /// A directory on a volume that the gate shares with the reporters. It is copied, and judged as it was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<DirectorySource>,
}

/// A commit of a git repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GitSourceBody {
    /// `https://`, `http://`, `ssh://`, `git@host:path`, or `file://`.
    #[schema(min_length = 1, max_length = 2000, example = "https://git.example/shop.git")]
    pub url: String,
    /// The full commit id, 40 or 64 hex digits. A branch or a tag is refused: what it points to may move.
    #[schema(
        min_length = 1,
        max_length = 64,
        example = "4f1c9a0b5d2e7f8a6c3b1d0e9f8a7b6c5d4e3f2a"
    )]
    pub commit: String,
    /// The directory of the repository that is the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub subdirectory: Option<String>,
}

/// An uploaded archive: tar, tar.gz, tar.zst, or zip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveSource {
    /// The SHA-256 of its bytes, with or without the prefix `sha256:`.
    #[schema(min_length = 64, max_length = 71)]
    pub sha256: String,
    /// The directory of the archive that is the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub subdirectory: Option<String>,
}

/// A unified diff, applied to the contract's baseline; not for a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchSource {
    /// As `git diff --binary` writes it, with `a/` and `b/` before the paths; 1 MiB at most.
    #[schema(min_length = 1, max_length = 1_048_576)]
    pub diff: String,
}

/// A directory on a volume that the gate shares with the reporters; not for a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectorySource {
    /// Absolute, as the gate sees it, below one of the roots that its operator allows. `.git` is left out.
    #[schema(min_length = 2, max_length = 4096, example = "/shared/agents/run-7")]
    pub path: String,
}

/// One file of an inline tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSource {
    /// Relative to the root of the workspace.
    #[schema(min_length = 1, max_length = 4096, example = "src/lib.rs")]
    pub path: String,
    /// The file's text, or its bytes in base64.
    pub content: String,
    /// How `content` is written; `utf8` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<FileEncoding>,
    /// Whether it may be executed; no by default.
    #[serde(default)]
    pub executable: bool,
}

/// How the content of an inline file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileEncoding {
    /// As text.
    Utf8,
    /// RFC 4648 section 4, with padding.
    Base64,
}

/// An uploaded workspace archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArchiveBody {
    /// Of its bytes.
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub sha256: String,
    /// Its length.
    pub size_bytes: u64,
    /// Whether the gate had it before.
    pub existed: bool,
}

impl SourceBody {
    /// Reads the source into its type; every fault is added to `faults` with a pointer below `at`.
    pub(crate) fn read(self, at: &str, faults: &mut Vec<InvalidField>) -> Option<WorkspaceSource> {
        let mut fault = |pointer: String, detail: String| {
            faults.push(InvalidField::new(pointer, detail));
        };
        let Self { git, archive, files, patch, directory } = self;
        let given = [
            git.is_some(),
            archive.is_some(),
            files.is_some(),
            patch.is_some(),
            directory.is_some(),
        ];
        if given.iter().filter(|it| **it).count() != 1 {
            let only = if given.contains(&true) { " only" } else { "" };
            fault(
                at.to_owned(),
                format!("name{only} one source: git, archive, files, patch, or directory"),
            );
            return None;
        }
        if let Some(git) = git {
            let subdirectory = optional_path(git.subdirectory, &format!("{at}/git"), &mut fault)?;
            let source = GitSource::parse(git.url, git.commit, subdirectory);
            let source = source.map_err(|it| fault(git_pointer(at, &it), it.to_string()));
            return source.ok().map(WorkspaceSource::Git);
        }
        if let Some(archive) = archive {
            let place = format!("{at}/archive");
            let subdirectory = optional_path(archive.subdirectory, &place, &mut fault)?;
            let sha256 = archive.sha256.parse();
            let sha256 = sha256.map_err(|it: gate_core::DigestError| {
                fault(format!("{place}/sha256"), it.to_string());
            });
            return Some(WorkspaceSource::Archive { sha256: sha256.ok()?, subdirectory });
        }
        if let Some(PatchSource { diff }) = patch {
            let detail = match diff.len() {
                0 => "the diff is empty".to_owned(),
                1..=PATCH_BYTES_MAX => return Some(WorkspaceSource::Patch { diff }),
                bytes => format!(
                    "{bytes} bytes are more than the {PATCH_BYTES_MAX} of a patch; upload an archive"
                ),
            };
            fault(format!("{at}/patch/diff"), detail);
            return None;
        }
        if let Some(DirectorySource { path }) = directory {
            let path = SharedPath::parse(path);
            let path = path.map_err(|it| fault(format!("{at}/directory/path"), it.to_string()));
            return path.ok().map(WorkspaceSource::Directory);
        }
        let files = inline(files?, &format!("{at}/files"), &mut fault);
        files.map(WorkspaceSource::Files)
    }
}

fn git_pointer(at: &str, error: &gate_core::GitSourceError) -> String {
    match error {
        gate_core::GitSourceError::Commit => format!("{at}/git/commit"),
        gate_core::GitSourceError::Scheme | gate_core::GitSourceError::Unsafe => {
            format!("{at}/git/url")
        }
    }
}

/// `None` is a path that was refused; `Some(None)` is a path that was not given.
#[expect(clippy::option_option, reason = "not given and refused are two things")]
fn optional_path(
    path: Option<String>,
    at: &str,
    fault: &mut impl FnMut(String, String),
) -> Option<Option<TreePath>> {
    let Some(path) = path else { return Some(None) };
    match TreePath::parse(path) {
        Ok(path) => Some(Some(path)),
        Err(error) => {
            fault(format!("{at}/subdirectory"), error.to_string());
            None
        }
    }
}

fn inline(
    files: Vec<FileSource>,
    at: &str,
    fault: &mut impl FnMut(String, String),
) -> Option<Vec<InlineFile>> {
    let wanted = files.len();
    let mut read: Vec<InlineFile> = Vec::with_capacity(wanted);
    let mut bytes = 0;
    for (index, file) in files.into_iter().enumerate() {
        let content = match file.encoding.unwrap_or(FileEncoding::Utf8) {
            FileEncoding::Utf8 => Ok(file.content.into_bytes()),
            FileEncoding::Base64 => STANDARD.decode(file.content),
        };
        match (TreePath::parse(file.path), content) {
            (Ok(path), Ok(content)) => {
                bytes += content.len();
                if read.iter().any(|it| it.path == path) {
                    fault(format!("{at}/{index}/path"), format!("`{path}` is given twice"));
                }
                read.push(InlineFile { path, content, executable: file.executable });
            }
            (path, content) => {
                if let Err(error) = path {
                    fault(format!("{at}/{index}/path"), error.to_string());
                }
                if let Err(error) = content {
                    fault(format!("{at}/{index}/content"), format!("not base64: {error}"));
                }
            }
        }
    }
    if bytes > INLINE_BYTES_MAX {
        let detail = format!(
            "{bytes} bytes are more than the {INLINE_BYTES_MAX} of an inline tree; upload an archive"
        );
        fault(at.to_owned(), detail);
        return None;
    }
    (read.len() == wanted).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pointers of all faults, or the source.
    fn read(json: &str) -> Result<WorkspaceSource, Vec<String>> {
        let mut faults = Vec::new();
        let body: SourceBody = serde_json::from_str(json).unwrap();
        let source = body.read("/workspace", &mut faults);
        source.ok_or_else(|| faults.into_iter().map(|it| it.pointer).collect())
    }

    #[test]
    fn exactly_one_source_is_named() {
        assert_eq!(read("{}"), Err(vec!["/workspace".to_owned()]));
        let two = r#"{"files": [], "directory": {"path": "/shared/a"}}"#;
        assert_eq!(read(two), Err(vec!["/workspace".to_owned()]));
        assert_eq!(read(r#"{"files": []}"#), Ok(WorkspaceSource::Files(Vec::new())));
    }

    #[test]
    fn a_patch_is_bounded_and_not_empty() {
        let patch = |diff: String| read(&serde_json::json!({"patch": {"diff": diff}}).to_string());
        let refused = Err(vec!["/workspace/patch/diff".to_owned()]);
        assert_eq!(patch(String::new()), refused);
        assert_eq!(patch("x".repeat(PATCH_BYTES_MAX + 1)), refused);
        let diff = "x".repeat(PATCH_BYTES_MAX);
        assert_eq!(patch(diff.clone()), Ok(WorkspaceSource::Patch { diff }));
    }

    #[test]
    fn a_directory_is_an_absolute_path() {
        let path = SharedPath::parse("/shared/agents/run-7").unwrap();
        let json = r#"{"directory": {"path": "/shared/agents/run-7"}}"#;
        assert_eq!(read(json), Ok(WorkspaceSource::Directory(path)));
        for path in ["run-7", "/shared/../etc", "/"] {
            let json = format!(r#"{{"directory": {{"path": "{path}"}}}}"#);
            assert_eq!(read(&json), Err(vec!["/workspace/directory/path".to_owned()]));
        }
    }
}
