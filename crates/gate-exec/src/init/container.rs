//! Becomes the first process of a container: the engine has put up the walls, and what is left is the workspace.
//!
//! It is started as the container's root, with the few capabilities that laying out the workspace
//! takes, and commands get none of them. Its line to the gate is a socket that lies in the container.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{Resource, chdir, getrlimit, umask};

use super::engine_counts::EngineCounts;
use crate::limits::{CONTAINER_BASE, CONTAINER_DISK, CONTAINER_SIDE_DISKS};
use crate::wire::{ContainerWalls, Refusal, SetUp};
use crate::workspace::copy_tree;

/// The line to the gate.
pub(super) fn line(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket)
}

/// Takes what only the container knows into account: more open files than the engine allows cannot be had.
pub(super) fn complete(set_up: &mut SetUp) {
    let most = getrlimit(Resource::Nofile).maximum;
    let open_files = &mut set_up.bounds.open_files;
    *open_files = open_files.map(|it| it.min(most.unwrap_or(it)));
}

/// Refuses where the engine was asked for bounds and has set none, as one without cgroups does.
pub(super) fn check_bounds(walls: ContainerWalls) -> Result<(), Refusal> {
    const WHY: &str = "the engine bounds neither memory nor processes here; let it run as root, or give its user cgroups of version 2 with the controllers `memory` and `pids`";
    let bounded = EngineCounts::are_within(walls.engine_memory_bytes, walls.engine_processes);
    if bounded { Ok(()) } else { Err(Refusal::says("looking for the engine's bounds", WHY)) }
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
    let give = || match owner {
        Some((user, group)) => chown(&temporary, Some(user), Some(group)),
        None => Ok(()),
    };
    DirBuilder::new()
        .create(&temporary)
        .and_then(|()| open_to_all(&temporary))
        .and_then(|()| give())
        .map_err(Refusal::at("making a temporary directory"))?;
    // Engines give them the mode that they have in the image.
    CONTAINER_SIDE_DISKS
        .iter()
        .try_for_each(|it| open_to_all(Path::new(it)))
        .map_err(Refusal::at("opening temporary directories"))
}

fn open_to_all(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o1777))
}
