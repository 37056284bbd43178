//! Thousands of seeded runs of many servers as one. How to make more, or repeat one: `seeds`.

mod seeds;

use seeds::Simulator;
use switchboard_testkit::aggregate::{Stats, run};

/// So many take about 20 seconds in a debug build on two cores.
const SEEDS: u64 = 1000;

const SIMULATOR: Simulator<Stats> =
    Simulator { run, merge: Stats::merge, counts: |stats| stats.iter().collect() };

#[test]
fn thousands_of_seeds() {
    SIMULATOR.thousands(SEEDS);
}

/// `SWITCHBOARD_SEED=7 cargo test -p switchboard-testkit --test aggregates one_seed` repeats one run.
#[test]
fn one_seed() {
    SIMULATOR.one();
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let of = |seed| run(seed).unwrap_or_else(|failure| panic!("\n{failure}\n"));
    assert_eq!(of(11), of(11));
    assert_ne!(of(11), of(12));
}
