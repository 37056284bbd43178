//! Kinds of clients, by which first sights of a tool are told apart: a server may define it differently for
//! clients with other capabilities.

use crate::catalogue::Digest;

/// A kind of client: a short digest of the protocol version and the capabilities that it declares. Two kinds
/// with the same digest count as one, which approves less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sight(pub u64);

impl Sight {
    pub fn of(profile: &str) -> Self {
        let digest = Digest::of_bytes(profile.as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *digest.bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}
