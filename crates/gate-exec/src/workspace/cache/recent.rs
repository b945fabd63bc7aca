//! A map that knows what was used last.

use std::collections::HashMap;
use std::hash::Hash;

pub(in super::super) struct Recent<K, V> {
    /// With the turn in which it was used last.
    map: HashMap<K, (V, u64)>,
    turn: u64,
    entries_max: usize,
}

impl<K: Eq + Hash + Copy, V> Recent<K, V> {
    /// Holds whatever it is given.
    pub(super) fn new() -> Self {
        Self::bounded(usize::MAX)
    }

    /// Forgets what was used least recently when there are more.
    pub(in super::super) fn bounded(entries_max: usize) -> Self {
        Self { map: HashMap::new(), turn: 0, entries_max }
    }

    pub(in super::super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Counts as a use.
    pub(in super::super) fn get(&mut self, key: &K) -> Option<&V> {
        self.turn += 1;
        let (value, used) = self.map.get_mut(key)?;
        *used = self.turn;
        Some(value)
    }

    pub(in super::super) fn put(&mut self, key: K, value: V) {
        self.turn += 1;
        self.map.insert(key, (value, self.turn));
        while self.map.len() > self.entries_max {
            self.take_oldest(|_| true);
        }
    }

    /// Takes out what was used least recently among those that may go.
    pub(in super::super) fn take_oldest(&mut self, may_go: impl Fn(&V) -> bool) -> Option<(K, V)> {
        let those = self.map.iter().filter(|(_, (value, _))| may_go(value));
        let key = *those.min_by_key(|(_, (_, used))| *used)?.0;
        self.map.remove(&key).map(|(value, _)| (key, value))
    }

    pub(in super::super) fn sum(&self, of: impl Fn(&V) -> u64) -> u64 {
        self.map.values().map(|(value, _)| of(value)).sum()
    }

    pub(super) fn retain(&mut self, stays: impl Fn(&V) -> bool) {
        self.map.retain(|_, (value, _)| stays(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let mut recent = Recent::bounded(2);
        recent.put('a', 1);
        recent.put('b', 2);
        assert_eq!(recent.get(&'a'), Some(&1));
        recent.put('c', 3);
        assert_eq!(recent.get(&'b'), None);
        assert_eq!(recent.len(), 2);
        assert_eq!(recent.take_oldest(|it| *it != 1), Some(('c', 3)));
        assert_eq!(recent.take_oldest(|it| *it != 1), None);
        recent.retain(|it| *it != 1);
        assert_eq!(recent.len(), 0);
    }
}
