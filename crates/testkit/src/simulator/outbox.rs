//! What was handed over and not yet read.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Outbox<T> {
    letters: VecDeque<(T, usize, usize)>,
    bytes: usize,
    small_bytes: usize,
    largest: usize,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self { letters: VecDeque::new(), bytes: 0, small_bytes: 0, largest: 0 }
    }
}

impl<T> Outbox<T> {
    /// `small`: so many of the bytes are errors of ours, which always go.
    pub(super) fn put(&mut self, letter: T, bytes: usize, small: usize) {
        self.letters.push_back((letter, bytes, small));
        self.bytes += bytes;
        self.small_bytes += small;
    }

    pub(super) fn take(&mut self) -> Option<(T, usize)> {
        let (letter, bytes, small) = self.letters.pop_front()?;
        self.bytes -= bytes;
        self.small_bytes -= small;
        Some((letter, bytes))
    }

    pub(super) fn clear(&mut self) {
        self.letters.clear();
        self.bytes = 0;
        self.small_bytes = 0;
    }

    /// Notes the size of a single message: an empty outbox takes any.
    pub(super) fn saw(&mut self, bytes: usize) {
        self.largest = self.largest.max(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn small_bytes(&self) -> usize {
        self.small_bytes
    }

    pub(super) fn largest(&self) -> usize {
        self.largest
    }
}
