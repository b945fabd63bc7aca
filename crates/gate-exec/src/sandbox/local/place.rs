//! The place of a run on the host's own files: a copy of its tree that its commands own, and what they may leave beside it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use super::super::room::OwnRoom;
use super::LocalTier;
use crate::workspace::{copy_tree, remove_tree};

impl LocalTier {
    /// For tiers on the host's own files: a copy of the tree that the commands own.
    pub(super) fn copy(&self, room: &OwnRoom, uid: Option<u32>) -> io::Result<()> {
        if self.is_namespace() {
            return Ok(());
        }
        let (copy, owner) = (room.place.join("run"), uid.map(|it| (it, it)));
        copy_tree(&room.base, &copy, owner)?;
        fs::create_dir(copy.join("tmp"))?;
        if let Some(uid) = uid {
            chown(copy.join("tmp"), Some(uid), Some(uid))?;
            open_way(&room.place, &self.host.data_dir)?;
        }
        Ok(())
    }
}

/// Lets users other than the gate's pass through its directories to `place`, and look into none.
fn open_way(place: &Path, data_dir: &Path) -> io::Result<()> {
    const PASS: u32 = 0o011;
    for directory in place.ancestors().take_while(|it| it.starts_with(data_dir)) {
        let mode = fs::metadata(directory)?.permissions().mode();
        if mode & PASS != PASS {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode | PASS))?;
        }
    }
    Ok(())
}

/// What a command of this user left in the host's shared memory, which only it could write.
pub(super) fn sweep_shared_memory(uid: u32) {
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        if entry.metadata().is_ok_and(|it| it.uid() == uid) {
            let removed = remove_tree(&entry.path());
            removed.unwrap_or_else(|error| {
                tracing::warn!(error = %error, "a file in /dev/shm was not removed");
            });
        }
    }
}
