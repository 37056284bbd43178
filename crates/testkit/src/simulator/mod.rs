//! The whole gateway in a box: seeded random clients and backends around the real `core`, in virtual time.
//!
//! Clients ask, cancel, batch, babble, stop reading and vanish; backends answer in disorder, twice, late or
//! never, crash, hang and flood; time jumps. After every step the promises are checked: every request gets
//! exactly one terminal answer, under the id that its client gave it; nobody sees what belongs to another;
//! a `tools/call` is handed over once; nothing waits beyond its time; what waits to be read stays within its
//! limits; there is one process of a backend at most; and in the end nothing is left.
//!
//! A run depends on its seed alone. It must not know how `core` works inside: it sees events and actions.
//!
//! # Layout
//! - `attempt`: one run of a seed, for this and the other simulators.
//! - `rng`, `draft`, `outbox`: chance, messages in pieces, unread messages.
//! - `plan`: the character of a run.
//! - `ledger`: who asked what, and what is still owed.
//! - `world`: the parties and time; every event goes through it.
//! - `client`, `client_talk`, `client_answers`: what clients do, say, and answer.
//! - `backend`, `backend_talk`, `backend_asks`: what backends do, say, and ask.
//! - `at_client`, `at_backend`: what reaches them, checked to the byte; `claims`: what it says about itself.
//! - `checks`: the promises about the whole. `ending`: how a run ends.
//! - `stats`, `trace`: what happened, and what led to a failure.

pub(crate) mod attempt;
pub(crate) mod rng;
mod draft;
mod outbox;
mod plan;
mod ledger;
mod claims;
mod world;
mod client;
mod client_talk;
mod client_answers;
mod backend;
mod backend_talk;
mod backend_asks;
mod at_client;
mod at_backend;
mod checks;
mod ending;
pub(crate) mod stats;
pub(crate) mod trace;

pub use stats::Stats;
pub use trace::Failure;

use std::cell::Cell;
use world::World;

/// One run.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    attempt::run("simulator", seed, |trace, step| {
        let mut world = World::new(seed, trace.clone());
        live(&mut world, step).map(|()| world.stats)
    })
}

fn live(world: &mut World, step: &Cell<u64>) -> Result<(), String> {
    for _ in 0..world.plan.steps {
        if world.is_finished {
            break;
        }
        step.set(step.get() + 1);
        world.step()?;
        world.eager_clients_read()?;
        world.check_hope()?;
    }
    if !world.is_finished {
        return world.close();
    }
    world.check_end()
}
