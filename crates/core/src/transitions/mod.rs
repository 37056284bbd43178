//! Transitions: how each event changes the state, and which actions follow. All are methods of [`Core`](crate::Core). The
//! state, and rules that concern one part of it alone, are in the folders of the concepts.
//!
//! # Layout
//! - `outgoing`: the only way out for messages, with the byte credits of the outboxes.
//! - `dispatch`: the transition for each event, and the follow-ups.
//! - `routing`: the backend that a message goes to, and the clients that share one.
//! - `clients`: messages and notifications from clients, handshakes, roots, leases.
//! - `backends`: messages from backends, starts, ends, health.
//! - `pool`: the number of backends that run.
//! - `aggregate`: clients of several servers.
//! - `owner`: orders of the owner and changes of the config.
//! - `debounce`: notifications in quick succession.
//! - `deadlines`: timeouts, and the next moment at which one is due.
//! - `drain`: the end of the program.

mod outgoing;
mod dispatch;
mod routing;
mod clients;
mod backends;
mod pool;
mod aggregate;
mod owner;
mod debounce;
mod deadlines;
mod drain;

pub use backends::MEMORY_CHECK_INTERVAL;
pub use owner::{Change, Done, Order};
pub use pool::StandbyState;

pub(crate) use clients::Screened;
pub(crate) use routing::{Addressee, Forget, Route, names_task};
