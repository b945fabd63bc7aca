//! Looks through a tree for all ecosystems, the root first, and gives each check a name of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::component::{Component, DraftCheck};
use crate::directory::{Directory, below, is_shown, parent};
use crate::ecosystems::{ECOSYSTEMS, Ecosystem};
use crate::tree::Tree;

/// Components of one detection.
pub const COMPONENTS_MAX: usize = 16;
/// How deep a component may lie below the root, in directories.
const COMPONENT_DEPTH_MAX: usize = 4;
/// As long as an id of a contract may be.
const ID_BYTES_MAX: usize = 64;

/// Directories that hold only what tests a component, and are none.
const OF_TESTS: [&str; 6] = ["bench", "benchmarks", "fuzz", "spec", "test", "tests"];

/// What was found in a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// Each ecosystem in each directory, the root first; at most [`COMPONENTS_MAX`].
    pub components: Vec<Component>,
    /// What a person should look at, beside what the components say.
    pub unsure: Vec<String>,
}

impl Detection {
    /// All checks, in the order in which they run.
    pub fn checks(&self) -> impl Iterator<Item = &DraftCheck> {
        self.components.iter().flat_map(|it| &it.checks)
    }

    /// Whether there is a check that can prevent a PASS; without one there is no contract.
    #[must_use]
    pub fn can_fail(&self) -> bool {
        self.checks().any(|it| it.purpose.is_blocking())
    }
}

/// The names of all ecosystems that are known.
pub fn ecosystems() -> impl Iterator<Item = &'static str> {
    ECOSYSTEMS.iter().map(|it| it.name)
}

/// Looks through the tree.
#[must_use]
pub fn detect(tree: &Tree) -> Detection {
    let mut found = Detection::default();
    for ecosystem in ECOSYSTEMS {
        let components = components_of(ecosystem, tree, &found.components);
        found.components.extend(components);
    }
    // The root first; in one directory, the order of the list.
    found.components.sort_by(|a, b| {
        depth(&a.directory).cmp(&depth(&b.directory)).then_with(|| a.directory.cmp(&b.directory))
    });
    if found.components.len() > COMPONENTS_MAX {
        let left_out: Vec<_> = found.components.drain(COMPONENTS_MAX..).collect();
        let directories: Vec<_> = left_out.iter().map(|it| it.directory.as_str()).collect();
        found.unsure.push(format!(
            "more than {COMPONENTS_MAX} components; left out: {}",
            directories.join(", ")
        ));
    }
    if tree.is_cut() {
        let files_max = crate::FILES_MAX;
        found.unsure.push(format!("only the first {files_max} files were looked at"));
    }
    name_checks(&mut found.components);
    found
}

fn components_of(ecosystem: &Ecosystem, tree: &Tree, others: &[Component]) -> Vec<Component> {
    let directories: BTreeSet<&str> = tree
        .files()
        .filter(|it| !is_shown(it))
        .filter_map(ecosystem.directory)
        .filter(|it| is_work(it))
        .collect();
    let mut directories: Vec<&str> = directories.into_iter().collect();
    directories.sort_by_key(|it| depth(it));
    let mut found: Vec<Component> = Vec::new();
    for path in directories {
        let is_taken = |it: &Component| it.covers_below && below(path, &it.directory).is_some();
        let has_tests_near = |it: &Component| {
            let is_near = below(path, &it.directory).or_else(|| below(&it.directory, path));
            is_near.is_some() && it.checks.iter().any(|it| it.purpose.is_tests())
        };
        if found.iter().any(is_taken)
            || (ecosystem.is_last_resort && others.iter().any(has_tests_near))
        {
            continue;
        }
        found.extend((ecosystem.read)(&Directory::new(tree, path)));
    }
    found
}

fn is_work(path: &str) -> bool {
    path.is_empty()
        || (depth(path) <= COMPONENT_DEPTH_MAX && !path.split('/').any(|it| OF_TESTS.contains(&it)))
}

fn depth(path: &str) -> usize {
    if path.is_empty() { 0 } else { path.split('/').count() }
}

/// `tests`; where there are more, `tests-web` for those below `web`, and `tests-go` where a directory has more than one.
fn name_checks(components: &mut [Component]) {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for component in components {
        for check in &mut component.checks {
            let mut id = check.purpose.word().to_owned();
            if !component.directory.is_empty() {
                id = format!("{id}-{}", slug(&component.directory));
            }
            if taken.contains_key(&id) {
                id = format!("{id}-{}", component.ecosystem);
            }
            id.truncate(ID_BYTES_MAX - 4);
            let count = taken.entry(id.clone()).or_default();
            *count += 1;
            check.id = if *count == 1 { id } else { format!("{id}-{count}") };
        }
    }
}

/// Letters, digits, and `-` of a path.
fn slug(path: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '-' };
    let slug: String = path.chars().map(plain).collect();
    slug.trim_matches('-').to_owned()
}

/// Where an ecosystem's directory is that of its manifest.
pub(crate) fn directory_of<'p>(path: &'p str, names: &[&str]) -> Option<&'p str> {
    names.contains(&crate::directory::name(path)).then(|| parent(path))
}
