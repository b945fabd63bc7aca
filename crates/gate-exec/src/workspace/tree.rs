//! What is in a tree: the list that the writer made, its digest, its links, and what stands at a path.

use std::collections::{BTreeMap, HashMap};

use gate_core::{FileFact, Sha256Digest, TreePath};
use sha2::{Digest, Sha256};

use super::error::{EntryFault, SourceError};
use crate::limits::LINK_HOPS_MAX;

/// What the digest of a tree begins with; another format would have another word.
const DIGEST_FORMAT: &[u8] = b"donegate-tree-1\n";

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File { sha256: Sha256Digest, size_bytes: u64, executable: bool },
    Link { target: String },
}

/// How many direct entries each directory has that has any.
pub(super) type Children = HashMap<String, u64>;

/// All entries below a root, by path, in the order of the paths' bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tree(pub(super) BTreeMap<String, Node>);

impl Tree {
    /// The SHA-256 over the line `donegate-tree-1` and then, for each entry in the order of the
    /// paths' bytes: one letter (`d` directory, `f` file, `x` executable file, `l` link), the path,
    /// a NUL, and, but for directories, the 32 bytes of the SHA-256 of the file's bytes or the
    /// link's target. The same tree has the same digest, whatever it was fetched from.
    pub(super) fn digest(&self) -> Sha256Digest {
        let mut digest = Sha256::new();
        digest.update(DIGEST_FORMAT);
        for (path, node) in &self.0 {
            let (letter, content) = match node {
                Node::Directory => (b"d", None),
                Node::File { sha256, executable: false, .. } => (b"f", Some(*sha256.as_bytes())),
                Node::File { sha256, executable: true, .. } => (b"x", Some(*sha256.as_bytes())),
                Node::Link { target } => (b"l", Some(Sha256::digest(target).into())),
            };
            digest.update(letter);
            digest.update(path);
            digest.update([0]);
            content.iter().for_each(|it: &[u8; 32]| digest.update(it));
        }
        Sha256Digest::from_bytes(digest.finalize().into())
    }

    /// Refuses links that lead out of the tree, also over other links and over what is not there yet.
    pub(super) fn check_links(&self) -> Result<(), SourceError> {
        for (path, node) in &self.0 {
            if let Node::Link { target } = node
                && self.follow(path) == Follow::Leaves
            {
                let fault = EntryFault::LinkLeaves { target: target.clone() };
                return Err(SourceError::entry(path, fault));
            }
        }
        Ok(())
    }

    /// What stands at a path, links followed. `children` are this tree's.
    pub(super) fn fact(&self, path: &TreePath, children: &Children) -> FileFact {
        let Follow::At(place) = self.follow(path.as_str()) else { return FileFact::Missing };
        let entries = || children.get(&place).copied().unwrap_or(0);
        match self.0.get(&place) {
            Some(Node::File { size_bytes, .. }) => FileFact::File { size_bytes: *size_bytes },
            Some(Node::Directory) => FileFact::Directory { entries: entries() },
            None if place.is_empty() => FileFact::Directory { entries: entries() },
            Some(Node::Link { .. }) | None => FileFact::Missing,
        }
    }

    /// Whether there is a file or a link at this path or below it; the root is the empty path.
    pub(super) fn has_below(&self, path: &str) -> bool {
        let is_entry = |node: &Node| *node != Node::Directory;
        if path.is_empty() {
            return self.0.values().any(is_entry);
        }
        let prefix = format!("{path}/");
        let mut below =
            self.0.range(prefix.clone()..).take_while(|(it, _)| it.starts_with(&prefix));
        self.0.get(path).is_some_and(is_entry) || below.any(|(_, node)| is_entry(node))
    }

    /// Whether there is a directory at this path, and nothing in it.
    pub(super) fn is_empty_directory(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        let mut below = self.0.range(prefix.clone()..).map(|(it, _)| it);
        self.0.get(path) == Some(&Node::Directory)
            && below.next().is_none_or(|it| !it.starts_with(&prefix))
    }

    /// Counted once, so that no look at a large directory has to count again.
    pub(super) fn children(&self) -> Children {
        let mut children = Children::new();
        for path in self.0.keys() {
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            match children.get_mut(parent) {
                Some(count) => *count += 1,
                None => drop(children.insert(parent.to_owned(), 1)),
            }
        }
        children
    }

    /// The bytes of all files.
    pub(super) fn file_bytes(&self) -> u64 {
        let bytes = |it: &Node| match it {
            Node::File { size_bytes, .. } => *size_bytes,
            Node::Directory | Node::Link { .. } => 0,
        };
        self.0.values().map(bytes).sum()
    }

    /// Forgets an entry and all below it.
    pub(super) fn forget(&mut self, path: &str) {
        let prefix = format!("{path}/");
        let below = self.0.range(prefix.clone()..).map(|(it, _)| it);
        let below: Vec<String> = below.take_while(|it| it.starts_with(&prefix)).cloned().collect();
        for gone in below.iter().map(String::as_str).chain([path]) {
            self.0.remove(gone);
        }
    }

    /// Walks a path as the kernel would.
    fn follow(&self, path: &str) -> Follow {
        let mut left: Vec<&str> = path.rsplit('/').collect();
        let mut at: Vec<&str> = Vec::new();
        let mut hops = 0;
        while let Some(part) = left.pop() {
            match part {
                "" | "." => continue,
                ".." if at.pop().is_none() => return Follow::Leaves,
                ".." => continue,
                _ => at.push(part),
            }
            let Some(Node::Link { target }) = self.0.get(&at.join("/")) else { continue };
            hops += 1;
            if target.starts_with('/') {
                return Follow::Leaves;
            }
            if hops > LINK_HOPS_MAX {
                return Follow::Loops;
            }
            at.pop();
            left.extend(target.rsplit('/'));
        }
        Follow::At(at.join("/"))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Follow {
    At(String),
    Leaves,
    Loops,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str)]) -> Tree {
        let node = |text: &str| match text {
            "dir" => Node::Directory,
            "file" => Node::File {
                sha256: Sha256Digest::from_bytes([1; 32]),
                size_bytes: 5,
                executable: false,
            },
            target => Node::Link { target: target.to_owned() },
        };
        Tree(entries.iter().map(|(path, text)| ((*path).to_owned(), node(text))).collect())
    }

    #[test]
    fn a_link_that_leads_out_of_the_tree_is_refused() {
        let bad: [&[(&str, &str)]; 6] = [
            &[("a", "/etc")],
            &[("a", "../x")],
            &[("d", "dir"), ("d/a", "../../x")],
            // Over another link: `b` is the root, so that `b/..` is outside.
            &[("b", "."), ("a", "b/../x")],
            &[("d", "dir"), ("d/e", "dir"), ("b", "d/e"), ("a", "b/../../../x")],
            // Over a directory that a command could make.
            &[("a", "later/../../x")],
        ];
        for entries in bad {
            assert!(tree(entries).check_links().is_err(), "{entries:?}");
        }
    }

    #[test]
    fn a_link_within_the_tree_is_taken() {
        let good: [&[(&str, &str)]; 5] = [
            &[("d", "dir"), ("d/a", "../x"), ("x", "file")],
            &[("a", "nowhere")],
            &[("a", "b"), ("b", "a")],
            &[("d", "dir"), ("d/e", "dir"), ("b", "d/e"), ("a", "b/../..")],
            &[("a", ".")],
        ];
        for entries in good {
            assert!(tree(entries).check_links().is_ok(), "{entries:?}");
        }
    }

    #[test]
    fn what_stands_at_a_path_is_seen_through_links() {
        let tree = tree(&[("d", "dir"), ("d/x", "file"), ("d/y", "dir"), ("l", "d"), ("o", "o")]);
        let fact = |path: &str| tree.fact(&TreePath::parse(path).unwrap(), &tree.children());
        assert_eq!(fact("l/x"), FileFact::File { size_bytes: 5 });
        assert_eq!(fact("l"), FileFact::Directory { entries: 2 });
        assert_eq!(fact("d/y"), FileFact::Directory { entries: 0 });
        assert_eq!(fact("o"), FileFact::Missing);
        assert_eq!(fact("d/z"), FileFact::Missing);
        assert_eq!(fact("d/x/z"), FileFact::Missing);
    }

    #[test]
    fn what_is_forgotten_is_gone_with_all_below_it_and_nothing_else() {
        let mut tree = tree(&[
            ("d", "dir"),
            ("d-x", "file"),
            ("d/e", "dir"),
            ("d/e/a", "file"),
            ("d0", "file"),
        ]);
        tree.forget("d");
        assert_eq!(tree.0.keys().collect::<Vec<_>>(), ["d-x", "d0"]);
    }

    #[test]
    fn the_digest_sees_names_modes_and_kinds() {
        let trees = [
            tree(&[("a", "file")]),
            tree(&[("b", "file")]),
            tree(&[("a", "dir")]),
            tree(&[("a", "file2")]),
            tree(&[]),
        ];
        for (index, one) in trees.iter().enumerate() {
            for other in &trees[index + 1..] {
                assert_ne!(one.digest(), other.digest(), "{one:?} {other:?}");
            }
        }
    }
}
