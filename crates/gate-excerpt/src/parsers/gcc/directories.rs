//! Where a compiler was started: make says which directory it enters, and paths are relative to it.

use std::rc::Rc;

use crate::parsers::Context;
use crate::pattern::{Pattern, group, pattern};

static ENTERS: Pattern =
    Pattern::new(|| pattern(r"^\S*(?:make|ninja)\S*: (Entering|Leaving) directory ['`‘](.+)['’]$"));

/// Deeper trees of make in make are not followed.
const DEPTH_MAX: usize = 64;

/// The directories that make is in.
#[derive(Debug, Clone, Default)]
pub(super) struct Directories {
    open: Rc<Vec<String>>,
}

impl Directories {
    /// Looks at one line of the log.
    pub(super) fn line(&mut self, cx: &Context<'_>, line: &str) {
        if !line.ends_with(['\'', '’']) || !line.contains(" directory ") {
            return;
        }
        let Some(found) = ENTERS.captures(line) else { return };
        let directory = cx.paths.relative(group(&found, 2));
        if group(&found, 1) == "Leaving" {
            if let Some(at) = self.open.iter().rposition(|it| *it == directory) {
                Rc::make_mut(&mut self.open).remove(at);
            }
        } else if self.open.len() < DEPTH_MAX {
            Rc::make_mut(&mut self.open).push(directory);
        }
    }

    /// The path from the workspace's root.
    pub(super) fn resolve(&self, cx: &Context<'_>, printed: &str) -> String {
        let path = cx.paths.relative(printed);
        let is_absolute = path.starts_with('/') || path.as_bytes().get(1) == Some(&b':');
        if is_absolute || path.starts_with('<') {
            return path;
        }
        let base = self.open.last().map_or("", String::as_str);
        // The workspace's root itself is what a root that is cut leaves.
        let base = if base.starts_with('/') { "" } else { base };
        let mut parts: Vec<&str> = base.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
        for part in path.split('/') {
            match part {
                "." | "" => {}
                // Out of a build directory whose name is not known.
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }
}
