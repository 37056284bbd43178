//! The properties that two requests must share to be served by one backend.

use crate::clients::Profile;
use crate::ids::{ClientId, Principal};

/// Requests with equal keys share a backend, if it has all their variables. All requests concern the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackendKey {
    /// The workspace that is substituted into the launch.
    pub(crate) root: Option<String>,
    /// Independent of the workspace, and run in the user's home folder.
    pub(crate) in_home: bool,
    /// Capabilities of its clients; `None` before a handshake, or where they do not matter.
    pub(crate) profile: Option<Profile>,
    /// The principal whose clients it serves; `None` means all principals.
    pub(crate) principal: Option<Principal>,
    /// The only client it serves, if it is private.
    pub(crate) owner: Option<ClientId>,
}

impl BackendKey {
    /// Equal except for the capabilities of the clients.
    pub(crate) fn differs_only_in_profile(&self, other: &Self) -> bool {
        Self { profile: self.profile.clone(), ..other.clone() } == *self
    }
}
