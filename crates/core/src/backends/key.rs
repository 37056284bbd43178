//! The properties that two requests must share to be served by one backend.

use crate::clients::Profile;
use crate::ids::{ClientId, Principal};

/// Equal keys and enough variables, one backend. The server is the same for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackendKey {
    /// What the launch is filled in with.
    pub(crate) root: Option<String>,
    /// It belongs to no workspace, and runs in the user's home folder.
    pub(crate) in_home: bool,
    /// What its client can do; nothing before a handshake, or where it does not matter.
    pub(crate) profile: Option<Profile>,
    /// Whose clients it serves; `None`: everybody's.
    pub(crate) principal: Option<Principal>,
    /// The only client it serves.
    pub(crate) owner: Option<ClientId>,
}

impl BackendKey {
    /// Equal in everything but what the clients can do.
    pub(crate) fn differs_only_in_profile(&self, other: &Self) -> bool {
        Self { profile: self.profile.clone(), ..other.clone() } == *self
    }
}
