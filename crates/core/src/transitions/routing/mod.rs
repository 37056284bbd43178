//! The backend that a message goes to, and the clients that share a backend. In doubt clients do not share: an answer to the
//! wrong client would be worse than a second process.
//!
//! # Layout
//! - `route`: the backend for a message, by the paths that it names.
//! - `joining`: the backend that a client joins, by its variables.
//! - `sharing`: the clients that share a backend, and the client that a server's message concerns.
//! - `shared_roots`: `roots/list`, answered for all clients of a backend.
//! - `isolation`: clients that may no longer share a backend.
//! - `tasks`: requests that go on after their answer.

mod route;
mod joining;
mod sharing;
mod shared_roots;
mod isolation;
mod tasks;

pub(crate) use joining::Forget;
pub(crate) use route::Route;
pub(crate) use sharing::Addressee;
pub(crate) use tasks::names_task;
