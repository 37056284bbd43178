//! The promises of this crate, told as stories: events and their outcomes.

#![forbid(unsafe_code)]

mod story;

mod isolation;
mod tasks;
mod tokens;
mod revocations;
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
mod eras;
mod eras_aggregate;
mod eras_mixed;
mod untouched;
mod eras_changes;
mod eras_for_legacy;
mod eras_for_modern;
mod eras_late_logs;
mod eras_subscriptions;
mod eras_paused;
mod eras_url;
mod eras_roots;
mod eras_roots_shared;
mod viewers;
mod eras_hostile;
mod eras_tasks;
mod eras_limits;
mod eras_listens;
mod eras_logs;
mod eras_shared;
mod shared_roots;
mod crowd;
mod together;
mod pool;
mod leases;
mod crashes;
mod framing;
mod limits;
mod allowance;
mod call_limits;
mod asks;
mod ending;
mod orders;
mod standby;
mod change;
mod audit;
mod secrets;
