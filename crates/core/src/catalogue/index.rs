//! Lookup of list entries by name: a hash table of entry numbers, four bytes per slot, since a catalogue of
//! tens of thousands of names must stay small. The list holds the names themselves. Must not know the names.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

const EMPTY: u32 = u32::MAX;

/// Random per process, so that no server can choose colliding names; the same for all tables, so that a name
/// is hashed once for several lookups.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);

pub(super) fn hash(name: &[u8]) -> u64 {
    STATE.hash_one(name)
}

/// Open addressing, at most half full.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    slots: Vec<u32>,
}

impl Index {
    /// A table for this many entries; it does not grow.
    pub(super) fn with_room(entries: usize) -> Self {
        // At least one slot stays empty, which is where an unsuccessful search ends.
        Self { slots: vec![EMPTY; (2 * entries).next_power_of_two().max(2)] }
    }

    /// The entry with this hash that `is` accepts.
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        // `Index::default` has no slots at all.
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                entry if is(entry) => return Some(entry),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Inserts an entry. The caller must not exceed the capacity, nor insert a name twice.
    pub(super) fn insert(&mut self, hash: u64, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_colliding_hashes_are_found() {
        let names: Vec<String> = (0..1000).map(|n| format!("name{n}")).collect();
        let mut index = Index::with_room(names.len());
        let poor = |name: &str| hash(name.as_bytes()) % 7;
        for (at, name) in names.iter().enumerate() {
            index.insert(poor(name), at as u32);
        }
        for (at, name) in names.iter().enumerate() {
            assert_eq!(index.find(poor(name), |entry| names[entry as usize] == *name), Some(at as u32));
        }
        assert_eq!(index.find(3, |_| false), None);
        assert_eq!(Index::default().find(3, |_| true), None);
    }
}
