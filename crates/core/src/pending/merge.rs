//! Notifications that wait to be merged with equal ones.

use crate::ids::{BackendId, ClientId};
use crate::moment::Moment;
use std::time::Duration;
use switchboard_protocol::Message;

/// Beyond so many at a time, notifications pass as they come.
pub(crate) const MOST: usize = 1024;

/// Longer ones pass as they come, too.
pub(crate) const LONGEST: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeSource {
    Client(ClientId),
    Backend(BackendId),
}

/// A notification that went on a moment ago.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) from: MergeSource,
    pub(crate) first: Message,
    pub(crate) window: Duration,
    pub(crate) until: Moment,
    /// The last of those that came since.
    pub(crate) held: Option<Message>,
}
