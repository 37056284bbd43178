//! Clients and servers of the modern era (MCP 2026-07-28), and clients without a handshake. Such a client gets a greeting
//! of our own making, so that everything else treats it like any other.
//!
//! # Layout
//! - `verdict`: the era of a server.
//! - `entrance`: the era of a client, decided by its requests.
//! - `subscriptions`: `subscriptions/listen`, and what belongs to it.
//! - `task_listens`: news of tasks for clients of several servers.
//! - `notices`: notifications of modern servers.

mod verdict;
mod entrance;
mod subscriptions;
mod task_listens;
mod notices;
