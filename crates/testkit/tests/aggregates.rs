//! Thousands of seeded runs of many servers as one. More runs, or a single one: `seeds`.

#![forbid(unsafe_code)]

mod seeds;

use switchboard_testkit::simulator::aggregate::run;

// About 20 seconds in a debug build on two cores.
seeds::tests!(run, 1000);
