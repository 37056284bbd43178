//! The code that talks to servers.

pub(crate) mod launch;
pub(crate) mod packages;
pub(crate) mod process;
pub(crate) mod remote;
pub(crate) mod servers;
mod stderr;

use crate::attach::link::Link;

/// What stands behind the clients.
pub(crate) enum Plan {
    /// Processes of our own.
    Processes(Box<process::Processes>),
    /// The daemon's.
    Daemon(Box<Link>),
    /// No server.
    Nothing,
}
