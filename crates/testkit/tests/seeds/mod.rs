//! Thousands of seeded runs, of whichever simulator. `SWITCHBOARD_SEEDS=100000` makes more of them, `SWITCHBOARD_SEED=7`
//! repeats one.

use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use switchboard_testkit::simulator::Failure;

const THREADS: usize = 2;

/// One run of a simulator, and what is made of the figures of many.
pub(crate) struct Simulator<S> {
    pub(crate) run: fn(u64) -> Result<S, Box<Failure>>,
    pub(crate) merge: fn(&mut S, &S),
    /// What is to be reached, and how often it was.
    pub(crate) counts: fn(&S) -> Vec<(&'static str, u64)>,
}

impl<S: Default + Display + Send> Simulator<S> {
    pub(crate) fn thousands(&self, usual: u64) {
        if std::env::var_os("SWITCHBOARD_SEED").is_some() {
            return;
        }
        let seeds = number("SWITCHBOARD_SEEDS").unwrap_or(usual);
        let next = AtomicU64::new(0);
        let total = Mutex::new(S::default());
        let first: Mutex<Option<Box<Failure>>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut mine = S::default();
                    while first.lock().expect("no run panics while it holds this").is_none() {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= seeds {
                            break;
                        }
                        match (self.run)(seed) {
                            Ok(stats) => (self.merge)(&mut mine, &stats),
                            Err(failure) => {
                                *first.lock().expect("no run panics while it holds this") = Some(failure)
                            }
                        }
                    }
                    (self.merge)(&mut total.lock().expect("no run panics while it holds this"), &mine);
                });
            }
        });
        if let Some(failure) = first.into_inner().expect("no run panics while it holds this") {
            panic!("\n{failure}\n");
        }
        let total = total.into_inner().expect("no run panics while it holds this");
        #[expect(clippy::print_stdout, reason = "the figures of a run, for whoever looks")]
        {
            println!("{total}");
        }
        let counts = (self.counts)(&total);
        let missed: Vec<&str> =
            counts.iter().filter(|(_, count)| *count == 0).map(|(name, _)| *name).collect();
        assert!(missed.is_empty(), "in {seeds} runs these were never reached: {missed:?}");
    }

    /// The one that is asked for.
    pub(crate) fn one(&self) {
        if let Err(failure) = (self.run)(number("SWITCHBOARD_SEED").unwrap_or(0)) {
            panic!("\n{failure}\n");
        }
    }
}

fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
