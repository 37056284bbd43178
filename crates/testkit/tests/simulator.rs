//! The project's main test: thousands of seeded runs of the connection scenario. More runs, or a single one: `seeds`.

#![forbid(unsafe_code)]

mod seeds;

use switchboard_testkit::simulator::connection::run;

// About 20 seconds in a debug build on two cores.
seeds::tests!(run, 4000);
