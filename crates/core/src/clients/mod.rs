//! Clients: the handshake that each has made, its roots, its dialect, and the requests that wait to be routed.
//!
//! # Layout
//! - `declared`: the protocol version and the capabilities that a client declared.
//! - `handshake`: the client's half of the handshake.
//! - `roots`: the client's answers to `roots/list`.
//! - `batch`: JSON-RPC batches whose answers are gathered.
//! - `client`: the client itself.
//! - `all`: all clients by number.

mod declared;
mod handshake;
mod roots;
mod batch;
mod client;
mod all;

pub(crate) use all::*;
pub(crate) use client::*;
pub(crate) use declared::*;
pub(crate) use handshake::*;
pub(crate) use roots::*;
