//! Thousands of seeded runs of workspaces, sharing and budgets. `SWITCHBOARD_SEEDS=100000` makes more of them,
//! `SWITCHBOARD_SEED=7` repeats one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use switchboard_testkit::pool::{Failure, Stats, run};

/// So many take about 20 seconds in a debug build on two cores.
const SEEDS: u64 = 3000;
const THREADS: usize = 2;

#[test]
fn thousands_of_seeds() {
    if std::env::var_os("SWITCHBOARD_SEED").is_some() {
        return;
    }
    let seeds = number("SWITCHBOARD_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let total = Mutex::new(Stats::default());
    let first: Mutex<Option<Box<Failure>>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut mine = Stats::default();
                while first.lock().unwrap().is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    match run(seed) {
                        Ok(stats) => mine.merge(&stats),
                        Err(failure) => *first.lock().unwrap() = Some(failure),
                    }
                }
                total.lock().unwrap().merge(&mine);
            });
        }
    });
    if let Some(failure) = first.into_inner().unwrap() {
        panic!("\n{failure}\n");
    }
    let total = total.into_inner().unwrap();
    println!("{total}");
    let missed: Vec<&str> = total.iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect();
    assert!(missed.is_empty(), "in {seeds} runs these were never reached: {missed:?}");
}

/// `SWITCHBOARD_SEED=7 cargo test -p switchboard-testkit --test pool one_seed` repeats one run.
#[test]
fn one_seed() {
    if let Err(failure) = run(number("SWITCHBOARD_SEED").unwrap_or(0)) {
        panic!("\n{failure}\n");
    }
}

fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    assert_eq!(run(11).unwrap(), run(11).unwrap());
    assert_ne!(run(11).unwrap(), run(12).unwrap());
}
