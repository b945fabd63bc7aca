//! Protected files: what the reporter did to them, and the baseline's own in their place.
//!
//! Paths are compared in the lists of both trees, where a link is a link; nothing is looked up
//! through the reporter's tree, so that a link in the place of a directory leads nowhere.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use gate_core::{PathPattern, ProtectedChange, TreePath};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::error::{EntryFault, PrepareError, SourceError};
use super::tree::{Node, Tree};
use super::writer::{TreeWriter, refused};

/// The contract's protected patterns.
#[derive(Debug, Clone)]
pub(super) struct Globs(GlobSet);

impl Globs {
    /// `*` stays within a directory, `**` does not; a pattern that names a directory covers what is below.
    pub(super) fn parse(patterns: &[PathPattern]) -> Result<Self, PrepareError> {
        let mut all = GlobSetBuilder::new();
        let refused = |pattern: &PathPattern| {
            let pattern = pattern.as_str().to_owned();
            move |source| PrepareError::Pattern { pattern, source }
        };
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern.as_str()).literal_separator(true).build();
            all.add(glob.map_err(refused(pattern))?);
        }
        let first = patterns.first();
        match (all.build(), first) {
            (Ok(all), _) => Ok(Self(all)),
            (Err(error), Some(pattern)) => Err(refused(pattern)(error)),
            (Err(_), None) => Ok(Self(GlobSet::empty())),
        }
    }

    /// Those of [`patterns_of`].
    pub(super) fn of_paths(patterns: &[PathPattern]) -> Result<Self, SourceError> {
        Self::parse(patterns)
            .map_err(|it| SourceError::system("matching paths")(io::Error::other(it)))
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| self.0.is_match(&path[..end]))
    }
}

/// A pattern for each file and link of a tree, which matches that alone.
pub(super) fn patterns_of(tree: &Tree) -> Result<Vec<PathPattern>, SourceError> {
    let files = tree.0.iter().filter(|(_, node)| **node != Node::Directory);
    let exact = |path: &String| {
        let pattern = PathPattern::parse(globset::escape(path));
        pattern.or(Err(SourceError::entry(path, EntryFault::Name)))
    };
    files.map(|(path, _)| exact(path)).collect()
}

/// What is to be done, and what is to be told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    removed: BTreeSet<String>,
    laid: BTreeSet<String>,
    pub(super) changes: BTreeSet<ProtectedChange>,
}

impl Plan {
    /// Whether the reported tree may stay as it is.
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.laid.is_empty()
    }
}

/// Compares the protected files of both trees.
pub(super) fn plan(reported: &Tree, baseline: &Tree, globs: &Globs) -> Result<Plan, SourceError> {
    let mut plan = Plan::default();
    let is_entry = |node: &Node| *node != Node::Directory;
    let is_protected = |path: &str, node| is_entry(node) && globs.matches(path);
    for (path, node) in baseline.0.iter().filter(|(path, node)| is_protected(path, node)) {
        let in_the_way = ancestors(path).find(|it| reported.0.get(*it).is_some_and(is_entry));
        let found = reported.0.get(path);
        if found == Some(node) && in_the_way.is_none() {
            continue;
        }
        if let Some(ancestor) = in_the_way {
            plan.removed.insert(ancestor.to_owned());
            plan.changes.insert(ProtectedChange::Changed(tree_path(ancestor)?));
        }
        let change = match found {
            Some(_) => ProtectedChange::Changed(tree_path(path)?),
            None => ProtectedChange::Deleted(tree_path(path)?),
        };
        plan.changes.insert(change);
        plan.laid.insert(path.clone());
        if found.is_some() {
            plan.removed.insert(path.clone());
        }
    }
    let of_baseline = |path: &String| baseline.0.get(path).is_some_and(is_entry);
    for (path, _) in reported.0.iter().filter(|(path, node)| is_protected(path, node)) {
        if !of_baseline(path) && plan.removed.insert(path.clone()) {
            plan.changes.insert(ProtectedChange::Added(tree_path(path)?));
        }
    }
    Ok(plan)
}

/// Does what is planned in the tree of `writer`, with the files of the baseline, which lies at `baseline_root`.
pub(super) fn lay_over(
    mut writer: TreeWriter<'_>,
    plan: &Plan,
    (baseline_root, baseline): (&Path, &Tree),
) -> Result<Tree, SourceError> {
    for path in &plan.removed {
        // What lay below went with what lay above it.
        if writer.has(path) {
            writer.remove(path)?;
        }
    }
    lay(&mut writer, &plan.laid, (baseline_root, baseline))?;
    writer.finish()
}

/// Writes the files and links of another tree that stand at these paths.
pub(super) fn lay(
    writer: &mut TreeWriter<'_>,
    paths: &BTreeSet<String>,
    (root, tree): (&Path, &Tree),
) -> Result<(), SourceError> {
    for path in paths {
        match tree.0.get(path) {
            Some(Node::Link { target }) => writer.link(path, target.as_bytes())?,
            Some(Node::File { size_bytes, executable, .. }) => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(CWD, root.join(path), flags, Mode::empty());
                let mut file = File::from(file.map_err(refused(path))?);
                writer.file(path, *executable, *size_bytes, &mut file)?;
            }
            Some(Node::Directory) | None => {}
        }
    }
    Ok(())
}

/// From the top down, without the path itself.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn tree_path(path: &str) -> Result<TreePath, SourceError> {
    TreePath::parse(path).or(Err(SourceError::entry(path, EntryFault::Name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gate_core::Sha256Digest;

    fn globs(patterns: &[&str]) -> Globs {
        let parsed: Vec<_> = patterns.iter().map(|it| PathPattern::parse(*it).unwrap()).collect();
        Globs::parse(&parsed).unwrap()
    }

    fn tree(entries: &[(&str, u8)]) -> Tree {
        let node = |content: u8| match content {
            b'd' => Node::Directory,
            b'l' => Node::Link { target: "src".into() },
            byte => Node::File {
                sha256: Sha256Digest::from_bytes([byte; 32]),
                size_bytes: 1,
                executable: byte == b'x',
            },
        };
        Tree(entries.iter().map(|(path, byte)| ((*path).to_owned(), node(*byte))).collect())
    }

    fn planned(reported: &[(&str, u8)], baseline: &[(&str, u8)]) -> Vec<String> {
        let plan = plan(&tree(reported), &tree(baseline), &globs(&["tests/**", "pytest.ini"]));
        let line = |it: &ProtectedChange| match it {
            ProtectedChange::Changed(path) => format!("changed {path}"),
            ProtectedChange::Deleted(path) => format!("deleted {path}"),
            ProtectedChange::Added(path) => format!("added {path}"),
        };
        plan.unwrap().changes.iter().map(line).collect()
    }

    #[test]
    fn a_star_stays_within_its_directory_and_a_directory_covers_what_is_below() {
        let globs = globs(&["tests/*.py", "fixtures", "**/conftest.py"]);
        assert!(globs.matches("tests/a.py") && !globs.matches("tests/b/a.py"));
        assert!(globs.matches("fixtures/a/b") && !globs.matches("fixtures2/a"));
        assert!(globs.matches("conftest.py") && globs.matches("a/b/conftest.py"));
    }

    #[test]
    fn a_pattern_that_is_no_glob_is_named() {
        let error = Globs::parse(&[PathPattern::parse("tests/[a").unwrap()]).unwrap_err();
        assert!(error.to_string().contains("tests/[a"), "{error}");
        assert_eq!(error.blame(), gate_core::Blame::Contract);
    }

    #[test]
    fn what_was_done_to_protected_files_is_told() {
        let baseline = [("tests", b'd'), ("tests/a", 1), ("tests/b", 2), ("pytest.ini", 3)];
        let same = [("tests", b'd'), ("tests/a", 1), ("tests/b", 2), ("pytest.ini", 3)];
        assert!(planned(&same, &baseline).is_empty());
        let other = [("tests", b'd'), ("tests/a", b'x'), ("tests/new", 1), ("pytest.ini", b'l')];
        assert_eq!(
            planned(&other, &baseline),
            ["changed pytest.ini", "changed tests/a", "deleted tests/b", "added tests/new"]
        );
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_no_way_through() {
        let baseline = [("tests", b'd'), ("tests/a", 1)];
        let reported = [("tests", b'l'), ("src", b'd'), ("src/a", 1)];
        assert_eq!(planned(&reported, &baseline), ["changed tests", "deleted tests/a"]);
    }

    #[test]
    fn a_directory_in_the_place_of_a_file_goes() {
        let baseline = [("pytest.ini", 1)];
        let reported = [("pytest.ini", b'd'), ("pytest.ini/x", 1)];
        let reported = tree(&reported);
        let plan = plan(&reported, &tree(&baseline), &globs(&["pytest.ini"])).unwrap();
        assert!(plan.removed.contains("pytest.ini") && plan.laid.contains("pytest.ini"));
    }
}
