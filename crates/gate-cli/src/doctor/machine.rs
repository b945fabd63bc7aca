//! What a gate finds on this machine beside its kernel: programs, and cgroups. Only looks; starts nothing but the
//! question for PostgreSQL's version.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::Serialize;

/// Where cgroups are mounted on every distribution of today.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Which cgroups there are, and whether this user may make some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cgroups {
    /// `none`, `v1`, `v2`, or `v1 and v2`.
    pub(super) mode: &'static str,
    /// Whether the one that this process is in can be written.
    pub(super) writable: bool,
}

impl Cgroups {
    pub(super) fn of_machine() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::under(Path::new(CGROUPS), &membership)
    }

    fn under(root: &Path, membership: &str) -> Self {
        let is_v2 = root.join("cgroup.controllers").exists();
        let has_v1 = root.join("memory").is_dir();
        let unified = root.join("unified");
        let (mode, place) = match (is_v2, has_v1, unified.is_dir()) {
            (true, _, _) => ("v2", own(root, membership, "")),
            (false, true, true) => ("v1 and v2", own(&root.join("memory"), membership, "memory")),
            (false, true, false) => ("v1", own(&root.join("memory"), membership, "memory")),
            (false, false, _) => return Self { mode: "none", writable: false },
        };
        Self { mode, writable: access(&place, Access::WRITE_OK).is_ok() }
    }
}

/// The directory of this process's own cgroup, from lines such as `4:memory:/a` and `0::/a`.
fn own(mount: &Path, membership: &str, controller: &str) -> PathBuf {
    let path = membership.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|it| it == controller).then_some(path)
    });
    let place = mount.join(path.unwrap_or("/").trim_start_matches('/'));
    // In a container, what is mounted is often the own cgroup already.
    if place.is_dir() { place } else { mount.to_owned() }
}

/// The program of this name on the search path, or the path itself where it is one.
pub(super) fn program(name: &Path, search_path: &OsStr) -> Option<PathBuf> {
    let executable = |it: &PathBuf| it.is_file() && access(it, Access::EXEC_OK).is_ok();
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(executable);
    }
    std::env::split_paths(search_path).map(|it| it.join(name)).find(executable)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_if_it_can_be_executed() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let place = dirs[1].path().join("podman");
        fs::write(dirs[0].path().join("podman"), "no program").unwrap();
        fs::write(&place, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths(dirs.iter().map(tempfile::TempDir::path)).unwrap();
        assert_eq!(program(Path::new("podman"), &path), Some(place.clone()));
        assert_eq!(program(Path::new("docker"), &path), None);
        assert_eq!(program(&place, OsStr::new("")), Some(place));
        assert_eq!(program(&dirs[0].path().join("podman"), &path), None);
    }

    #[test]
    fn the_mode_of_cgroups_is_told_by_what_is_mounted() {
        let root = tempfile::tempdir().unwrap();
        let mode = || Cgroups::under(root.path(), "4:cpu,memory:/a\n0::/b\n").mode;
        assert_eq!(mode(), "none");
        fs::create_dir_all(root.path().join("memory/a")).unwrap();
        assert_eq!(mode(), "v1");
        fs::create_dir_all(root.path().join("unified")).unwrap();
        assert_eq!(mode(), "v1 and v2");
        fs::write(root.path().join("cgroup.controllers"), "").unwrap();
        assert_eq!(mode(), "v2");
        assert!(Cgroups::under(root.path(), "").writable);
    }

    #[test]
    fn the_own_cgroup_is_read_from_the_membership() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        let own = |membership, controller| own(root.path(), membership, controller);
        assert_eq!(own("4:cpu,memory:/a/b\n0::/a\n", "memory"), root.path().join("a/b"));
        assert_eq!(own("4:cpu,memory:/a/b\n0::/a\n", ""), root.path().join("a"));
        assert_eq!(own("0::/gone\n", ""), root.path());
    }
}
