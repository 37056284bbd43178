//! The project's main test: thousands of seeded runs of the simulator. How to make more, or repeat one: `seeds`.

mod seeds;

use seeds::Simulator;
use switchboard_testkit::simulator::{Stats, run};

/// So many take about 20 seconds in a debug build on two cores.
const SEEDS: u64 = 4000;

const SIMULATOR: Simulator<Stats> =
    Simulator { run, merge: Stats::merge, counts: |stats| stats.iter().collect() };

#[test]
fn thousands_of_seeds() {
    SIMULATOR.thousands(SEEDS);
}

/// `SWITCHBOARD_SEED=7 cargo test -p switchboard-testkit --test simulator one_seed` repeats one run.
#[test]
fn one_seed() {
    SIMULATOR.one();
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    assert_eq!(run(11).unwrap(), run(11).unwrap());
    assert_ne!(run(11).unwrap(), run(12).unwrap());
}
