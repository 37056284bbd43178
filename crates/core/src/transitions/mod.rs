//! Transitions: how each event changes the state, and which actions follow. All are methods of
//! [`Core`](crate::Core). The state itself, and rules that concern only one part of it, are in the folders of
//! the concepts.
//!
//! # Layout
//! - `audit`: records of calls.
//! - `outgoing`: the only exit for messages, with the byte credits of the outboxes.
//! - `dispatch`: the transition for each event, and the follow-ups.
//! - `routing`: the backend for a message, and the clients that share one.
//! - `clients`: messages and notifications from clients, handshakes, roots, leases.
//! - `backends`: messages from backends, starts, ends, health.
//! - `pool`: the number of running backends.
//! - `aggregate`: clients of several servers.
//! - `eras`: clients and servers of the modern era.
//! - `owner`: orders of the owner, and config changes.
//! - `debounce`: repeated notifications.
//! - `deadlines`: timeouts, and the next deadline.
//! - `drain`: the shutdown of the program.

mod audit;
mod outgoing;
mod dispatch;
mod routing;
mod clients;
mod backends;
mod pool;
mod aggregate;
mod eras;
mod owner;
mod debounce;
mod deadlines;
mod drain;

pub use backends::MEMORY_CHECK_INTERVAL;
pub use owner::{Change, Done, Order};
pub use pool::StandbyState;

pub(crate) use aggregate::TaskMeant;
pub(crate) use audit::{CallEnd, item_of};
pub(crate) use clients::Screened;
pub(crate) use eras::as_modern_list;
pub(crate) use routing::{Addressee, Forget, NO_ROOTS, Route, names_task};
