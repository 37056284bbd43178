//! Thousands of seeded runs of a scenario. `SWITCHBOARD_SEEDS=100000` makes more of them, `SWITCHBOARD_SEED=7` repeats one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use switchboard_testkit::simulator::{Failure, Stats};

/// The tests of a scenario. `SWITCHBOARD_SEED=7 cargo test -p switchboard-testkit --test pool one_seed` repeats one run.
macro_rules! tests {
    ($run:path, $seeds:literal) => {
        #[test]
        fn thousands_of_seeds() {
            seeds::thousands($run, $seeds);
        }

        #[test]
        fn one_seed() {
            seeds::one($run);
        }

        #[test]
        fn a_run_depends_on_its_seed_alone() {
            seeds::repeats($run);
        }
    };
}
pub(crate) use tests;

const THREADS: usize = 2;
const UNPOISONED: &str = "no run panics while it holds this";

type Run = fn(u64) -> Result<Stats, Box<Failure>>;

/// Runs the seeds from 0 on, and requires that every counter is reached.
pub(crate) fn thousands(run: Run, default: u64) {
    if std::env::var_os("SWITCHBOARD_SEED").is_some() {
        return;
    }
    let seeds = number("SWITCHBOARD_SEEDS").unwrap_or(default);
    let next = AtomicU64::new(0);
    let total = Mutex::new(Stats::default());
    let first: Mutex<Option<Box<Failure>>> = Mutex::new(None);
    let run_seeds = || {
        while first.lock().expect(UNPOISONED).is_none() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                break;
            }
            match run(seed) {
                Ok(stats) => total.lock().expect(UNPOISONED).merge(&stats),
                Err(failure) => *first.lock().expect(UNPOISONED) = Some(failure),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(run_seeds);
        }
    });
    if let Some(failure) = first.into_inner().expect(UNPOISONED) {
        panic!("\n{failure}\n");
    }
    let total = total.into_inner().expect(UNPOISONED);
    #[expect(clippy::print_stdout, reason = "the figures of all runs, with --nocapture")]
    {
        println!("{total}");
    }
    let missed = total.unreached();
    assert!(missed.is_empty(), "in {seeds} runs these were never reached: {missed:?}");
}

/// Runs the seed that the environment names.
pub(crate) fn one(run: Run) {
    if let Err(failure) = run(number("SWITCHBOARD_SEED").unwrap_or(0)) {
        panic!("\n{failure}\n");
    }
}

/// Two runs of a seed are the same, and two seeds differ.
pub(crate) fn repeats(run: Run) {
    let of = |seed| run(seed).unwrap_or_else(|failure| panic!("\n{failure}\n"));
    assert_eq!(of(11), of(11));
    assert_ne!(of(11), of(12));
}

fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
