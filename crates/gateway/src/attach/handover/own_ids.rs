//! Our own ids for messages that are repeated to a new daemon.

use super::entry::Id;
use std::hash::{BuildHasher, RandomState};

/// Prefix of our ids: a cheap first check. Only ids that were minted and are still open count as ours.
pub(super) const PREFIX: &[u8] = b"\"switchboard/again/";

/// Open ids of repeated messages.
pub(super) struct OwnIds {
    /// Random, so that no client can choose one of our ids.
    secret: u64,
    minted: usize,
    open: Vec<Id>,
    /// Number of answers consumed so far.
    pub(super) swallowed: usize,
}

impl OwnIds {
    pub(super) fn new() -> Self {
        // The keys of the standard hasher are random, which saves a crate for one number.
        let secret = BuildHasher::hash_one(&RandomState::new(), 0);
        Self { secret, minted: 0, open: Vec::new(), swallowed: 0 }
    }

    pub(super) fn mint(&mut self) -> Id {
        let id = [PREFIX, format!("{:016x}/{}\"", self.secret, self.minted).as_bytes()].concat();
        self.minted += 1;
        self.open.push(id.clone());
        id
    }

    /// Consumes the answer to an open id of ours; false for any other id.
    pub(super) fn swallow(&mut self, id: &[u8]) -> bool {
        // A client may use our prefix by chance; its own ids are never in this list.
        let Some(at) = self.open.iter().position(|open| open == id) else { return false };
        self.open.swap_remove(at);
        self.swallowed += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_are_known_by_state() {
        let (mut ids, mut others) = (OwnIds::new(), OwnIds::new());
        let (first, second) = (ids.mint(), ids.mint());
        assert!(first.starts_with(PREFIX) && first != second);
        assert!(!ids.swallow(b"\"switchboard/again/0\""), "a client's id");
        assert!(!ids.swallow(&others.mint()), "another window's");
        assert!(ids.swallow(&second));
        assert!(!ids.swallow(&second), "it was answered");
        assert!(ids.swallow(&first));
        assert_eq!((ids.swallowed, ids.open.len()), (2, 0));
    }
}
