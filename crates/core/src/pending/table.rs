//! Minted ids with their entries. Must not know what an entry is.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Minted numbers with their entries.
#[derive(Debug)]
pub(super) struct Table<T> {
    first: u64,
    next: u64,
    entries: HashMap<u64, T, BuildHasherDefault<Spread>>,
}

/// A hash for numbers that we minted ourselves: peers cannot choose them to collide, so one multiplication
/// spreads them well enough.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not used with our keys, which arrive through `write_u64`.
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl<T> Table<T> {
    pub(super) fn starting_at(first: u64) -> Self {
        // Not 0: some servers treat it as no id at all.
        let first = first.max(1);
        Self { first, next: first, entries: HashMap::default() }
    }

    pub(super) fn mint(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// The id that will be minted next.
    pub(super) fn next_id(&self) -> u64 {
        self.next
    }

    /// Whether an id was ever minted, even if its entry is gone.
    pub(super) fn has_minted(&self, id: u64) -> bool {
        (self.first..self.next).contains(&id)
    }

    pub(super) fn insert(&mut self, id: u64, entry: T) {
        self.entries.insert(id, entry);
    }

    pub(super) fn get(&self, id: u64) -> Option<&T> {
        self.entries.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.entries.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<T> {
        let entry = self.entries.remove(&id);
        // Free the memory of a burst.
        if self.entries.is_empty() && self.entries.capacity() > 1024 {
            self.entries.shrink_to(64);
        }
        entry
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().map(|(&id, entry)| (id, entry))
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.values_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The ids of the entries that `pick` selects, in order of minting.
    pub(super) fn ids(&self, mut pick: impl FnMut(&T) -> bool) -> Vec<u64> {
        let mut ids: Vec<u64> = self.iter().filter(|(_, entry)| pick(entry)).map(|(id, _)| id).collect();
        // The hash table has no order of its own, and a run must be repeatable.
        ids.sort_unstable();
        ids
    }
}
