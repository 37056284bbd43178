//! Changes of a server's pins, one by one: several processes may store pins of the same server, and none may
//! overwrite what another has stored.

use super::sight::Sight;
use crate::catalogue::Digest;
use bytes::Bytes;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinNews {
    /// The first definition that this kind of client sees, which is approved.
    FirstSight {
        tool: Arc<str>,
        digest: Digest,
        sight: Sight,
        /// The server's own words.
        definition: Bytes,
    },
    /// This kind of client has seen an approved definition.
    Seen { tool: Arc<str>, sight: Sight },
    /// A definition that is not approved.
    Changed { tool: Arc<str>, digest: Digest, sight: Sight, definition: Bytes },
    /// The tool is defined as approved again.
    Restored { tool: Arc<str> },
    /// An approved definition that made room for a newer one.
    Dropped { tool: Arc<str>, digest: Digest },
    /// All pins of the server are forgotten.
    Forgotten,
}
