//! Clients of several servers at once. Such a client has a delegate at each server, which the other
//! transitions treat as a client of that server alone; the delegates' offers are merged into one view.
//!
//! # Layout
//! - `handshake`: the client's handshake, answered by us.
//! - `delegates`: one stand-in per client and server.
//! - `wait_budget`: the client's waiting time for unknown servers.
//! - `requests`: the server for a request.
//! - `tasks`: ids of tasks, with the names of their servers.
//! - `fetch`: list requests to a backend.
//! - `lists`: the merged lists, and notifications of changes.
//! - `prefetch`: starts that continue after their client has left.
//! - `server_messages`: messages of servers, with the client's names.
//! - `unavailable`: servers that cannot be started.

mod handshake;
mod delegates;
mod wait_budget;
mod requests;
mod tasks;
mod fetch;
mod lists;
mod prefetch;
mod server_messages;
mod unavailable;

pub(crate) use tasks::TaskMeant;
