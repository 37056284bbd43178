//! Clients: their handshake, roots, dialect, and requests that wait to be routed. Must not know backends.
//!
//! # Layout
//! - `declared`: the protocol version and the capabilities that a client declared.
//! - `handshake`: the client's half of the handshake.
//! - `roots`: the client's answers to `roots/list`.
//! - `level`: log levels requested by clients.
//! - `batch`: JSON-RPC batches with answers still missing.
//! - `farewell`: the `shutdown` of a client.
//! - `shared`: values shared by copies until one changes.
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
pub(crate) use client::{Claim, Client, ClientOrigin, NewClient, Role};
pub(crate) use declared::{Profile, declared_capabilities};
pub(crate) use farewell::Farewell;
pub(crate) use handshake::Greeting;
pub(crate) use level::{Level, rank, rank_in};
pub(crate) use roots::{ClientRoot, RootsAnswer, RootsStage, ShownRoots, key_of_roots};
