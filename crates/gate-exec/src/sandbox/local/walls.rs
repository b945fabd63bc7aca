//! What the init of a run is told: the walls of its tier, and the bounds of its commands.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gate_core::{IsolationTier, NetworkAccess, RunLimits, WorkspaceKind};
use rustix::process::getuid;

use super::super::room::OwnRoom;
use super::LocalTier;
use crate::cgroup::Cgroup;
use crate::limits::{NAMESPACE_HOME, NAMESPACE_WORKSPACE, OWN_PROCESSES};
use crate::visible::{ETC, ETC_OF_HOST, PROGRAMS};
use crate::wire::{Bounds, LandlockWalls, NamespaceWalls, Walls};

/// What all other runs of a user may start while one runs.
const SHARED_USER_PROCESSES: u64 = 256;

impl LocalTier {
    pub(super) fn bounds(&self, room: &OwnRoom) -> io::Result<Bounds> {
        let limits = room.limits;
        let in_cgroup = self.host.cgroups.is_some();
        let processes = u64::from(limits.processes);
        let of_others = if self.has_own_user() || self.is_namespace() {
            0
        } else {
            // Other runs have the same user, and start and end meanwhile: none may take another's share.
            processes_of(getuid().as_raw())? + SHARED_USER_PROCESSES
        };
        Ok(Bounds {
            memory_bytes: Some(limits.memory_bytes()),
            memory_in_cgroup: in_cgroup,
            processes_max: Some(processes),
            processes_of_user: (!in_cgroup).then_some(processes + OWN_PROCESSES + of_others),
            open_files: Some(limits.open_files.into()),
            cpu_ms: Some(u64::from(limits.cpu_seconds) * 1000),
            disk_bytes: limits.disk_bytes(),
            disk_entries: limits.disk_entries(),
            // What is kept lies on the host's disk, whose room nothing else bounds.
            file_bytes: (!self.is_namespace() || room.keep.is_some()).then(|| limits.disk_bytes()),
        })
    }

    pub(super) fn cgroup(&self, limits: RunLimits) -> io::Result<Option<Cgroup>> {
        let Some(cgroups) = &self.host.cgroups else { return Ok(None) };
        // What a namespace writes is in memory too; its own limit bounds it, and the init watches the rest.
        let disk = if self.is_namespace() { limits.disk_bytes() } else { 0 };
        let processes = u64::from(limits.processes) + OWN_PROCESSES;
        cgroups.make(limits.memory_bytes() + disk, processes).map(Some)
    }

    /// Where the workspace and the home are, as commands see them.
    pub(super) fn places(&self, room: &OwnRoom) -> (PathBuf, PathBuf, PathBuf) {
        if self.is_namespace() {
            return (NAMESPACE_WORKSPACE.into(), NAMESPACE_HOME.into(), "/tmp".into());
        }
        let copy = room.place.join("run");
        (copy.join("workspace"), copy.join("home"), copy.join("tmp"))
    }

    pub(super) fn walls(&self, room: &OwnRoom, proxy_port: Option<u16>) -> Walls {
        match self.tier {
            IsolationTier::Landlock => {
                let etc = ETC.iter().chain(&ETC_OF_HOST).map(|it| Path::new("/etc").join(it));
                let system = PROGRAMS.iter().chain(&["/proc", "/sys/devices/system/cpu"]);
                let system = system.map(PathBuf::from).chain(etc);
                let shared = self.has_own_user().then(|| PathBuf::from("/dev/shm"));
                Walls::Landlock(LandlockWalls {
                    readable: system.chain(self.host.readable.iter().cloned()).collect(),
                    writable: shared.into_iter().chain([room.place.join("run")]).collect(),
                    proxy_port,
                })
            }
            IsolationTier::Namespace => Walls::Namespace(NamespaceWalls {
                place: room.place.clone(),
                layers: std::iter::once(&room.base).chain(&room.layer).cloned().collect(),
                overlay: self.workspace == WorkspaceKind::Overlay,
                keep: room.keep.clone(),
                readable: self.host.readable.clone(),
                proxy: room.network == NetworkAccess::Full,
            }),
            IsolationTier::Process | IsolationTier::Container => Walls::None,
        }
    }
}

/// Processes and threads of a user, on the whole host.
fn processes_of(uid: u32) -> io::Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")?.flatten() {
        if entry.file_name().to_str().is_some_and(|it| it.parse::<u32>().is_ok())
            && entry.metadata().is_ok_and(|it| it.uid() == uid)
        {
            count += fs::read_dir(entry.path().join("task")).map_or(0, Iterator::count) as u64;
        }
    }
    Ok(count)
}
