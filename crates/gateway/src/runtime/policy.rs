//! Access control by another program.

use std::sync::Arc;
use switchboard_core::access::{Authenticator, NewLimiter};

/// Parts of access control that another program can replace.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Recognises the tokens of clients; `None` knows those of the state folder. The config decides whether a client
    /// needs one (`access.stdio`). The identity that it returns carries the client's rights and limits.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// Decides whether a call may be made now; the default applies the limits of the config and of the identity.
    pub limiter: NewLimiter,
}
