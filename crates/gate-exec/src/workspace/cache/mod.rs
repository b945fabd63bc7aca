//! One materialised checkout for each tree, kept as long as there is room.
//!
//! A tree is stored once, by its digest, whatever it came from; sources and overlays are names for it. Nobody
//! writes into a stored tree again: who uses one holds a lease, and what is leased is never evicted. The cache
//! belongs to one process, lies on its ground, and is gone or swept with it; no verdict depends on it.

mod recent;
mod stored;

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gate_core::Sha256Digest;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

pub(super) use stored::{Site, Stored};

use super::error::SourceError;
use super::key::Key;
use super::overlay::Overlay;
pub(super) use recent::Recent;

/// A stored tree in use.
#[derive(Debug)]
pub(super) struct Lease {
    /// `None` only while it is given back.
    stored: Option<Arc<Stored>>,
    cache: Arc<TreeCache>,
}

/// See the module.
pub(super) struct TreeCache {
    state: Mutex<State>,
    bounds: Bounds,
}

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) bytes_max: u64,
    pub(super) entries_max: usize,
}

struct State {
    trees: Recent<Sha256Digest, Arc<Stored>>,
    /// The bytes of those trees that fit into the cache at all.
    bytes: u64,
    sources: Recent<Key, Sha256Digest>,
    overlays: Recent<Key, Overlay>,
    /// Who makes what just now.
    turns: HashMap<Key, Weak<tokio::sync::Mutex<()>>>,
}

impl TreeCache {
    pub(super) fn new(bounds: Bounds) -> Self {
        let names_max = bounds.entries_max.saturating_mul(4);
        let state = State {
            trees: Recent::new(),
            bytes: 0,
            sources: Recent::bounded(names_max),
            overlays: Recent::bounded(names_max),
            turns: HashMap::new(),
        };
        Self { state: Mutex::new(state), bounds }
    }

    /// The tree of a source: a stored one, or one that `make` makes. Of those who want the same at once
    /// one makes it and the others wait; where that one fails, the next tries itself.
    pub(super) async fn tree<M: Future<Output = Result<Stored, SourceError>>>(
        self: &Arc<Self>,
        key: Key,
        cancel: &CancellationToken,
        make: impl FnOnce() -> M,
    ) -> Result<Lease, SourceError> {
        if let Some(found) = self.of_source(key) {
            return Ok(found);
        }
        let _turn = self.turn(key, cancel).await?;
        if let Some(found) = self.of_source(key) {
            return Ok(found);
        }
        let lease = self.store(make().await?);
        self.lock().sources.put(key, lease.digest());
        Ok(lease)
    }

    /// Waits until nobody else makes what `key` names.
    pub(super) async fn turn(
        &self,
        key: Key,
        cancel: &CancellationToken,
    ) -> Result<OwnedMutexGuard<()>, SourceError> {
        let mutex = {
            let mut state = self.lock();
            state.turns.retain(|_, it| it.strong_count() > 0);
            let known = state.turns.get(&key).and_then(Weak::upgrade);
            let mutex = known.unwrap_or_default();
            state.turns.insert(key, Arc::downgrade(&mutex));
            mutex
        };
        tokio::select! {
            guard = mutex.lock_owned() => Ok(guard),
            () = cancel.cancelled() => Err(SourceError::Cancelled),
        }
    }

    /// Stores a tree, or drops it where the same one is stored already.
    pub(super) fn store(self: &Arc<Self>, stored: Stored) -> Lease {
        let mut doubled = None;
        let mut state = self.lock();
        let known = state.trees.get(&stored.digest()).map(Arc::clone);
        let stored = if let Some(known) = known {
            doubled = Some(stored);
            known
        } else {
            let stored = Arc::new(stored);
            state.bytes += self.counted(&stored);
            state.trees.put(stored.digest(), Arc::clone(&stored));
            stored
        };
        let evicted = state.trim(self);
        drop(state);
        // What is removed is removed without the lock.
        drop((doubled, evicted));
        Lease { stored: Some(stored), cache: Arc::clone(self) }
    }

    /// What an overlay came to, and its tree, where both are known.
    pub(super) fn overlay(self: &Arc<Self>, key: Key) -> Option<(Overlay, Lease)> {
        let mut state = self.lock();
        let overlay = state.overlays.get(&key)?.clone();
        let stored = state.trees.get(&overlay.tree).map(Arc::clone)?;
        drop(state);
        Some((overlay, Lease { stored: Some(stored), cache: Arc::clone(self) }))
    }

    pub(super) fn remember_overlay(&self, key: Key, overlay: Overlay) {
        self.lock().overlays.put(key, overlay);
    }

    fn of_source(self: &Arc<Self>, key: Key) -> Option<Lease> {
        let mut state = self.lock();
        let digest = *state.sources.get(&key)?;
        let stored = state.trees.get(&digest).map(Arc::clone)?;
        drop(state);
        Some(Lease { stored: Some(stored), cache: Arc::clone(self) })
    }

    /// A tree that is larger than the whole cache does not push the others out.
    fn counted(&self, stored: &Stored) -> u64 {
        if self.is_oversize(stored) { 0 } else { stored.bytes() }
    }

    fn is_oversize(&self, stored: &Stored) -> bool {
        stored.bytes() > self.bounds.bytes_max
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out what there is no room for; who drops it removes it.
    fn trim(&mut self, cache: &TreeCache) -> Vec<Arc<Stored>> {
        let mut evicted = Vec::new();
        // Leases are made under the lock only: what nobody else holds now is not in use.
        let is_free = |it: &Arc<Stored>| Arc::strong_count(it) == 1;
        loop {
            let full =
                self.bytes > cache.bounds.bytes_max || self.trees.len() > cache.bounds.entries_max;
            let may_go = |it: &Arc<Stored>| is_free(it) && (full || cache.is_oversize(it));
            let Some((digest, stored)) = self.trees.take_oldest(may_go) else { return evicted };
            self.bytes -= cache.counted(&stored);
            self.sources.retain(|it| *it != digest);
            self.overlays.retain(|it| it.tree != digest);
            evicted.push(stored);
        }
    }
}

/// A lease is printed with every workspace: what else is kept is not its business.
impl fmt::Debug for TreeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCache").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl Deref for Lease {
    type Target = Stored;

    fn deref(&self) -> &Stored {
        self.stored.as_deref().expect("it is taken out only when the lease is dropped")
    }
}

impl Clone for Lease {
    fn clone(&self) -> Self {
        // Beside a lease there is no eviction, so that this needs no lock.
        Self { stored: self.stored.clone(), cache: Arc::clone(&self.cache) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        // Under the lock, so that of two last leases one sees the other gone.
        self.stored = None;
        let evicted = state.trim(&self.cache);
        drop(state);
        drop(evicted);
    }
}

#[cfg(test)]
mod tests;
