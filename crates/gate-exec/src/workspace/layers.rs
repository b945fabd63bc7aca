//! What the setup commands of a contract left, kept for runs of the same tree.
//!
//! A layer is what an overlay had written: laid over the same base, it gives what the commands saw at
//! their end. Layers lie on this process's ground, and are gone or swept with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gate_core::{Environment, Sha256Digest};
use sha2::{Digest as _, Sha256};

use super::cache::Recent;
use super::ground::{Ground, Plot, make_readable};
use super::remove::remove_tree;
use crate::limits::LAYERS_MAX;

/// What a key begins with; layers of another make would have another word.
const KEY_FORMAT: &[u8] = b"donegate-layer-1\n";

/// All layers of this process; cheap to clone.
#[derive(Debug, Clone)]
pub struct Layers {
    ground: Arc<Ground>,
    kept: Arc<Mutex<Kept>>,
    bytes_max: u64,
}

struct Kept(Recent<Sha256Digest, (Arc<Layer>, u64)>);

/// One layer, which nobody writes to any more. Dropping the last hold on it removes it.
#[derive(Debug)]
pub(crate) struct Layer(Plot);

/// Where a layer is made.
#[derive(Debug)]
pub(crate) struct LayerSite(Plot);

impl Layers {
    pub(super) fn new(ground: Arc<Ground>, bytes_max: u64) -> Self {
        let kept = Arc::new(Mutex::new(Kept(Recent::bounded(LAYERS_MAX))));
        Self { ground, kept, bytes_max }
    }

    /// The same setup of the same tree has the same key. A program of the host that changes while the gate
    /// runs is not seen.
    pub(crate) fn key(tree: Sha256Digest, environment: &Environment) -> Sha256Digest {
        let Environment { variables, setup, setup_network, image, .. } = environment;
        let mut digest = Sha256::new();
        digest.update(KEY_FORMAT);
        digest.update(tree.as_bytes());
        digest.update(setup_network.as_str());
        let words = setup.iter().map(|it| it.to_words());
        let pairs = variables.iter().map(|(name, value)| vec![name.clone(), value.clone()]);
        for list in words.chain(pairs).chain([image.iter().cloned().collect()]) {
            digest.update(list.len().to_le_bytes());
            for word in list {
                digest.update(word.len().to_le_bytes());
                digest.update(word);
            }
        }
        Sha256Digest::from_bytes(digest.finalize().into())
    }

    pub(crate) fn get(&self, key: Sha256Digest) -> Option<Arc<Layer>> {
        self.lock().0.get(&key).map(|(layer, _)| Arc::clone(layer))
    }

    /// An empty place for a new one.
    pub(crate) fn site(&self) -> io::Result<LayerSite> {
        let plot = self.ground.plot()?;
        for name in ["upper", "work"] {
            make_readable(&plot.path().join(name))?;
        }
        Ok(LayerSite(plot))
    }

    /// Keeps what was written there, and lets the least recently used go. It reads every entry once.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn put(&self, key: Sha256Digest, site: LayerSite) -> io::Result<Arc<Layer>> {
        remove_tree(&site.0.path().join("work"))?;
        let layer = Arc::new(Layer(site.0));
        let bytes = bytes_of(layer.path())?;
        let mut kept = self.lock();
        kept.0.put(key, (Arc::clone(&layer), bytes));
        while kept.0.sum(|(_, bytes)| *bytes) > self.bytes_max {
            if kept.0.take_oldest(|_| true).is_none() {
                break;
            }
        }
        Ok(layer)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kept").field(&self.0.len()).finish()
    }
}

impl Layer {
    /// To be laid over its base.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("upper")
    }
}

impl LayerSite {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// What was written there until now.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        bytes_of(self.0.path().join("upper"))
    }
}

/// The files below a directory, links not followed.
fn bytes_of(directory: PathBuf) -> io::Result<u64> {
    let mut waiting = vec![directory];
    let mut bytes = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                waiting.push(entry.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(bytes_max: u64) -> (tempfile::TempDir, Layers) {
        let home = tempfile::tempdir().unwrap();
        let ground = Arc::new(Ground::take(home.path()).unwrap());
        (home, Layers::new(ground, bytes_max))
    }

    fn put(layers: &Layers, key: u8, bytes: usize) -> Arc<Layer> {
        let site = layers.site().unwrap();
        fs::write(site.path().join("upper/file"), vec![0; bytes]).unwrap();
        assert_eq!(site.bytes().unwrap(), bytes as u64);
        layers.put(Sha256Digest::from_bytes([key; 32]), site).unwrap()
    }

    #[test]
    fn a_layer_is_kept_until_others_need_its_room_and_stays_while_it_is_used() {
        let (_home, layers) = layers(100);
        let first = put(&layers, 1, 60);
        put(&layers, 2, 60);
        let found = |key: u8| layers.get(Sha256Digest::from_bytes([key; 32])).is_some();
        assert!(!found(1) && found(2));
        assert!(first.path().join("file").exists());
    }

    #[test]
    fn the_key_knows_the_tree_and_every_word() {
        let tree = |it: u8| Sha256Digest::from_bytes([it; 32]);
        let environment = |words: &[&str], pairs: &[(&str, &str)]| Environment {
            setup: vec![gate_core::testing::command(words)],
            variables: pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            ..Environment::default()
        };
        let keys = [
            Layers::key(tree(1), &environment(&["a", "b"], &[])),
            Layers::key(tree(2), &environment(&["a", "b"], &[])),
            Layers::key(tree(1), &environment(&["a b"], &[])),
            Layers::key(tree(1), &environment(&["a", "b"], &[("a", "b")])),
            Layers::key(tree(1), &environment(&["a", "b", "a", "b"], &[])),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[index + 1..].contains(key), "{index}");
        }
    }
}
