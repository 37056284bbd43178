//! The journal: a sequence of entries, each complete or absent. It has two halves: when one grows long, the
//! entries that still count are rewritten into the other. Must not know what an entry says.

use super::store::{JOURNAL_HALVES, Mapping, Store};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A half starts with its number; the half with the higher number is current.
const HEAD_BYTES: u64 = 8;
/// Marker byte after a complete entry. Unwritten parts of the file are zero, and a write that was cut off has
/// written only a prefix.
const ENTRY_END: u8 = 1;
/// Growth of a half before it is rewritten into the other.
const MIN_RENEWAL_BYTES: u64 = 32 << 10;
/// Upper limit of an entry's length; a longer one is not ours.
const MAX_ENTRY_BYTES: u64 = 256 << 20;

/// Mapped part of a half, written without a system call.
const MAPPED_BYTES: usize = 256 << 10;

pub struct Journal {
    store: Arc<Store>,
    halves: [Mapping; 2],
    half: usize,
    number: u64,
    end: u64,
    /// Length right after the last renewal.
    begun: u64,
    /// Reused buffer for the entry being built.
    buffer: Vec<u8>,
}

impl Journal {
    /// Reads the entries so far. Remains of a truncated entry may lie behind the last one, so the journal
    /// must be renewed before the first append.
    pub(super) fn read(store: &Arc<Store>) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let number = |at: u64| -> io::Result<u64> {
            let head = store.read_at(HEAD_BYTES as usize, at)?;
            Ok(head.try_into().map_or(0, u64::from_le_bytes))
        };
        let (one, other) = (number(JOURNAL_HALVES[0])?, number(JOURNAL_HALVES[1])?);
        // In a new file both numbers are 0, and the first half counts.
        let half = usize::from(other > one);
        let mut entries = Vec::new();
        let mut at = JOURNAL_HALVES[half] + HEAD_BYTES;
        while let Some(entry) = read_entry(store, at)? {
            // Four bytes of length before the entry, one end marker behind it.
            at += entry.len() as u64 + 5;
            entries.push(entry);
        }
        let (end, number) = (at - JOURNAL_HALVES[half], one.max(other));
        let map = |half: usize| store.map(JOURNAL_HALVES[half], MAPPED_BYTES);
        let halves = [map(0)?, map(1)?];
        Ok((
            Self { store: store.clone(), halves, half, number, end, begun: end, buffer: Vec::new() },
            entries,
        ))
    }

    pub fn append(&mut self, entry: &[u8]) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.clear();
        frame(entry, &mut bytes);
        if self.end as usize + bytes.len() <= MAPPED_BYTES {
            // `put` writes the last byte, the end marker, last: the entry is complete or absent.
            self.halves[self.half].put(self.end as usize, &bytes);
        } else {
            self.store.write_at(&bytes, JOURNAL_HALVES[self.half] + self.end)?;
        }
        self.end += bytes.len() as u64;
        self.buffer = bytes;
        Ok(())
    }

    /// Whether the journal should be renewed.
    pub fn is_long(&self) -> bool {
        self.end > self.begun * 2 + MIN_RENEWAL_BYTES
    }

    /// Whether a renewal would free pages.
    pub fn can_shrink(&self) -> bool {
        self.end > self.begun + super::store::PAGE_BYTES
    }

    /// Starts over with these entries, which replace all earlier ones.
    pub fn renew(&mut self, entries: &[Vec<u8>]) -> io::Result<()> {
        let other = 1 - self.half;
        let (old, new) = (JOURNAL_HALVES[self.half], JOURNAL_HALVES[other]);
        // Number 0 is never the higher one: this half stays invalid until it is complete.
        self.store.write_at(&[0; HEAD_BYTES as usize], new)?;
        // Remains of an earlier use must read as zeros, or they would pass for more entries.
        self.store.give_back(new, new + MAX_ENTRY_BYTES + MIN_RENEWAL_BYTES);
        let mut bytes = Vec::new();
        for entry in entries {
            frame(entry, &mut bytes);
        }
        self.store.write_at(&bytes, new + HEAD_BYTES)?;
        // The number goes last: with it the new half becomes current.
        self.store.write_at(&(self.number + 1).to_le_bytes(), new)?;
        // Only now: until the new half counts, the old one may be needed.
        self.store.give_back(old, old + self.end.next_multiple_of(super::store::PAGE_BYTES));
        self.half = other;
        self.number += 1;
        self.end = HEAD_BYTES + bytes.len() as u64;
        self.begun = self.end;
        Ok(())
    }

    /// Publishes the number of open requests, so that the other side need not read the journal.
    pub fn show_open(&self, count: u32) {
        // SAFETY: the control page is mapped as long as the store exists, and this field is atomic.
        unsafe { (*self.store.control()).open.store(count, Ordering::Relaxed) };
    }
}

fn frame(entry: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&(entry.len() as u32).to_le_bytes());
    into.extend_from_slice(entry);
    into.push(ENTRY_END);
}

fn read_entry(store: &Store, at: u64) -> io::Result<Option<Vec<u8>>> {
    let length = store.read_at(4, at)?.try_into().map_or(0, u32::from_le_bytes) as usize;
    if length == 0 || length as u64 > MAX_ENTRY_BYTES {
        return Ok(None);
    }
    let mut entry = store.read_at(length + 1, at + 4)?;
    Ok((entry.len() == length + 1 && entry.pop() == Some(ENTRY_END)).then_some(entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(store: &Arc<Store>) -> Vec<Vec<u8>> {
        Journal::read(store).unwrap().1
    }

    #[test]
    fn entries_are_there_for_the_next_holder() {
        let store = Arc::new(Store::new().unwrap());
        let (mut journal, none) = Journal::read(&store).unwrap();
        assert!(none.is_empty());
        journal.renew(&[]).unwrap();
        journal.append(b"one").unwrap();
        journal.append(&[7; 10_000]).unwrap();
        assert_eq!(entries(&store), [b"one".to_vec(), vec![7; 10_000]]);
        journal.renew(&[b"both".to_vec()]).unwrap();
        assert_eq!(entries(&store), [b"both"]);
        journal.append(b"three").unwrap();
        assert_eq!(entries(&store), [&b"both"[..], b"three"]);
        for _ in 0..3 {
            journal.renew(&[b"again".to_vec()]).unwrap();
            assert_eq!(entries(&store), [b"again"]);
        }
    }

    /// An entry is written front to back, and may be cut off at any byte.
    #[test]
    fn truncated_entry_is_ignored() {
        let mut whole = Vec::new();
        frame(b"an entry", &mut whole);
        for cut in 0..whole.len() {
            let store = Arc::new(Store::new().unwrap());
            let (mut journal, _) = Journal::read(&store).unwrap();
            journal.renew(&[]).unwrap();
            journal.append(b"before").unwrap();
            store.write_at(&whole[..cut], JOURNAL_HALVES[journal.half] + journal.end).unwrap();
            let (mut next, read) = Journal::read(&store).unwrap();
            assert_eq!(read, [b"before"], "cut at {cut}");
            next.renew(&read).unwrap();
            next.append(b"after").unwrap();
            assert_eq!(entries(&store), [&b"before"[..], b"after"], "cut at {cut}");
        }
    }

    /// The new half counts only once it is complete.
    #[test]
    fn interrupted_renewal_changes_nothing() {
        let store = Arc::new(Store::new().unwrap());
        let (mut journal, _) = Journal::read(&store).unwrap();
        journal.renew(&[]).unwrap();
        journal.append(b"before").unwrap();
        let mut bytes = Vec::new();
        frame(b"half", &mut bytes);
        store.write_at(&bytes, JOURNAL_HALVES[1 - journal.half] + HEAD_BYTES).unwrap();
        let (mut next, read) = Journal::read(&store).unwrap();
        assert_eq!(read, [b"before"]);
        next.renew(&read).unwrap();
        assert_eq!(entries(&store), [b"before"]);
    }
}
