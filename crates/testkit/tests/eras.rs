//! Thousands of seeded runs of clients and servers of both eras. More runs, or a single one: `seeds`.

#![forbid(unsafe_code)]

mod seeds;

use switchboard_testkit::simulator::eras::run;

// About 15 seconds in a debug build on two cores.
seeds::tests!(run, 6000);
