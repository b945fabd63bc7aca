//! What names a tree before it is there: the identity of its source.

use gate_core::{PathPattern, Sha256Digest, TreePath, WorkspaceSource};
use sha2::{Digest, Sha256};

/// A name in the cache. Two sources with the same key have the same tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// The name of a source's tree; what a directory holds is not known before it is read.
    ///
    /// A commit belongs to its repository: whoever names a repository that does not have it must not be
    /// given the tree of another one, and what a report is answered must not depend on what others asked for.
    pub(super) fn of_source(
        source: &WorkspaceSource,
        baseline: Option<Sha256Digest>,
    ) -> Option<Self> {
        Some(match source {
            WorkspaceSource::Git(it) => {
                Hasher::new("git").text(it.url()).text(it.commit()).path(it.subdirectory()).finish()
            }
            WorkspaceSource::Archive { sha256, subdirectory } => {
                Hasher::new("archive").bytes(sha256.as_bytes()).path(subdirectory.as_ref()).finish()
            }
            WorkspaceSource::Files(files) => {
                let add = |hasher: Hasher, it: &gate_core::InlineFile| {
                    let hasher = hasher.text(it.path.as_str()).bytes(&it.content);
                    hasher.bytes(&[u8::from(it.executable)])
                };
                files.iter().fold(Hasher::new("files"), add).finish()
            }
            WorkspaceSource::Patch { diff } => {
                Hasher::new("patch").bytes(baseline?.as_bytes()).text(diff).finish()
            }
            WorkspaceSource::Directory(_) => return None,
        })
    }

    /// The name of what becomes of a report's tree when a baseline's protected files are laid over it.
    pub(super) fn of_overlay(
        report: Sha256Digest,
        baseline: Sha256Digest,
        protected: &[PathPattern],
    ) -> Self {
        let hasher = Hasher::new("overlay").bytes(report.as_bytes()).bytes(baseline.as_bytes());
        protected.iter().fold(hasher, |hasher, it| hasher.text(it.as_str())).finish()
    }
}

/// Every part is preceded by its length, so that no two lists of parts are the same bytes.
struct Hasher(Sha256);

impl Hasher {
    fn new(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    fn path(self, path: Option<&TreePath>) -> Self {
        // No path is empty.
        self.text(path.map_or("", TreePath::as_str))
    }

    fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gate_core::{GitSource, InlineFile};

    fn git(url: &str, commit: char, subdirectory: Option<&str>) -> WorkspaceSource {
        let subdirectory = subdirectory.map(|it| TreePath::parse(it).unwrap());
        let commit = commit.to_string().repeat(40);
        WorkspaceSource::Git(GitSource::parse(url.to_owned(), commit, subdirectory).unwrap())
    }

    fn files(files: &[(&str, &str, bool)]) -> WorkspaceSource {
        let file = |(path, text, executable): &(&str, &str, bool)| InlineFile {
            path: TreePath::parse(*path).unwrap(),
            content: text.as_bytes().to_vec(),
            executable: *executable,
        };
        WorkspaceSource::Files(files.iter().map(file).collect())
    }

    #[test]
    fn sources_that_may_differ_have_different_names() {
        let archive = |byte, subdirectory: Option<&str>| WorkspaceSource::Archive {
            sha256: Sha256Digest::from_bytes([byte; 32]),
            subdirectory: subdirectory.map(|it| TreePath::parse(it).unwrap()),
        };
        let sources = [
            git("https://git.example/a", 'a', None),
            git("https://git.example/b", 'a', None),
            git("https://git.example/a", 'b', None),
            git("https://git.example/a", 'a', Some("d")),
            archive(1, None),
            archive(2, None),
            archive(1, Some("d")),
            files(&[]),
            files(&[("a", "b", false)]),
            files(&[("a", "b", true)]),
            files(&[("ab", "", false)]),
            files(&[("a", "", false), ("b", "", false)]),
        ];
        let key = |it: &WorkspaceSource| Key::of_source(it, None).unwrap();
        for (index, one) in sources.iter().enumerate() {
            assert_eq!(key(one), key(&one.clone()));
            for other in &sources[index + 1..] {
                assert_ne!(key(one), key(other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_patch_is_named_with_what_it_is_applied_to_and_a_directory_has_no_name() {
        let baseline = |byte| Some(Sha256Digest::from_bytes([byte; 32]));
        let patch = WorkspaceSource::Patch { diff: "x".to_owned() };
        let other = WorkspaceSource::Patch { diff: "y".to_owned() };
        let key = Key::of_source(&patch, baseline(1));
        assert!(key.is_some() && key == Key::of_source(&patch, baseline(1)));
        assert_ne!(key, Key::of_source(&patch, baseline(2)));
        assert_ne!(key, Key::of_source(&other, baseline(1)));
        assert_eq!(Key::of_source(&patch, None), None);
        let path = gate_core::SharedPath::parse("/shared/a").unwrap();
        assert_eq!(Key::of_source(&WorkspaceSource::Directory(path), baseline(1)), None);
    }
}
