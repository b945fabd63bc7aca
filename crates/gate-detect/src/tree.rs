//! The files of a project directory: their names, and the text of those that are asked for.
//!
//! Walks within bounds, follows no link, leaves out what `.gitignore` names (it is in no commit, so the gate will
//! never see it), and executes nothing. What the files mean is left to the ecosystems.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use ignore::WalkBuilder;

/// Files whose names are looked at; a tree with more is looked at in part, and says so.
pub const FILES_MAX: usize = 50_000;
/// Directories below the root.
pub const DEPTH_MAX: usize = 12;
/// Bytes of one file; a larger one is not read.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of all files that are read together.
pub const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Directories that hold no work of the project's own, also where no `.gitignore` names them.
const NOT_OURS: [&str; 12] = [
    ".git",
    ".hg",
    ".svn",
    ".tox",
    ".venv",
    ".yarn",
    "__pycache__",
    "bower_components",
    "node_modules",
    "target",
    "venv",
    "vendor",
];

/// The files of a project.
#[derive(Debug)]
pub struct Tree {
    files: BTreeSet<String>,
    texts: Texts,
    is_cut: bool,
    unread_bytes: Cell<u64>,
}

#[derive(Debug)]
enum Texts {
    Directory(PathBuf),
    Memory(BTreeMap<String, String>),
}

/// Why a directory was not walked.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// There is no such directory, or it may not be read.
    #[error("cannot read the directory {path}")]
    Read {
        /// As it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Tree {
    /// Walks the directory. A part of it that cannot be read is passed over.
    ///
    /// # Errors
    /// When the directory itself cannot be read.
    pub fn walk(root: &Path) -> Result<Self, WalkError> {
        let failed = |source| WalkError::Read { path: root.to_owned(), source };
        std::fs::read_dir(root).map_err(failed)?;
        let mut walk = WalkBuilder::new(root);
        walk.follow_links(false)
            .hidden(false)
            .parents(false)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .max_depth(Some(DEPTH_MAX))
            .sort_by_file_name(Ord::cmp)
            .filter_entry(|it| it.depth() == 0 || !is_not_ours(&it.file_name().to_string_lossy()));
        let mut files = BTreeSet::new();
        let mut is_cut = false;
        for entry in walk.build().flatten() {
            if !entry.file_type().is_some_and(|it| it.is_file()) {
                continue;
            }
            if files.len() == FILES_MAX {
                is_cut = true;
                break;
            }
            // A name that is no text is none that an ecosystem knows.
            let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
            files.extend(path.map(str::to_owned));
        }
        let texts = Texts::Directory(root.to_owned());
        Ok(Self { files, texts, is_cut, unread_bytes: Cell::new(READ_BYTES_MAX) })
    }

    /// A tree of these files, with `/` in their paths.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts: BTreeMap<_, _> =
            files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self {
            files: texts.keys().cloned().collect(),
            texts: Texts::Memory(texts),
            is_cut: false,
            unread_bytes: Cell::new(READ_BYTES_MAX),
        }
    }

    /// Whether there are more files than were looked at.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The paths of all files, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Whether there is such a file.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// The text of a file; none where it is not there, too large, unreadable, or past [`READ_BYTES_MAX`].
    #[must_use]
    pub fn read(&self, path: &str) -> Option<String> {
        if !self.has(path) {
            return None;
        }
        let bytes_max = FILE_BYTES_MAX.min(self.unread_bytes.get());
        let text = match &self.texts {
            Texts::Memory(texts) => texts.get(path)?.clone(),
            Texts::Directory(root) => {
                let mut bytes = Vec::new();
                let file = File::open(root.join(path)).ok()?;
                file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let length = text.len() as u64;
        if length > bytes_max {
            return None;
        }
        self.unread_bytes.set(self.unread_bytes.get() - length);
        Some(text)
    }

    /// The files below a directory (the root is the empty text) that a glob means, relative to that directory.
    /// A glob that cannot be read means none.
    pub fn matching<'a>(&'a self, dir: &'a str, glob: &str) -> impl Iterator<Item = &'a str> {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let matcher = built.ok().map(|it| it.compile_matcher());
        let below = self.files().filter_map(move |it| below(it, dir));
        below.filter(move |it| matcher.as_ref().is_some_and(|matcher| matcher.is_match(it)))
    }
}

/// The path relative to the directory, where it lies in it.
pub(crate) fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() {
        return Some(path);
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

fn is_not_ours(name: &str) -> bool {
    NOT_OURS.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_git_ignores_and_what_was_installed_is_left_out_and_no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.py"), "").unwrap();
        for path in ["src/a.py", "node_modules/x/package.json", "out/b.py", ".mvn/jvm.config"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(root.path().join(".gitignore"), "/out\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        std::os::unix::fs::symlink("src/a.py", root.path().join("b.py")).unwrap();
        let tree = Tree::walk(root.path()).unwrap();
        assert_eq!(tree.files().collect::<Vec<_>>(), [".gitignore", ".mvn/jvm.config", "src/a.py"]);
        assert_eq!(tree.read("src/a.py").as_deref(), Some("x"));
        assert_eq!(tree.read("b.py"), None, "a link is no file of ours");
        assert!(!tree.is_cut());
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let bytes = usize::try_from(FILE_BYTES_MAX).unwrap();
        fs::write(root.path().join("fits"), vec![b' '; bytes]).unwrap();
        fs::write(root.path().join("large"), vec![b' '; bytes + 1]).unwrap();
        let tree = Tree::walk(root.path()).unwrap();
        assert_eq!(tree.read("large"), None);
        let times = (READ_BYTES_MAX / FILE_BYTES_MAX) as usize;
        assert!((0..times).all(|_| tree.read("fits").is_some()));
        assert_eq!(tree.read("fits"), None, "all files together have a bound, too");
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        assert!(Tree::walk(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn globs_are_relative_to_their_directory() {
        let tree = Tree::of([("web/src/a.test.js", ""), ("web/b.test.js", ""), ("c.test.js", "")]);
        let found: Vec<_> = tree.matching("web", "**/*.test.js").collect();
        assert_eq!(found, ["b.test.js", "src/a.test.js"]);
        assert_eq!(tree.matching("web", "*.js").collect::<Vec<_>>(), ["b.test.js"]);
        assert_eq!(tree.matching("", "[").count(), 0);
    }
}
