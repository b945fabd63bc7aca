//! Where a workspace is fetched from, always by its exact identity.

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
}

/// A commit of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    url: String,
    commit: String,
    subdirectory: Option<TreePath>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
