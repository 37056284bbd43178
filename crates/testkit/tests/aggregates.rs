//! Thousands of seeded runs of many servers as one. More runs, or a single one: `seeds`.

mod seeds;

use switchboard_testkit::simulator::aggregate::run;

/// About 20 seconds in a debug build on two cores.
const SEEDS: u64 = 1000;

#[test]
fn thousands_of_seeds() {
    seeds::thousands(run, SEEDS);
}

/// `SWITCHBOARD_SEED=7 cargo test -p switchboard-testkit --test aggregates one_seed` repeats one run.
#[test]
fn one_seed() {
    seeds::one(run);
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    seeds::repeats(run);
}
