//! Events of clients: their messages, handshakes, roots and leases. Must not choose the backend for a
//! message: `routing` does.
//!
//! # Layout
//! - `connect`: new clients.
//! - `proof`: who a client is, by its token.
//! - `from_client`: requests. `sending`: accepted requests on their way to a backend.
//! - `notices`: notifications and answers.
//! - `handshake`: `initialize`, shared by all clients of a backend.
//! - `stored_lists`: answers from the stored catalogue while a server starts.
//! - `rights`: requests that a client's rights exclude, and changes of rights.
//! - `filters`: `allow`, `deny`, `rename` and rights for clients of one server.
//! - `roots`: the clients' workspace folders.
//! - `allowance`: limits on open requests and subscriptions.
//! - `calls`: limits on calls.
//! - `leases`: idle backends, departed clients, and the end of an unused daemon.

mod connect;
mod proof;
mod from_client;
mod sending;
mod notices;
mod handshake;
mod stored_lists;
mod rights;
mod filters;
mod roots;
mod allowance;
mod calls;
mod leases;

pub(crate) use filters::Screened;
