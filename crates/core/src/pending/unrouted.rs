//! Requests not yet routed.

use crate::routing::NamedPath;

/// A request not yet routed, with the paths that it names.
#[derive(Debug)]
pub(crate) struct Unrouted {
    pub(crate) minted: u64,
    pub(crate) paths: Vec<NamedPath>,
}
