//! Clients of several servers at once. Such a client has a delegate at each server, which the other transitions treat like
//! a client of that server alone; what the delegates learn becomes one view.
//!
//! # Layout
//! - `handshake`: the client's handshake, answered by us.
//! - `delegates`: one stand-in per client and server.
//! - `wait_budget`: the time that a client waits for servers not known yet.
//! - `requests`: the server that a request concerns.
//! - `fetch`: requests to a backend for its lists.
//! - `lists`: the merged lists, and notifications of their changes.
//! - `prefetch`: starts that go on after their client has left.
//! - `server_messages`: messages of servers, in names that the client knows.
//! - `unavailable`: servers that cannot be started, named to clients.

mod handshake;
mod delegates;
mod wait_budget;
mod requests;
mod fetch;
mod lists;
mod prefetch;
mod server_messages;
mod unavailable;
