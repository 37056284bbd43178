//! The engine: one run of the real core among simulated clients and processes, in virtual time. A run depends on its
//! seed alone.
//!
//! Owns the parts that every scenario needs: clock and agenda, randomness, the life of processes, the ledger, the owner's
//! orders, statistics, the end, and the shrinking of a failing run to a short story. Must not know the messages of clients,
//! nor how `core` works inside: it sees events and actions.
//!
//! # Layout
//! - `rng`, `variables`, `stats`: randomness, environments of clients, counters.
//! - `rules`: methods. `ledger`: requests and owed answers. `parties`: clients and processes.
//! - `scenario`: the trait [`Scenario`]. `world`: the core, the parties and the clock. `checks`: promises of all
//!   scenarios. `owner`: orders and config changes. `plain`: plain messages. `ending`: the end of a run.
//! - `story`: a run in plain English. `shrink`: one run of a seed, and fewer steps of a failing one.

mod rng;
mod variables;
mod stats;
mod rules;
mod parties;
mod ledger;
mod story;
mod scenario;
mod world;
mod checks;
mod owner;
mod plain;
mod ending;
mod shrink;

pub(crate) use ending::End;
pub(crate) use ledger::{Account, Ask, Check, Key, LEVELS, Request};
pub(crate) use parties::{Client, Phase, Presence, Process};
pub(crate) use plain::{Answer, Asked, Plain, Words, answer, notice, parsed, request};
pub(crate) use rng::Rng;
pub(crate) use scenario::{Act, ClientAct, Found, Made, Make, ProcessAct, Run, Scenario, Start};
pub use shrink::Failure;
pub(crate) use shrink::run;
pub use stats::Stats;
pub(crate) use variables::{ENVIRONMENTS, environment, serves};
pub use world::Flaw;
pub(crate) use world::{World, message};
