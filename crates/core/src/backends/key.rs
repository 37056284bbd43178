//! The properties that two requests must share to be served by one backend.

use crate::clients::Profile;
use crate::ids::{ClientId, Principal};

/// Requests with equal keys, whose variables the backend has, share one. The server is the same for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackendKey {
    /// The workspace that the launch is filled in with.
    pub(crate) root: Option<String>,
    /// Belongs to no workspace, and runs in the user's home folder.
    pub(crate) in_home: bool,
    /// The abilities of its clients; `None` before a handshake, or where they do not matter.
    pub(crate) profile: Option<Profile>,
    /// The principal whose clients it serves; `None`: all principals.
    pub(crate) principal: Option<Principal>,
    /// The only client that it serves.
    pub(crate) owner: Option<ClientId>,
}

impl BackendKey {
    /// Equal in everything but the abilities of the clients.
    pub(crate) fn differs_only_in_profile(&self, other: &Self) -> bool {
        Self { profile: self.profile.clone(), ..other.clone() } == *self
    }
}
