//! Time of a list of a thousand tools: of ten servers through us, and of a single server that has them all.

use super::Bench;
use super::figures::{Measure, quantile};
use super::options::Section;
use super::round::Round;

pub(super) fn measure(bench: &mut Bench) {
    for index in 0..bench.plan.rounds {
        let (slices, lists) = (bench.plan.slices, bench.plan.lists);
        let mut micros = vec![Vec::new(); bench.subjects.len()];
        let mut round = Round::open(bench, Section::Lists, index);
        round.each(|_, connection| connection.lists(lists, &mut Vec::new()));
        for _ in 0..slices {
            round.each(|subject, connection| {
                // The first list of a turn finds another subject's data in the caches.
                connection.lists(1, &mut Vec::new())?;
                connection.lists(lists, &mut micros[subject])
            });
        }
        for subject in round.close() {
            micros[subject].sort_unstable();
            bench.figures.record(Measure::LongList, subject, index, quantile(&micros[subject], 0.5));
        }
    }
}
