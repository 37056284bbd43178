//! Round trips of sequential small calls, and the CPU time that they cost the proxy.

use super::Bench;
use super::figures::{Measure, quantile};
use super::options::Section;
use super::round::Round;
use crate::procfs;

/// First calls of a turn, which find another subject's data in the caches: not counted.
const UNCOUNTED: usize = 50;

#[derive(Clone, Default)]
struct RoundTrips {
    round_trips: Vec<u32>,
    cpu_ns: u64,
}

pub(super) fn measure(bench: &mut Bench) {
    for index in 0..bench.plan.rounds {
        let (warm_up, slices, calls) = (bench.plan.warm_up, bench.plan.slices, bench.plan.calls);
        let mut tallies = vec![RoundTrips::default(); bench.subjects.len()];
        let mut round = Round::open(bench, Section::Latency, index);
        round.each(|_, connection| connection.tiny_calls(warm_up, &mut Vec::new()));
        for _ in 0..slices {
            round.each(|subject, connection| {
                connection.tiny_calls(UNCOUNTED, &mut Vec::new())?;
                let before = procfs::cpu_ns(connection.pid())?;
                connection.tiny_calls(calls, &mut tallies[subject].round_trips)?;
                tallies[subject].cpu_ns += procfs::cpu_ns(connection.pid())?.saturating_sub(before);
                Ok(())
            });
        }
        for subject in round.close() {
            record(bench, index, subject, &mut tallies[subject]);
        }
    }
}

fn record(bench: &mut Bench, round: usize, subject: usize, tally: &mut RoundTrips) {
    let samples = &mut tally.round_trips;
    samples.sort_unstable();
    let figures = &mut bench.figures;
    figures.record(Measure::RoundTripMedian, subject, round, quantile(samples, 0.5) / 1e3);
    figures.record(Measure::RoundTripP99, subject, round, quantile(samples, 0.99) / 1e3);
    if bench.subjects[subject].is_proxy() {
        let cpu = tally.cpu_ns as f64 / samples.len() as f64 / 1e3;
        figures.record(Measure::SequentialCpu, subject, round, cpu);
    }
}
