//! Clients over the daemon's local socket.

pub(crate) mod hello;
