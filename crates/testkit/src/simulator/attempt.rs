//! One seeded run: quietly, and if it fails once more with a trace. The same for every simulator.

use super::trace::{Failure, Trace};
use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `live` counts its steps. Gives what it gives, or which promise was broken, and what led to it.
pub(crate) fn run<T: Debug>(
    test: &'static str,
    seed: u64,
    live: impl Fn(&Trace, &Cell<u64>) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    let (step, broken) = match attempt(&Trace::default(), &live) {
        Ok(stats) => return Ok(stats),
        Err(found) => found,
    };
    // The same again, this time with a trace.
    let trace = Trace::on();
    let broken = match attempt(&trace, &live) {
        Err((again, same)) if (again, &same) == (step, &broken) => broken,
        other => format!("{broken}\nand the second run of the seed went another way: {other:?}"),
    };
    Err(Box::new(Failure { test, seed, step, broken, trace: trace.lines() }))
}

/// The statistics, or the step and the broken promise.
fn attempt<T>(
    trace: &Trace,
    live: &impl Fn(&Trace, &Cell<u64>) -> Result<T, String>,
) -> Result<T, (u64, String)> {
    let step = Cell::new(0);
    match catch_unwind(AssertUnwindSafe(|| live(trace, &step))) {
        Ok(outcome) => outcome.map_err(|broken| (step.get(), broken)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Err((step.get(), format!("a panic: {}", text.unwrap_or_default())))
        }
    }
}
