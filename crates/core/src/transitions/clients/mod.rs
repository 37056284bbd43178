//! Events of clients: their messages, handshakes, roots and leases. Must not choose the backend for a
//! message: `routing` does.
//!
//! # Layout
//! - `connect`: new clients.
//! - `from_client`: requests.
//! - `notices`: notifications and answers.
//! - `handshake`: `initialize`, shared by all clients of a backend.
//! - `stored_lists`: answers from the stored catalogue while a server starts.
//! - `rights`: requests that a client's rights exclude, and changes of rights.
//! - `filters`: `allow`, `deny`, `rename` and rights for clients of one server.
//! - `roots`: the clients' workspace folders.
//! - `allowance`: limits on open requests and subscriptions.
//! - `leases`: idle backends, departed clients, and the end of an unused daemon.

mod connect;
mod from_client;
mod notices;
mod handshake;
mod stored_lists;
mod rights;
mod filters;
mod roots;
mod allowance;
mod leases;

pub(crate) use filters::Screened;
