//! The promises of this crate, told as stories: events and their outcomes.

mod story;

mod isolation;
mod hostile;

mod handshake;
mod ids;
mod progress;
mod batches;
mod aggregates;
mod budget;
mod prefetch;
mod stored;
mod filters;
mod rights;
mod pins;
mod subscriptions;
mod dialect;
mod noise;
mod timeouts;
mod turns;
mod workspaces;
mod sharing;
mod environments;
mod shared_roots;
mod crowd;
mod together;
mod pool;
mod leases;
mod crashes;
mod framing;
mod limits;
mod allowance;
mod ending;
mod orders;
mod standby;
mod change;
