//! Ways to run the gateway, each with its tasks.
//!
//! # Layout
//! - `solo`: one client and its backends in one process.
//! - `refusing`: one client, and no server: each request is answered with the reason.
//! - `raw`: a launcher that reads no message.
//! - `peer`: a client of a program that we start, for the demo.

pub mod solo;
pub mod refusing;
pub mod raw;
pub mod peer;
