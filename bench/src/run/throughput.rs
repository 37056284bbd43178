//! Calls per second of many callers, and the CPU time that each call costs the proxy.

use std::time::Duration;

use super::Bench;
use super::figures::Measure;
use super::options::Section;
use super::round::Round;
use crate::procfs;

#[derive(Clone, Copy, Default)]
struct CallTotals {
    took: Duration,
    cpu_ns: u64,
}

pub(super) fn measure(bench: &mut Bench) {
    for index in 0..bench.plan.rounds {
        for callers in bench.suite.callers() {
            measure_round(bench, index, *callers);
        }
    }
}

fn measure_round(bench: &mut Bench, index: usize, callers: usize) {
    let (slices, calls) = (bench.plan.slices, bench.plan.concurrent_calls);
    let mut tallies = vec![CallTotals::default(); bench.subjects.len()];
    let mut round = Round::open(bench, Section::Throughput, index);
    round.each(|_, connection| connection.tiny_calls_at_once(calls, callers).map(drop));
    for _ in 0..slices {
        round.each(|subject, connection| {
            let before = procfs::cpu_ns(connection.pid())?;
            tallies[subject].took += connection.tiny_calls_at_once(calls, callers)?;
            tallies[subject].cpu_ns += procfs::cpu_ns(connection.pid())?.saturating_sub(before);
            Ok(())
        });
    }
    let total = (slices * calls) as f64;
    for subject in round.close() {
        let CallTotals { took, cpu_ns } = tallies[subject];
        bench.figures.record(Measure::CallRate(callers), subject, index, total / took.as_secs_f64());
        if bench.subjects[subject].is_proxy() {
            let cpu = cpu_ns as f64 / total / 1e3;
            bench.figures.record(Measure::ConcurrentCpu(callers), subject, index, cpu);
        }
    }
}
