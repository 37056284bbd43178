//! Requests to a client, from backends or from us.

use crate::ids::{BackendId, ClientId, Launch};
use crate::moment::Moment;
use std::borrow::Cow;
use switchboard_protocol::RawId;

/// A request to a client.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: ClientId,
    pub(crate) by: AskedBy,
    pub(crate) name: Cow<'static, str>,
    pub(crate) accepted: Moment,
    pub(crate) deadline: Option<Moment>,
}

#[derive(Debug)]
pub(crate) enum AskedBy {
    /// A process of a backend, under this id.
    Backend { launch: Launch, id: RawId },
    /// We ourselves, for its roots.
    Ourselves,
}

impl Asked {
    pub(crate) fn launch(&self) -> Option<Launch> {
        match self.by {
            AskedBy::Backend { launch, .. } => Some(launch),
            AskedBy::Ourselves => None,
        }
    }

    pub(crate) fn is_of(&self, backend: BackendId) -> bool {
        self.launch().is_some_and(|launch| launch.backend == backend)
    }
}
