//! The promise: clients over HTTP get what clients over pipes get, whatever becomes of their connections, and nobody
//! else gets anything.
//!
//! - `served`: the program with a listener, in a house of its own; nothing of it outlives its test.
//! - the rest: a promise each.

pub(crate) mod served;

mod sessions;
mod answers;
mod resuming;
mod gate;
mod limits;
mod strangers;
mod refusals;
mod unread;
mod legacy;
mod targets;
mod elsewhere;
mod nameless;
mod health;
mod page;
mod ending;
mod standby;
pub(crate) mod doors;
