//! The backend for a message, and the clients that share a backend. In doubt clients do not share: an answer
//! to the wrong client would be worse than a second process.
//!
//! # Layout
//! - `route`: the backend for a message, by the paths it names.
//! - `joining`: the backend for a client, by its variables.
//! - `sharing`: the clients of a backend, and the recipient of a server's message.
//! - `shared_roots`: `roots/list`, answered for all clients of a backend.
//! - `isolation`: clients that may no longer share a backend.
//! - `tasks`: requests that continue after their answer. `held_tasks`: the same in the other direction.

mod route;
mod joining;
mod sharing;
mod shared_roots;
mod isolation;
mod tasks;
mod held_tasks;

pub(crate) use joining::Forget;
pub(crate) use route::Route;
pub(crate) use shared_roots::NO_ROOTS;
pub(crate) use sharing::Addressee;
pub(crate) use tasks::names_task;
