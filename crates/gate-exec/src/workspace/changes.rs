//! How the reported tree differs from the baseline, from the lists of both: nothing is read again.

use std::sync::Arc;

use gate_core::limits::CHANGES_MAX;
use gate_core::{ChangeKind, TreeChange, TreePath};

use super::error::{EntryFault, SourceError};
use super::tree::{Node, Tree};

/// All changes, or as many as are listed.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    pub(super) listed: Arc<[TreeChange]>,
    pub(super) left_out: u64,
}

/// Compares two trees. Both lists are sorted by path, and so is the result.
pub(super) fn compare(baseline: &Tree, reported: &Tree) -> Result<Changes, SourceError> {
    let mut counted = Counted::default();
    let mut before = entries(baseline).peekable();
    let mut after = entries(reported).peekable();
    loop {
        match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some((old, _)), new) if new.is_none_or(|(new, _)| old < new) => {
                counted.add_deleted(old);
                before.next();
            }
            (old, Some((new, _))) if old.is_none_or(|(old, _)| new < old) => {
                counted.add(new, ChangeKind::Added)?;
                after.next();
            }
            (_, _) => {
                if let (Some((path, old)), Some((_, new))) = (before.next(), after.next())
                    && old != new
                {
                    counted.add(path, ChangeKind::Modified)?;
                }
            }
        }
    }
    Ok(Changes { listed: counted.listed.into(), left_out: counted.left_out })
}

/// Files and links.
fn entries(tree: &Tree) -> impl Iterator<Item = (&String, &Node)> {
    tree.0.iter().filter(|(_, node)| **node != Node::Directory)
}

#[derive(Default)]
struct Counted {
    listed: Vec<TreeChange>,
    left_out: u64,
}

impl Counted {
    /// A name that no list can show would be a change that nobody sees.
    fn add(&mut self, path: &str, kind: ChangeKind) -> Result<(), SourceError> {
        let parsed = TreePath::parse(path);
        self.push(parsed.or(Err(SourceError::entry(path, EntryFault::Name)))?, kind);
        Ok(())
    }

    /// What the baseline called it is not the reporter's fault.
    fn add_deleted(&mut self, path: &str) {
        match TreePath::parse(path) {
            Ok(path) => self.push(path, ChangeKind::Deleted),
            Err(_) => self.left_out += 1,
        }
    }

    fn push(&mut self, path: TreePath, kind: ChangeKind) {
        if self.listed.len() < CHANGES_MAX {
            self.listed.push(TreeChange { path, kind });
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gate_core::Sha256Digest;

    fn file(content: u8, executable: bool) -> Node {
        let sha256 = Sha256Digest::from_bytes([content; 32]);
        Node::File { sha256, size_bytes: 1, executable }
    }

    fn tree(entries: &[(&str, Node)]) -> Tree {
        Tree(entries.iter().map(|(path, node)| ((*path).to_owned(), node.clone())).collect())
    }

    fn told(baseline: &[(&str, Node)], reported: &[(&str, Node)]) -> Vec<String> {
        let changes = compare(&tree(baseline), &tree(reported)).unwrap();
        assert_eq!(changes.left_out, 0);
        changes.listed.iter().map(|it| format!("{} {}", it.kind.as_str(), it.path)).collect()
    }

    #[test]
    fn what_differs_is_told_by_path() {
        let link = |target: &str| Node::Link { target: target.to_owned() };
        let baseline = [
            ("content", file(1, false)),
            ("d", Node::Directory),
            ("d/gone", file(1, false)),
            ("kind", file(1, false)),
            ("link", link("a")),
            ("mode", file(1, false)),
            ("same", file(1, true)),
        ];
        let reported = [
            ("a-new", file(1, false)),
            ("content", file(2, false)),
            ("empty", Node::Directory),
            ("kind", Node::Directory),
            ("kind/inside", file(1, false)),
            ("link", link("b")),
            ("mode", file(1, true)),
            ("same", file(1, true)),
            ("z-new", link("same")),
        ];
        let expected = [
            "added a-new",
            "modified content",
            "deleted d/gone",
            "deleted kind",
            "added kind/inside",
            "modified link",
            "modified mode",
            "added z-new",
        ];
        assert_eq!(told(&baseline, &reported), expected);
        assert_eq!(told(&baseline, &baseline), [""; 0]);
        assert_eq!(told(&[], &[]), [""; 0]);
    }

    #[test]
    fn more_changes_than_are_listed_are_counted() {
        let names: Vec<String> = (0..CHANGES_MAX + 7).map(|it| format!("{it:06}")).collect();
        let many: Vec<_> = names.iter().map(|it| (it.as_str(), file(1, false))).collect();
        let changes = compare(&Tree::default(), &tree(&many)).unwrap();
        assert_eq!((changes.listed.len(), changes.left_out), (CHANGES_MAX, 7));
        assert_eq!(changes.listed[0].path.as_str(), "000000");
    }

    #[test]
    fn a_name_that_cannot_be_listed_is_refused_where_the_reporter_gave_it() {
        let odd = [("a\\b", file(1, false))];
        assert!(compare(&Tree::default(), &tree(&odd)).is_err());
        assert!(compare(&tree(&odd), &tree(&odd)).is_ok());
        let gone = compare(&tree(&odd), &Tree::default()).unwrap();
        assert_eq!((gone.listed.len(), gone.left_out), (0, 1));
    }
}
