//! Access control by another program.

use std::sync::Arc;
use switchboard_core::access::Authenticator;

/// Parts of access control that another program can replace.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Recognises the tokens of clients; `None` knows those of the state folder. The config decides whether a client
    /// needs one (`access.stdio`).
    pub authenticator: Option<Arc<dyn Authenticator>>,
}
