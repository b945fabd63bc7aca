//! Becomes the first process of a container: the engine has put up the walls, and what is left is the workspace.
//!
//! It is started as the container's root, with the few capabilities that laying out the workspace
//! takes, and commands get none of them. Its line to the gate is a socket that lies in the container.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{Resource, chdir, getrlimit, umask};

use super::engine_counts::EngineCounts;
use crate::limits::{CONTAINER_BASE, CONTAINER_DISK};
use crate::wire::{Bounds, Refusal, SetUp};
use crate::workspace::copy_tree;

/// The line to the gate.
pub(super) fn line(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket)
}

/// Adds what only the container knows: which bounds its engine has set.
pub(super) fn complete(set_up: &mut SetUp) {
    let bounded = EngineCounts::are_bounds();
    let open_files_most = getrlimit(Resource::Nofile).maximum;
    let Bounds { memory_in_cgroup, processes_of_user, open_files, .. } = &mut set_up.bounds;
    *memory_in_cgroup = bounded;
    if bounded {
        *processes_of_user = None;
    }
    // More than the engine allows cannot be had.
    *open_files = open_files.map(|it| it.min(open_files_most.unwrap_or(it)));
}

/// Lays the workspace out on the disk of the run, which is as large as its limit.
pub(super) fn lay_out(set_up: &SetUp) -> Result<(), Refusal> {
    umask(Mode::WGRP | Mode::WOTH);
    chdir("/").map_err(Refusal::at("entering the container"))?;
    let owner = set_up.uid.map(|it| (it, it));
    for name in ["workspace", "home"] {
        copy_tree(
            &Path::new(CONTAINER_BASE).join(name),
            &Path::new(CONTAINER_DISK).join(name),
            owner,
        )
        .map_err(Refusal::at("copying the workspace"))?;
    }
    let temporary = Path::new(CONTAINER_DISK).join("tmp");
    DirBuilder::new()
        .mode(0o777)
        .create(&temporary)
        .and_then(|()| fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)))
        .and_then(|()| {
            owner.map_or(Ok(()), |(user, group)| chown(&temporary, Some(user), Some(group)))
        })
        .map_err(Refusal::at("making a temporary directory"))
}
