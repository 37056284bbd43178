//! Notes, one behind the other, each there as a whole or not at all. When there are many, those that still count are
//! written into the other half.

use super::store::{JOURNALS, Mapping, Store};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A half begins with its number; of two, the higher one counts.
const HEAD: u64 = 8;
/// Behind a note that is complete. The file reads as zeros where nothing was written, and a write that was cut off
/// has written its first bytes.
const END: u8 = 1;
/// So long a half may become before it is worth to begin the other.
const LONG: u64 = 32 << 10;
/// What is longer was not written by us.
const LONGEST: u64 = 256 << 20;

/// So much of a half is written to without a system call.
const MAPPED: usize = 256 << 10;

pub struct Journal {
    store: Arc<Store>,
    halves: [Mapping; 2],
    half: usize,
    number: u64,
    end: u64,
    /// How long it was when it was begun.
    begun: u64,
    /// The note in the making, kept for its memory.
    note: Vec<u8>,
}

impl Journal {
    /// What was noted, and where to go on. The rest of a note that was cut off may lie behind the last: it is to be
    /// renewed before anything is appended.
    pub(super) fn read(store: &Arc<Store>) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let number = |at: u64| -> io::Result<u64> {
            let head = store.read_at(HEAD as usize, at)?;
            Ok(head.try_into().map_or(0, u64::from_le_bytes))
        };
        let (one, other) = (number(JOURNALS[0])?, number(JOURNALS[1])?);
        let half = usize::from(other > one);
        let mut notes = Vec::new();
        let mut at = JOURNALS[half] + HEAD;
        while let Some(note) = read_note(store, at)? {
            at += note.len() as u64 + 5;
            notes.push(note);
        }
        let (end, number) = (at - JOURNALS[half], one.max(other));
        let map = |half: usize| store.map(JOURNALS[half], MAPPED);
        let halves = [map(0)?, map(1)?];
        Ok((Self { store: store.clone(), halves, half, number, end, begun: end, note: Vec::new() }, notes))
    }

    pub fn append(&mut self, note: &[u8]) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.note);
        bytes.clear();
        frame(note, &mut bytes);
        if self.end as usize + bytes.len() <= MAPPED {
            self.halves[self.half].put(self.end as usize, &bytes);
        } else {
            self.store.write_at(&bytes, JOURNALS[self.half] + self.end)?;
        }
        self.end += bytes.len() as u64;
        self.note = bytes;
        Ok(())
    }

    /// Whether it is time for a new one.
    pub fn is_long(&self) -> bool {
        self.end > self.begun * 2 + LONG
    }

    /// Whether a new one would be shorter by pages.
    pub fn can_shrink(&self) -> bool {
        self.end > self.begun + super::store::PAGE
    }

    /// Begins anew with these notes, which say all that the old ones said.
    pub fn renew(&mut self, notes: &[Vec<u8>]) -> io::Result<()> {
        let other = 1 - self.half;
        let (old, new) = (JOURNALS[self.half], JOURNALS[other]);
        // Its number is not the higher one, so that it counts for nothing until it is complete.
        self.store.write_at(&[0; HEAD as usize], new)?;
        self.store.give_back(new, new + LONGEST + LONG);
        let mut bytes = Vec::new();
        for note in notes {
            frame(note, &mut bytes);
        }
        self.store.write_at(&bytes, new + HEAD)?;
        self.store.write_at(&(self.number + 1).to_le_bytes(), new)?;
        self.store.give_back(old, old + self.end.next_multiple_of(super::store::PAGE));
        self.half = other;
        self.number += 1;
        self.end = HEAD + bytes.len() as u64;
        self.begun = self.end;
        Ok(())
    }

    /// Lets the other side see how many requests are open, without reading notes.
    pub fn show_open(&self, count: u32) {
        // SAFETY: the control page is mapped as long as the store is there, and this part of it is atomic.
        unsafe { (*self.store.control()).open.store(count, Ordering::Relaxed) };
    }
}

fn frame(note: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&(note.len() as u32).to_le_bytes());
    into.extend_from_slice(note);
    into.push(END);
}

fn read_note(store: &Store, at: u64) -> io::Result<Option<Vec<u8>>> {
    let length = store.read_at(4, at)?.try_into().map_or(0, u32::from_le_bytes) as usize;
    if length == 0 || length as u64 > LONGEST {
        return Ok(None);
    }
    let mut note = store.read_at(length + 1, at + 4)?;
    Ok((note.len() == length + 1 && note.pop() == Some(END)).then_some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(store: &Arc<Store>) -> Vec<Vec<u8>> {
        Journal::read(store).unwrap().1
    }

    #[test]
    fn what_was_noted_is_there_for_the_next() {
        let store = Arc::new(Store::new().unwrap());
        let (mut journal, none) = Journal::read(&store).unwrap();
        assert!(none.is_empty());
        journal.renew(&[]).unwrap();
        journal.append(b"one").unwrap();
        journal.append(&[7; 10_000]).unwrap();
        assert_eq!(notes(&store), [b"one".to_vec(), vec![7; 10_000]]);
        journal.renew(&[b"both".to_vec()]).unwrap();
        assert_eq!(notes(&store), [b"both"]);
        journal.append(b"three").unwrap();
        assert_eq!(notes(&store), [&b"both"[..], b"three"]);
        for _ in 0..3 {
            journal.renew(&[b"again".to_vec()]).unwrap();
            assert_eq!(notes(&store), [b"again"]);
        }
    }

    /// A note is written from its beginning to its end, and may be cut off at any byte.
    #[test]
    fn a_note_that_was_cut_off_is_none() {
        let mut whole = Vec::new();
        frame(b"a note", &mut whole);
        for cut in 0..whole.len() {
            let store = Arc::new(Store::new().unwrap());
            let (mut journal, _) = Journal::read(&store).unwrap();
            journal.renew(&[]).unwrap();
            journal.append(b"before").unwrap();
            store.write_at(&whole[..cut], JOURNALS[journal.half] + journal.end).unwrap();
            let (mut next, read) = Journal::read(&store).unwrap();
            assert_eq!(read, [b"before"], "cut at {cut}");
            next.renew(&read).unwrap();
            next.append(b"after").unwrap();
            assert_eq!(notes(&store), [&b"before"[..], b"after"], "cut at {cut}");
        }
    }

    /// The new half counts only when it is complete.
    #[test]
    fn a_renewal_that_was_cut_off_changes_nothing() {
        let store = Arc::new(Store::new().unwrap());
        let (mut journal, _) = Journal::read(&store).unwrap();
        journal.renew(&[]).unwrap();
        journal.append(b"before").unwrap();
        let mut bytes = Vec::new();
        frame(b"half", &mut bytes);
        store.write_at(&bytes, JOURNALS[1 - journal.half] + HEAD).unwrap();
        let (mut next, read) = Journal::read(&store).unwrap();
        assert_eq!(read, [b"before"]);
        next.renew(&read).unwrap();
        assert_eq!(notes(&store), [b"before"]);
    }
}
