//! A client's connection to the user's one daemon. The daemon is to an attachment what a server's
//! process is to a gateway: when it ends, open requests get an error, another daemon is started, and the
//! client's handshake is replayed.
//!
//! # Layout
//! - `sweeps`: cleanup after a killed daemon.
//! - `link`: the connection to the daemon, as a kind of backend.
//! - `relay`: settings of a core whose only backend is the daemon.
//! - `handover`: the client's own streams in the daemon's hands.

pub(crate) mod sweeps;
pub(crate) mod link;
pub(crate) mod relay;
pub(crate) mod handover;
