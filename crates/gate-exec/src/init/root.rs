//! Builds the root that the commands of one run see, and leaves the host's.
//!
//! Everything of the host in it is read-only, and is there because it is named. What can be written
//! lies in one file system in memory, whose size and number of entries are the run's disk limit.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{chdir, geteuid, pivot_root, umask};

use super::mounts;
use crate::limits::{NAMESPACE_HOME, NAMESPACE_WORKSPACE};
use crate::visible::{ETC, PROGRAMS};
use crate::wire::{Bounds, NamespaceWalls, Refusal, SetUp};

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
const PRIVATE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// After this, the host's files are out of reach.
///
/// `owner` is the namespace of the user whom the workspace shall belong to, where that is not this one.
pub(super) fn build(
    walls: &NamespaceWalls,
    set_up: &SetUp,
    owner: Option<&OwnedFd>,
) -> Result<(), Refusal> {
    umask(Mode::WGRP | Mode::WOTH);
    // Else what is mounted here would appear on the host.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(Refusal::at("keeping mounts to itself"))?;
    // Before the new root covers the place: a layer may lie below it.
    let below = Below::open(walls, owner)?;
    mount("tmpfs", &walls.place, "tmpfs", PRIVATE, c"mode=0755,size=16m,nr_inodes=16k")
        .map_err(Refusal::at("mounting the new root"))?;
    chdir(&walls.place).map_err(Refusal::at("entering the new root"))?;
    programs(&walls.readable).map_err(Refusal::at("laying in the host's programs"))?;
    etc(set_up.uid).map_err(Refusal::at("making /etc"))?;
    let disk = Disk { walls, set_up };
    disk.mount().map_err(Refusal::at("mounting the disk of the run"))?;
    disk.workspace(&below)?;
    devices().map_err(Refusal::at("making /dev"))?;
    make("proc")
        .and_then(|()| Ok(mount("proc", "proc", "proc", PRIVATE | MountFlags::NOEXEC, None)?))
        .map_err(Refusal::at("mounting /proc"))?;
    symlink("/tmp", "var/tmp").map_err(Refusal::at("making /var"))?;
    disk.leave_no_handle().map_err(Refusal::at("hiding the disk of the run"))?;
    pivot_root(".", ".").map_err(Refusal::at("leaving the host's root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(Refusal::at("leaving the host's root"))?;
    chdir("/").map_err(Refusal::at("entering the new root"))?;
    mounts::make_root_read_only().map_err(Refusal::at("closing the new root"))
}

/// The layers below the workspace, as mounts that are nowhere yet.
struct Below {
    layers: Vec<OwnedFd>,
    keep: Option<OwnedFd>,
}

impl Below {
    fn open(walls: &NamespaceWalls, owner: Option<&OwnedFd>) -> Result<Self, Refusal> {
        let at = "taking the workspace's layers";
        let open = |path: &PathBuf| {
            let mount = mounts::clone_of(path, false)?;
            owner.map_or(Ok(()), |it| mounts::give_to(&mount, it))?;
            Ok(mount)
        };
        let layers: io::Result<Vec<OwnedFd>> = walls.layers.iter().map(open).collect();
        let keep = walls.keep.as_ref().map(open).transpose().map_err(Refusal::at(at))?;
        Ok(Self { layers: layers.map_err(Refusal::at(at))?, keep })
    }
}

/// The programs of the host, and what the operator names beside them, each where it is on the host.
fn programs(readable: &[PathBuf]) -> io::Result<()> {
    for path in PROGRAMS.map(Path::new) {
        match path.symlink_metadata() {
            Ok(it) if it.is_symlink() => symlink(fs::read_link(path)?, inside(path))?,
            Ok(_) => lay_in(path)?,
            Err(_) => {}
        }
    }
    let mut laid: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
    for path in readable {
        // Where a link leads, so that no name in the new root can lead elsewhere.
        let Ok(real) = path.canonicalize() else { continue };
        if !laid.iter().any(|it| real.starts_with(it)) {
            lay_in(&real)?;
            laid.push(real.clone());
        }
        let name = inside(path);
        if real != *path && name.symlink_metadata().is_err() {
            make_parent(&name)?;
            symlink(&real, name)?;
        }
    }
    Ok(())
}

/// Where a path of the host is, seen from the new root.
fn inside(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

fn lay_in(path: &Path) -> io::Result<()> {
    let mount = mounts::clone_of(path, true)?;
    mounts::make_read_only(&mount)?;
    let name = inside(path);
    make_parent(&name)?;
    if path.is_dir() {
        make(&name)?;
    } else {
        fs::write(&name, "")?;
    }
    mounts::attach(&mount, &name)
}

fn etc(uid: Option<u32>) -> io::Result<()> {
    make("etc")?;
    for name in ETC {
        let path = Path::new("/etc").join(name);
        match path.symlink_metadata() {
            Ok(it) if it.is_symlink() => {
                let name = inside(&path);
                make_parent(&name)?;
                symlink(fs::read_link(&path)?, name)?;
            }
            Ok(_) => lay_in(&path)?,
            Err(_) => {}
        }
    }
    let id = uid.unwrap_or_else(|| geteuid().as_raw());
    let passwd = format!(
        "root:x:0:0::/:/bin/false\ngate:x:{id}:{id}::{NAMESPACE_HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    );
    fs::write("etc/passwd", passwd)?;
    fs::write("etc/group", format!("root:x:0:\ngate:x:{id}:\nnogroup:x:65534:\n"))?;
    fs::write("etc/hosts", "127.0.0.1 localhost donegate\n::1 localhost\n")?;
    fs::write("etc/hostname", "donegate\n")?;
    fs::write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")?;
    fs::write("etc/resolv.conf", "")?;
    fs::write("etc/shells", "/bin/sh\n/bin/bash\n")
}

fn devices() -> io::Result<()> {
    make("dev")?;
    for name in DEVICES {
        let at = Path::new("dev").join(name);
        fs::write(&at, "")?;
        mounts::attach(&mounts::clone_of(&Path::new("/dev").join(name), false)?, &at)?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, Path::new("dev").join(name))?;
    }
    make("dev/pts")?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "dev/pts", "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")?;
    make("dev/shm")?;
    mounts::attach(&mounts::clone_of(Path::new(".disk/shm"), false)?, Path::new("dev/shm"))
}

/// All that the commands of the run may write to.
struct Disk<'a> {
    walls: &'a NamespaceWalls,
    set_up: &'a SetUp,
}

impl Disk<'_> {
    fn mount(&self) -> io::Result<()> {
        make(".disk")?;
        let Bounds { disk_bytes, disk_entries, .. } = self.set_up.bounds;
        let options = format!("mode=0755,size={disk_bytes},nr_inodes={disk_entries}");
        let options = std::ffi::CString::new(options)?;
        mount("tmpfs", ".disk", "tmpfs", PRIVATE, options.as_c_str())?;
        for name in ["upper", "work", "tmp", "shm"] {
            let path = Path::new(".disk").join(name);
            make(&path)?;
            self.give(&path)?;
        }
        make("tmp")?;
        make("var")?;
        for name in ["tmp", "shm"] {
            let mode = fs::Permissions::from_mode(0o1777);
            fs::set_permissions(Path::new(".disk").join(name), mode)?;
        }
        mounts::attach(&mounts::clone_of(Path::new(".disk/tmp"), false)?, Path::new("tmp"))
    }

    /// To the user of the commands.
    fn give(&self, path: &Path) -> io::Result<()> {
        self.set_up.uid.map_or(Ok(()), |it| chown(path, Some(it), Some(it)))
    }

    fn workspace(&self, below: &Below) -> Result<(), Refusal> {
        let mounted = if self.walls.overlay { self.overlay(below) } else { self.copy(below) };
        mounted.map_err(Refusal::at("laying out the workspace"))?;
        Ok(())
    }

    fn overlay(&self, below: &Below) -> io::Result<()> {
        let mut lower = Vec::new();
        for (index, layer) in below.layers.iter().enumerate() {
            let at = format!(".layer{index}");
            make(&at)?;
            mounts::attach(layer, Path::new(&at))?;
            lower.insert(0, at);
        }
        let upper = match &below.keep {
            Some(keep) => {
                make(".keep")?;
                mounts::attach(keep, Path::new(".keep"))?;
                ".keep"
            }
            None => ".disk",
        };
        // Without the one, an ordinary user may not mount it; without the other, directories of the tree cannot be renamed.
        let kind = if geteuid().is_root() { "redirect_dir=on" } else { "userxattr" };
        let lower = lower.join(":");
        let options =
            format!("lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work,xino=off,{kind}");
        make("gate")?;
        let options = std::ffi::CString::new(options)?;
        Ok(mount("overlay", "gate", "overlay", PRIVATE, options.as_c_str())?)
    }

    fn copy(&self, below: &Below) -> io::Result<()> {
        let at = Path::new(".disk/gate");
        for (index, layer) in below.layers.iter().enumerate() {
            let from = format!(".layer{index}");
            make(&from)?;
            mounts::attach(layer, Path::new(&from))?;
            let owner = self.set_up.uid.map(|it| (it, it));
            crate::workspace::copy_tree(Path::new(&from), at, owner)?;
        }
        make("gate")?;
        mounts::attach(&mounts::clone_of(at, false)?, Path::new("gate"))
    }

    /// Its parts are mounted where they belong; the whole has no name any more.
    fn leave_no_handle(&self) -> io::Result<()> {
        let mut names = vec![".disk".to_owned()];
        names.extend((0..self.walls.layers.len()).map(|it| format!(".layer{it}")));
        names.extend(
            self.walls.keep.as_ref().filter(|_| self.walls.overlay).map(|_| ".keep".to_owned()),
        );
        for name in names {
            unmount(&name, UnmountFlags::DETACH)?;
            fs::remove_dir(&name)?;
        }
        debug_assert!(NAMESPACE_WORKSPACE.starts_with("/gate/"));
        Ok(())
    }
}

/// A directory that everybody may enter.
fn make(path: impl AsRef<Path>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), make)
}
