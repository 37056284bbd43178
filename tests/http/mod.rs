//! HTTP front: clients get what clients over pipes get, whatever happens to their connections, and strangers
//! get nothing.
//!
//! - `served`: the program with a listener and its own home, all of which end with the test.
//! - the rest: one group of promises per file.

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
