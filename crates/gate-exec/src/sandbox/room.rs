//! What a sandbox is made for, owned, so that it can be taken to another thread.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gate_core::{NetworkAccess, RunLimits};

use super::Room;

/// What a sandbox is made for, for another thread.
#[derive(Debug)]
pub(super) struct OwnRoom {
    pub(super) base: PathBuf,
    pub(super) layer: Option<PathBuf>,
    pub(super) keep: Option<PathBuf>,
    pub(super) place: PathBuf,
    pub(super) limits: RunLimits,
    pub(super) network: NetworkAccess,
    pub(super) variables: BTreeMap<String, String>,
}

impl From<&Room<'_>> for OwnRoom {
    fn from(room: &Room<'_>) -> Self {
        Self {
            base: room.base.to_owned(),
            layer: room.layer.map(PathBuf::from),
            keep: room.keep.map(PathBuf::from),
            place: room.place.to_owned(),
            limits: room.limits,
            network: room.network,
            variables: room.variables.clone(),
        }
    }
}
