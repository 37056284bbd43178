//! Thousands of seeded runs of workspaces, sharing and budgets. More runs, or a single one: `seeds`.

#![forbid(unsafe_code)]

mod seeds;

use switchboard_testkit::simulator::pool::run;

// About 20 seconds in a debug build on two cores.
seeds::tests!(run, 3000);
