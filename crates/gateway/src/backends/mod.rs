//! The code that talks to servers.

pub(crate) mod launch;
pub(crate) mod process;
mod stderr;
