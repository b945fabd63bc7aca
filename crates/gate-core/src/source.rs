//! Where a workspace is fetched from, always by its exact identity.

use crate::limits::PATH_BYTES_MAX;
use crate::{Sha256Digest, TreePath};

/// The exact thing to be judged. Never a branch: what a name points to may move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceSource {
    /// A commit of a git repository.
    Git(GitSource),
    /// An archive that was uploaded before, named by the SHA-256 of its bytes.
    Archive {
        /// Of the archive's bytes.
        sha256: Sha256Digest,
        /// The directory inside the archive that is the workspace.
        subdirectory: Option<TreePath>,
    },
    /// A small tree, inline.
    Files(Vec<InlineFile>),
    /// A unified diff, applied to the contract's baseline.
    Patch {
        /// As `git diff` writes it.
        diff: String,
    },
    /// A directory on a volume that the gate shares with the reporters, copied as it is found.
    Directory(SharedPath),
}

/// A commit of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    url: String,
    commit: String,
    subdirectory: Option<TreePath>,
}

/// An absolute path on a volume that the gate shares with the reporters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPath(String);

/// Why a path on a shared volume was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SharedPathError {
    /// Relative to what?
    #[error("a directory is named by its absolute path on the shared volume")]
    Relative,
    /// The path takes a detour.
    #[error("the path has a part `.` or `..`, or an empty part; write the plain path")]
    Detour,
    /// Longer than any path.
    #[error("the path is longer than {PATH_BYTES_MAX} bytes")]
    TooLong,
    /// No path has that.
    #[error("a path must not have a NUL")]
    Character,
}

/// Why a git source was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitSourceError {
    /// Other schemes can run programs (`ext::`) or are not encrypted.
    #[error("a git url starts with https://, http://, ssh://, git@, or file://")]
    Scheme,
    /// The URL has blanks or control characters, or its host or path could be read as an option.
    #[error("the git url has a character or a leading `-` that git could misread")]
    Unsafe,
    /// Not a full commit id.
    #[error(
        "a commit is named by its full id of 40 (SHA-1) or 64 (SHA-256) lower-case hex digits, never by a branch, a tag, or an abbreviation"
    )]
    Commit,
}

/// One file of an inline tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineFile {
    /// Its place in the workspace.
    pub path: TreePath,
    /// Its bytes.
    pub content: Vec<u8>,
    /// Whether it may be executed.
    pub executable: bool,
}

/// How an archive is packed, told from its first bytes and never from a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// Plain tar.
    Tar,
    /// tar in gzip.
    TarGz,
    /// tar in Zstandard.
    TarZst,
    /// zip.
    Zip,
}

impl GitSource {
    /// # Errors
    /// When the scheme is not allowed, git could misread the URL, or the commit is not a full id.
    pub fn parse(
        url: String,
        commit: String,
        subdirectory: Option<TreePath>,
    ) -> Result<Self, GitSourceError> {
        let rest = ["https://", "http://", "ssh://", "file://", "git@"]
            .into_iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or(GitSourceError::Scheme)?;
        let unsafe_character = |it: char| it.is_control() || it.is_whitespace();
        if rest.is_empty() || rest.starts_with('-') || url.contains(unsafe_character) {
            return Err(GitSourceError::Unsafe);
        }
        let hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
        if !matches!(commit.len(), 40 | 64) || !commit.bytes().all(hex) {
            return Err(GitSourceError::Commit);
        }
        Ok(Self { url, commit, subdirectory })
    }

    /// Where the repository is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The full commit id.
    #[must_use]
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The directory of the repository that is the workspace.
    #[must_use]
    pub fn subdirectory(&self) -> Option<&TreePath> {
        self.subdirectory.as_ref()
    }
}

impl SharedPath {
    /// # Errors
    /// When the path is relative or not plain.
    pub fn parse(path: impl Into<String>) -> Result<Self, SharedPathError> {
        let path = path.into();
        let parts = path.strip_prefix('/').ok_or(SharedPathError::Relative)?;
        if path.len() > PATH_BYTES_MAX {
            return Err(SharedPathError::TooLong);
        }
        if path.contains('\0') {
            return Err(SharedPathError::Character);
        }
        if parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(SharedPathError::Detour);
        }
        Ok(Self(path))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_directory_has_a_plain_absolute_path() {
        let refused = |path: &str| SharedPath::parse(path).unwrap_err();
        for path in ["", "shared/a", "./a", "~/a"] {
            assert_eq!(refused(path), SharedPathError::Relative, "{path}");
        }
        for path in ["/", "/a/", "/a//b", "/a/./b", "/a/../b"] {
            assert_eq!(refused(path), SharedPathError::Detour, "{path}");
        }
        assert_eq!(refused("/a\0"), SharedPathError::Character);
        assert_eq!(refused(&"/a".repeat(3_000)), SharedPathError::TooLong);
        assert_eq!(SharedPath::parse("/shared/run-7").unwrap().as_str(), "/shared/run-7");
    }

    fn git(url: &str, commit: &str) -> Result<GitSource, GitSourceError> {
        GitSource::parse(url.into(), commit.into(), None)
    }

    #[test]
    fn only_a_full_commit_id_names_a_revision() {
        for commit in ["main", "4f1c", &"G".repeat(40), &"A".repeat(40), &"a".repeat(41), "-x"] {
            assert_eq!(git("https://git.example/x", commit), Err(GitSourceError::Commit));
        }
        assert!(git("https://git.example/x", &"a".repeat(40)).is_ok());
        assert!(git("git@git.example:x.git", &"0".repeat(64)).is_ok());
    }

    #[test]
    fn a_url_that_could_run_a_program_is_refused() {
        let commit = "a".repeat(40);
        for url in ["ext::sh -c x", "-uhttps://x", "/tmp/x", "fd::3", "file.git"] {
            assert_eq!(git(url, &commit), Err(GitSourceError::Scheme), "{url}");
        }
        for url in ["ssh://-oProxyCommand=x/y", "https://a b", "https://a\n", "https://"] {
            assert_eq!(git(url, &commit), Err(GitSourceError::Unsafe), "{url}");
        }
    }
}
