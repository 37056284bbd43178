//! Time from the start of a program to the answer to its first request.

use std::time::Instant;

use super::Bench;
use super::Failure;
use super::figures::{Measure, quantile};
use super::link::{self, Link};
use super::options::Section;
use super::pipes::PipedSubject;

pub(super) fn measure(bench: &mut Bench) {
    for round in 0..bench.plan.cold_rounds {
        let mut micros = vec![Vec::new(); bench.subjects.len()];
        for turn in 0..bench.plan.cold_starts {
            let count = bench.subjects.len();
            for subject in (0..count).map(|step| (step + turn) % count) {
                if bench.figures.failed(Section::ColdStart, subject) {
                    continue;
                }
                match start(bench, subject) {
                    Ok(took) => micros[subject].push(took),
                    Err(failure) => bench.fail(Section::ColdStart, round, subject, &failure),
                }
            }
        }
        for (subject, mut samples) in micros.into_iter().enumerate() {
            samples.sort_unstable();
            if !samples.is_empty() {
                bench.figures.record(Measure::ColdStart, subject, round, quantile(&samples, 0.5) / 1e3);
            }
        }
    }
}

/// Microseconds from the spawn to the answer.
fn start(bench: &Bench, subject: usize) -> Result<u32, Failure> {
    let started = Instant::now();
    let mut running = PipedSubject::spawn(&bench.subjects[subject], &bench.watchdog, &bench.scratch)?;
    link::turn(&mut running, PipedSubject::initialize)?;
    let took = started.elapsed();
    Box::new(running).close()?;
    Ok(u32::try_from(took.as_micros()).unwrap_or(u32::MAX))
}
