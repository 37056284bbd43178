//! Ids of messages that are repeated to a new daemon under ids of our own.

use super::entry::Id;
use std::hash::{BuildHasher, RandomState};

/// Prefix of our ids. It tells most other ids from them at a glance, and no more: ours are those that were minted and not
/// answered.
pub(super) const PREFIX: &[u8] = b"\"switchboard/again/";

/// Ids of the messages that are repeated.
pub(super) struct OwnIds {
    /// A number that no client can know, so that none can choose one of these ids for itself.
    secret: u64,
    minted: usize,
    open: Vec<Id>,
    /// Answers that came, and that nobody else has seen.
    pub(super) swallowed: usize,
}

impl OwnIds {
    pub(super) fn new() -> Self {
        let secret = BuildHasher::hash_one(&RandomState::new(), 0);
        Self { secret, minted: 0, open: Vec::new(), swallowed: 0 }
    }

    pub(super) fn mint(&mut self) -> Id {
        let id = [PREFIX, format!("{:016x}/{}\"", self.secret, self.minted).as_bytes()].concat();
        self.minted += 1;
        self.open.push(id.clone());
        id
    }

    /// Whether this is one of ours and open; it is answered then.
    pub(super) fn swallow(&mut self, id: &[u8]) -> bool {
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
