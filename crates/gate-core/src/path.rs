//! Paths and globs that stay inside a workspace.

use std::fmt;

/// A file's place in a workspace: relative, with `/`, without `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(String);

/// A glob over [`TreePath`]s, such as `tests/**`. Whether the glob's own syntax is right is the reader's to check.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern(String);

/// Why a path was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing is named.
    #[error("a path must not be empty")]
    Empty,
    /// The path starts at the root of a file system.
    #[error("`{0}` is absolute; write it relative to the root of the workspace")]
    Absolute(String),
    /// The path leaves the workspace, or takes a detour.
    #[error("`{0}` has a part `.` or `..`, or an empty part; write the plain path")]
    Detour(String),
    /// The path has a character that no path of ours has.
    #[error("a path must not have a NUL or a backslash")]
    Character,
}

impl TreePath {
    /// # Errors
    /// When the path is empty, absolute, or has parts such as `..`.
    pub fn parse(path: impl Into<String>) -> Result<Self, PathError> {
        let path = path.into();
        check(&path)?;
        Ok(Self(path))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PathPattern {
    /// # Errors
    /// As for [`TreePath::parse`].
    pub fn parse(pattern: impl Into<String>) -> Result<Self, PathError> {
        let pattern = pattern.into();
        check(&pattern)?;
        Ok(Self(pattern))
    }

    /// The glob as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check(path: &str) -> Result<(), PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute(path.to_owned()));
    }
    if path.contains(['\0', '\\']) {
        return Err(PathError::Character);
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(PathError::Detour(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_the_workspace_is_refused() {
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\b", "a\0b"] {
            assert!(TreePath::parse(path).is_err(), "{path:?}");
            assert!(PathPattern::parse(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn a_plain_path_is_kept_as_it_is() {
        assert_eq!(TreePath::parse("src/..a/b").unwrap().as_str(), "src/..a/b");
    }
}
