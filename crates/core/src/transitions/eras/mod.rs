//! Clients and servers of the modern era (MCP 2026-07-28), and clients without a handshake. Such a client gets a greeting
//! of our own making, so that everything else treats it like any other.
//!
//! # Layout
//! - `verdict`: the era of a server.
//! - `viewers`: lists that one identity only may see.
//! - `entrance`: the era of a client, decided by its requests.
//! - `subscriptions`: `subscriptions/listen`, and what belongs to it.
//! - `agreements`: the acknowledgement of a subscription, once servers have agreed.
//! - `own_listen`: our own subscription at a modern server.
//! - `task_listens`: news of tasks for clients of several servers.
//! - `notices`: notifications of modern servers.
//! - `translated`: processes that do not speak the era of their clients.
//! - `paused`: calls of modern clients for which a legacy server wants input. `paused_bytes`: the limit on what is stored
//!   for them.
//! - `continued`: paused calls that a client continues.
//! - `ended`: requests that have ended before their legacy server has answered.
//! - `roots`: the roots of modern clients at legacy servers.
//! - `answering`: requests and answers of modern clients at legacy servers.

mod verdict;
mod viewers;
mod entrance;
mod subscriptions;
mod agreements;
mod own_listen;
mod task_listens;
mod notices;
mod translated;
mod paused_bytes;
mod paused;
mod continued;
mod ended;
mod roots;
mod answering;

pub(crate) use answering::as_modern_list;
