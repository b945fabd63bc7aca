//! Brings a path that a tool printed back to the workspace, and tells the project's own files from libraries'.

use gate_core::Location;

/// Parts of a path that no project's own file has.
const LIBRARY_PARTS: [&str; 13] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/.cargo/registry/",
    "/.cargo/git/",
    "/.rustup/",
    "/.venv/",
    "/venv/",
    "/.tox/",
    "/.nox/",
    "/go/pkg/mod/",
    "/lib/python",
    "/rustc/",
];

/// Where the workspace stood when the tool ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paths<'a> {
    roots: &'a [&'a str],
}

/// A place, and whose file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) location: Location,
    pub(crate) is_own: bool,
}

impl<'a> Paths<'a> {
    pub(crate) const fn new(roots: &'a [&'a str]) -> Self {
        Self { roots }
    }

    /// The place of a printed path.
    pub(crate) fn place(&self, printed: &str, line: Option<u32>, column: Option<u32>) -> Place {
        let file = self.relative(printed);
        let is_own = self.is_own(&file);
        Place { location: Location { file, line, column }, is_own }
    }

    /// The location of a printed path, whoever owns the file.
    pub(crate) fn location(&self, printed: &str, line: Option<u32>) -> Location {
        self.place(printed, line, None).location
    }

    /// Without the workspace's root, `./`, and backslashes.
    pub(crate) fn relative(&self, printed: &str) -> String {
        let printed = printed.trim().trim_start_matches("file://");
        let mut path = match printed.contains('\\') && !printed.contains('/') {
            true => printed.replace('\\', "/"),
            false => printed.to_owned(),
        };
        for root in self.roots {
            let root = root.trim_end_matches(['/', '\\']);
            let rest = path.strip_prefix(root).and_then(|it| it.strip_prefix('/'));
            if let Some(rest) = rest.filter(|_| !root.is_empty()) {
                path = rest.to_owned();
                break;
            }
        }
        while let Some(rest) = path.strip_prefix("./") {
            path = rest.to_owned();
        }
        path
    }

    fn is_own(&self, file: &str) -> bool {
        let is_outside = file.starts_with("../") || file.starts_with(['<', '[']);
        let is_absolute = file.starts_with('/') || file.as_bytes().get(1) == Some(&b':');
        let is_internal = file.starts_with("node:") || file.starts_with("internal/");
        let is_library =
            LIBRARY_PARTS.iter().any(|part| file.contains(part) || file.starts_with(&part[1..]));
        // Without a root nothing is known to be outside of it.
        let is_elsewhere = is_absolute && (!self.roots.is_empty() || file.starts_with("/usr/"));
        !(is_outside || is_internal || is_library || is_elsewhere || file.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: Paths<'static> = Paths::new(&["/sandbox/work", "/private/sandbox/work/"]);

    #[test]
    fn the_workspace_is_cut_from_paths() {
        for (printed, file) in [
            ("/sandbox/work/src/lib.rs", "src/lib.rs"),
            ("/private/sandbox/work/a.py", "a.py"),
            ("./src/lib.rs", "src/lib.rs"),
            (r"tests\test_io.py", "tests/test_io.py"),
            ("/sandbox/workshop/a.py", "/sandbox/workshop/a.py"),
        ] {
            assert_eq!(PATHS.relative(printed), file);
        }
    }

    #[test]
    fn libraries_and_other_places_are_not_the_projects_own() {
        for file in [
            "/usr/local/lib/python3.11/socket.py",
            "/sandbox/work/.venv/lib/python3.11/site-packages/x.py",
            "../npm/node_modules/jest/build/a.js",
            "/home/dev/.cargo/registry/src/insta/src/runtime.rs",
            "<frozen importlib._bootstrap>",
            "node:internal/process/task_queues",
        ] {
            assert!(!PATHS.place(file, None, None).is_own, "{file}");
        }
        assert!(PATHS.place("src/lib.rs", Some(3), None).is_own);
        assert!(PATHS.place("/sandbox/work/store.py", Some(9), None).is_own);
    }
}
