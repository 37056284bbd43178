//! Workspaces, sharing and budgets in a box: several clients, few backends, seeded chance, virtual time.
//!
//! The messages are plain; the topology is not. Clients of different environments, capabilities and roots come and go,
//! change their roots, subscribe, start tasks; processes ask, log, crash, hang, grow, end slowly. After every step the
//! promises are checked: each request is answered once, by a process of the right root and environment; there are never
//! more processes than may be; nobody who needs one loses it to another; whoever is not meant hears nothing; a new
//! process hears what the one before it knew; nothing waits for ever; and in the end nothing is left.
//!
//! A run depends on its seed alone. It must not know how `core` works inside: it sees events and actions.
//!
//! # Layout
//! - `plan`: the character of a run. `ledger`: who asked what. `site`: what is true of a backend, whichever process it
//!   has.
//! - `world`: the parties and time; every event goes through it. `facts`: what is reported.
//! - `client`, `client_talk`, `client_roots`: what clients do, say, and know of workspaces.
//! - `process`, `process_talk`, `process_asks`: what processes do, say, and ask.
//! - `at_client`, `at_process`, `audience`: what reaches them, and whether it should.
//! - `checks`, `rest`: the promises about the whole, and about stops. `ending`: how a run ends.
//! - `stats`: what happened.

mod plan;
mod ledger;
mod site;
mod world;
mod facts;
mod client;
mod client_talk;
mod client_roots;
mod process;
mod process_talk;
mod process_asks;
mod at_client;
mod at_process;
mod audience;
mod checks;
mod rest;
mod ending;
mod stats;

pub use crate::simulator::Failure;
pub use stats::Stats;

use crate::simulator::attempt;
use crate::simulator::rng::Rng;
use plan::Plan;
use std::cell::Cell;
use world::World;

/// One run.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    let run = attempt::run("pool", seed, |trace, step| {
        let mut world = World::new(seed, trace.clone());
        live(&mut world, step).map(|()| world.stats)
    });
    run.map_err(|mut failure| {
        let plan = Plan::roll(&mut Rng::new(seed), seed);
        failure.trace.insert(0, format!("{plan:?}"));
        failure
    })
}

fn live(world: &mut World, step: &Cell<u64>) -> Result<(), String> {
    for _ in 0..world.plan.steps {
        if world.is_finished {
            break;
        }
        step.set(step.get() + 1);
        world.step()?;
        world.prompt_ones_answer()?;
    }
    if !world.is_finished {
        world.close()?;
    }
    world.check_end()
}
