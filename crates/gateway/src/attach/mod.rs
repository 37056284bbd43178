//! A client's way to the user's one daemon. The daemon is to an attachment what a server's process is to a gateway: if it
//! ends, open requests get an error, another daemon is started, and hears the client's handshake again.
//!
//! # Layout
//! - `sweeps`: cleans up behind a daemon that was killed.
//! - `link`: the connection to the daemon, as a kind of backend.
//! - `relay`: settings of a core whose one backend is the daemon.
//! - `handover`: the client's own streams, handed to the daemon.

pub(crate) mod sweeps;
pub(crate) mod link;
pub(crate) mod relay;
pub(crate) mod handover;
