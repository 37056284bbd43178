//! Ways to run the gateway. The one place that wires its tasks.
//!
//! # Layout
//! - `tasks`: tasks that every way has.
//! - `gateway`: a hub with the backends of a config's servers.
//! - `embed`: one client over any pair of streams, in a program of one's own.
//! - `solo`: one client on our standard streams, and its backends.
//! - `daemon`: all windows' clients, and one set of backends.
//! - `attach`: one client on our standard streams, served by the daemon.
//! - `refusing`: one client, and no server: each request is answered with the reason.
//! - `raw`: a launcher that reads no message.
//! - `peer`: a client of a program that we start, for the demo.

mod tasks;
mod gateway;
pub mod embed;
pub mod solo;
pub mod daemon;
pub mod attach;
pub mod refusing;
pub mod raw;
pub mod peer;

pub use embed::serve_client;
