//! Requests that wait to be routed.

use crate::routing::NamedPath;

/// A request that waits to be routed, with the paths that it names.
#[derive(Debug)]
pub(crate) struct Unrouted {
    pub(crate) minted: u64,
    pub(crate) paths: Vec<NamedPath>,
}
