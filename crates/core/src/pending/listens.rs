//! A choice of subscriptions. Must not know what they are for.

use crate::ids::{BackendId, ClientId};

/// Subscriptions of clients that end together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Listens {
    All,
    Of(ClientId),
    /// Those that a process of this backend has.
    At(BackendId),
}
