//! From the bytes that a source calls a name to a path inside the workspace.

use gate_core::TreePath;
use gate_core::limits::PATH_BYTES_MAX;

use super::error::EntryFault;

/// Where an entry of a source belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The root itself.
    Root,
    /// Below the root: parts joined by `/`, without `.` and `..`.
    Inside(String),
    /// Outside the subdirectory that is the workspace, or below a `.git`: passed over.
    Elsewhere,
}

/// Reads a name as archives write it: `./` before it and `/` behind it are no part of it.
pub(super) fn plain_path(name: &[u8]) -> Result<String, EntryFault> {
    let name = std::str::from_utf8(name).or(Err(EntryFault::NotUtf8))?;
    if name.is_empty() || name.contains('\0') {
        return Err(EntryFault::Name);
    }
    if name.starts_with('/') {
        return Err(EntryFault::Absolute);
    }
    let parts: Vec<&str> = name.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(EntryFault::Climbs);
    }
    let path = parts.join("/");
    if path.len() > PATH_BYTES_MAX || parts.iter().any(|it| it.len() > 255) {
        return Err(EntryFault::TooLong);
    }
    Ok(path)
}

/// Places a checked path under the subdirectory that is the workspace.
pub(super) fn place(path: &str, subdirectory: Option<&TreePath>) -> Place {
    if has_git_part(path) {
        return Place::Elsewhere;
    }
    let below = match subdirectory {
        None => Some(path),
        Some(directory) if path == directory.as_str() => Some(""),
        Some(directory) => {
            path.strip_prefix(directory.as_str()).and_then(|it| it.strip_prefix('/'))
        }
    };
    match below {
        None => Place::Elsewhere,
        Some("") => Place::Root,
        Some(below) => Place::Inside(below.to_owned()),
    }
}

/// Whether a part of the path is a repository's own directory, however it is written.
pub(super) fn has_git_part(path: &str) -> bool {
    path.split('/').any(|it| it.eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_the_root_is_refused() {
        assert_eq!(plain_path(b"/etc/passwd"), Err(EntryFault::Absolute));
        assert_eq!(plain_path(b"../x"), Err(EntryFault::Climbs));
        assert_eq!(plain_path(b"a/b/../c"), Err(EntryFault::Climbs));
        assert_eq!(plain_path(b"a/.."), Err(EntryFault::Climbs));
        assert_eq!(plain_path(b""), Err(EntryFault::Name));
        assert_eq!(plain_path(b"a\0b"), Err(EntryFault::Name));
        assert_eq!(plain_path(b"a\xff"), Err(EntryFault::NotUtf8));
        assert_eq!(plain_path(&[b'a'; 256]), Err(EntryFault::TooLong));
        assert_eq!(plain_path(&b"a/".repeat(3_000)), Err(EntryFault::TooLong));
    }

    #[test]
    fn a_name_is_read_as_archives_write_it() {
        assert_eq!(plain_path(b"./a//b/./c/"), Ok("a/b/c".to_owned()));
        assert_eq!(plain_path(b"./"), Ok(String::new()));
    }

    #[test]
    fn only_the_subdirectory_is_the_workspace() {
        let sub = TreePath::parse("pkg/a").unwrap();
        assert_eq!(place("pkg/a/x", Some(&sub)), Place::Inside("x".into()));
        assert_eq!(place("pkg/a", Some(&sub)), Place::Root);
        assert_eq!(place("pkg/ab", Some(&sub)), Place::Elsewhere);
        assert_eq!(place("pkg/a/.git/config", Some(&sub)), Place::Elsewhere);
        assert_eq!(place("x/.GIT", None), Place::Elsewhere);
        assert_eq!(place(".gitignore", None), Place::Inside(".gitignore".into()));
    }
}
