//! Modes of operation. The one place that wires tasks.
//!
//! # Layout
//! - `tasks`: tasks of every mode.
//! - `policy`: access control by another program.
//! - `gateway`: a hub with the backends of a config's servers.
//! - `embed`: one client over any pair of streams, inside another program.
//! - `solo`: one client on our standard streams, with its own backends.
//! - `daemon`: the clients of all windows, with one set of backends.
//! - `attach`: one client on our standard streams, served by the daemon.
//! - `refusing`: one client without a server: each request is answered with the reason.
//! - `raw`: a launcher that forwards bytes without reading messages.
//! - `peer`: a client for a program that we start.

mod tasks;
mod policy;
mod gateway;
pub mod embed;
pub mod solo;
pub mod daemon;
pub mod attach;
pub mod refusing;
pub mod raw;
pub mod peer;

pub use embed::{serve_client, serve_client_by};
pub use policy::Policy;
