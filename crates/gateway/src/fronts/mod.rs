//! The code that talks to clients.

pub(crate) mod stdio;
