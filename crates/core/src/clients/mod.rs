//! Clients: the handshake that each has made, its roots, its dialect, and the requests that wait to be routed.
//!
//! # Layout
//! - `declared`: the protocol version and the capabilities that a client declared.
//! - `handshake`: the client's half of the handshake.
//! - `roots`: the client's answers to `roots/list`.
//! - `level`: log levels that clients ask for.
//! - `batch`: JSON-RPC batches whose answers are gathered.
//! - `farewell`: the `shutdown` of a client.
//! - `shared`: values that copies share until one of them is changed.
//! - `client`: the client itself.
//! - `all`: all clients by number.

mod declared;
mod handshake;
mod roots;
mod level;
mod batch;
mod farewell;
mod shared;
mod client;
mod all;

pub(crate) use all::Clients;
pub(crate) use client::{Client, ClientOrigin, NewClient, Role};
pub(crate) use declared::Profile;
pub(crate) use farewell::Farewell;
pub(crate) use handshake::Greeting;
pub(crate) use level::{Level, rank, rank_in};
pub(crate) use roots::{ClientRoot, RootsStage, key_of_roots};
