//! One directory of the tree, as an ecosystem looks at it: everything relative to it.

use std::fmt::Write;

use gate_core::{CommandLine, PathPattern};

use crate::component::words;
use crate::tree::{self, Tree};

/// Files whose text is looked through for one word.
const SEARCHED_FILES_MAX: usize = 500;

/// Directories whose content is the input of a test.
const FIXTURES: [&str; 3] = ["__fixtures__", "fixtures", "testdata"];
/// Directories that show something, where a manifest is none of the project's own. Of sources this cannot be said:
/// `com/example` is a package of Java.
const SHOWN: [&str; 8] =
    ["doc", "docs", "example", "examples", "samples", "templates", "third-party", "third_party"];

/// A directory of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directory<'t> {
    tree: &'t Tree,
    path: &'t str,
}

impl<'t> Directory<'t> {
    pub(crate) fn new(tree: &'t Tree, path: &'t str) -> Self {
        Self { tree, path }
    }

    /// From the root of the tree; empty for the root itself.
    pub(crate) fn path(&self) -> &'t str {
        self.path
    }

    /// The same for programs that want to be told a directory.
    pub(crate) fn path_or_dot(&self) -> &'t str {
        if self.path.is_empty() { "." } else { self.path }
    }

    /// What lies in it, from the root of the tree.
    pub(crate) fn join(&self, below: &str) -> String {
        if self.path.is_empty() { below.to_owned() } else { format!("{}/{below}", self.path) }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tree.has(&self.join(name))
    }

    /// The first of these that is there.
    pub(crate) fn first_of<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|it| self.has(it))
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        self.tree.read(&self.join(name))
    }

    /// Files that the glob means, but no input of a test.
    pub(crate) fn matching(&self, glob: &str) -> impl Iterator<Item = &'t str> {
        self.all_matching(glob).filter(|it| !is_fixture(it))
    }

    /// All files that the glob means.
    pub(crate) fn all_matching(&self, glob: &str) -> impl Iterator<Item = &'t str> {
        self.tree.matching(self.path, glob)
    }

    pub(crate) fn has_any(&self, globs: &[&str]) -> bool {
        globs.iter().any(|it| self.matching(it).next().is_some())
    }

    /// Whether the text of one of these files satisfies the question.
    pub(crate) fn any_text(&self, globs: &[&str], is: impl Fn(&str) -> bool) -> bool {
        let files = globs.iter().flat_map(|it| self.matching(it)).take(SEARCHED_FILES_MAX);
        files.filter_map(|it| self.read(it)).any(|it| is(&it))
    }

    /// The glob from the root of the tree.
    pub(crate) fn pattern(&self, glob: &str) -> Option<PathPattern> {
        let glob = if self.path.is_empty() {
            glob.to_owned()
        } else {
            format!("{}/{glob}", globset::escape(self.path))
        };
        PathPattern::parse(glob).ok()
    }

    /// A command that is run in this directory. A contract's commands start at the root: where the program has no
    /// option of its own that means the same, `env` goes there.
    pub(crate) fn run(&self, command: &[&str]) -> CommandLine {
        if self.path.is_empty() {
            return words(command);
        }
        let mut chdir = String::from("--chdir=");
        write!(chdir, "{}", self.path).expect("a text can be written to");
        words(["env", &chdir].iter().chain(command))
    }

    /// A command of a program with an option for the directory, which is put after its name.
    pub(crate) fn run_with(&self, option: &str, command: &[&str]) -> CommandLine {
        let Some((program, rest)) = command.split_first() else { return words(command) };
        if self.path.is_empty() {
            return words(command);
        }
        let path = tree_path(self.path);
        words([*program, option, &path].iter().chain(rest))
    }
}

/// A path that no program takes for an option.
fn tree_path(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

/// Whether a file of this path says nothing of the project, although its name does.
pub(crate) fn is_shown(path: &str) -> bool {
    is_fixture(path) || parent(path).split('/').any(|it| SHOWN.contains(&it))
}

fn is_fixture(path: &str) -> bool {
    parent(path).split('/').any(|it| FIXTURES.contains(&it))
}

/// The directory of a file; the root is the empty text.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The last part of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory that the file belongs to when it lies in one that only holds files of this sort: `a` for
/// `a/tests/x/y.py` and the part `tests`.
pub(crate) fn owner<'p>(path: &'p str, parts: &[&str]) -> &'p str {
    let dir = parent(path);
    let mut start = 0;
    for part in dir.split('/') {
        if parts.contains(&part) {
            return dir[..start].trim_end_matches('/');
        }
        start += part.len() + 1;
    }
    dir
}

pub(crate) use tree::below;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_directory_above_its_sort() {
        for (path, of) in [
            ("tests/x/y.py", ""),
            ("a/tests/y.py", "a"),
            ("a/b/y.py", "a/b"),
            ("y.py", ""),
            ("a/contests/y.py", "a/contests"),
        ] {
            assert_eq!(owner(path, &["tests", "test"]), of, "{path}");
        }
    }

    #[test]
    fn a_command_below_the_root_says_where_it_runs() {
        let tree = Tree::of([]);
        let at = |path| Directory::new(&tree, path);
        let shown = |it: CommandLine| it.to_string();
        assert_eq!(shown(at("").run(&["go", "test"])), "go test");
        assert_eq!(shown(at("a b").run(&["go", "test"])), "env '--chdir=a b' go test");
        assert_eq!(shown(at("web").run_with("-C", &["make", "test"])), "make -C web test");
        assert_eq!(shown(at("-x").run_with("-C", &["make"])), "make -C ./-x");
        assert_eq!(at("[a]").pattern("*.js").unwrap().as_str(), "[[]a[]]/*.js");
    }
}
