//! Many servers as one in a box: clients of all servers, and of one beside them; servers that come, go, and offer one
//! thing after another; seeded chance, virtual time.
//!
//! # The promises
//! 1. Every request gets exactly one terminal answer, under its own id in its own spelling, and nobody sees another's.
//! 2. A request reaches the server that its public name belongs to in what the client was shown (or in what there is
//!    now), under that server's own name to the byte, and no other server; a call never twice.
//! 3. At rest, a walk through a list shows exactly what the servers offer to such a client now, filtered and renamed;
//!    nothing twice, nothing missed, each item to the byte except for its name.
//! 4. At rest, a client that was shown something else has been told so. Nobody is told of a list that it never saw.
//! 5. The pages of a walk come from one state, or the cursor is refused as stale, which needs a reason.
//! 6. No list waits longer than a server may take to start, and no request for one server waits for another.
//! 7. `resources/updated` reaches who listens, under the URI that it used; log messages keep to each client's level and
//!    carry the server's name; progress goes to who asked, under its token.
//! 8. A client is asked for its roots once at a time.
//! 9. Where the offers of all servers are known, handshakes and lists start no process.
//! 10. There are never more processes than may be; at rest nothing is pending, and what is gone is forgotten.
//! 11. After a drain everything is answered, and it finishes.
//! 12. A client of one server is shown what its filters leave of the server's own words, and reaches nothing else.
//!
//! A run depends on its seed alone. It must not know how `core` works inside: it sees events and actions. Every item of
//! every list carries a mark of its own, so that whatever is shown can be traced to its server without knowing how names
//! are made.
//!
//! # Layout
//! - `plan`: the character of a run. `menu`: what servers offer. `ledger`: who asked what.
//! - `world`: the parties and time; every event goes through it. `owner`: reloads, orders, another run of the program.
//! - `client`, `client_talk`: what clients do, and ask for. `process`, `process_talk`: what processes do, and say.
//! - `at_client`, `at_lists`, `at_single`, `at_news`, `at_process`: what reaches them, and whether it should.
//! - `rest`: what holds when everything has come to rest. `ending`: how a run ends. `stats`: what happened.

mod plan;
mod menu;
mod ledger;
mod world;
mod owner;
mod client;
mod client_talk;
mod process;
mod process_talk;
mod at_client;
mod at_lists;
mod at_news;
mod at_process;
mod at_single;
mod rest;
mod ending;
mod stats;

pub use crate::simulator::Failure;
pub use stats::Stats;

use crate::simulator::attempt;
use std::cell::Cell;
use world::World;

/// One run.
pub fn run(seed: u64) -> Result<Stats, Box<Failure>> {
    attempt::run("aggregates", seed, |trace, step| {
        let mut world = World::new(seed, trace.clone());
        live(&mut world, step).map(|()| world.stats)
    })
}

fn live(world: &mut World, step: &Cell<u64>) -> Result<(), String> {
    for _ in 0..world.plan.steps {
        if world.is_finished {
            world.begin_anew()?;
        }
        step.set(step.get() + 1);
        world.step()?;
    }
    world.close()
}
