//! The measured values of a front and their ratios, as rows of a table. Must not measure.

use super::front::Front;
use super::subject::{CALLERS, Sample};
use crate::spread::Spread;

/// Part by which the modern era may be further from its floor than the legacy era: the noise of a run.
const TOLERANCE: f64 = 0.03;

/// A figure: its name and unit, its value in a sample, and whether more is better.
struct Figure {
    title: &'static str,
    unit: &'static str,
    of: fn(&Sample) -> f64,
    more_is_better: bool,
}

const FIGURES: [Figure; 3] = [
    Figure {
        title: "round trip, 1 caller",
        unit: "µs",
        of: |sample| sample.round_trip,
        more_is_better: false,
    },
    Figure { title: "calls/s, 64 callers", unit: "/s", of: |sample| sample.rate, more_is_better: true },
    Figure { title: "CPU per call, 64 callers", unit: "µs", of: |sample| sample.cpu, more_is_better: false },
];
const _: () = assert!(CALLERS == 64, "the titles say how many callers there are");

pub(super) struct Table {
    front: Front,
    /// Of each slice: the floor with legacy and modern messages, and Switchboard with both.
    slices: Vec<[Sample; 4]>,
}

impl Table {
    pub(super) fn new(front: Front) -> Self {
        Self { front, slices: Vec::new() }
    }

    pub(super) fn push(&mut self, samples: [Sample; 4]) {
        self.slices.push(samples);
    }

    pub(super) fn print_head() {
        println!(
            "| front | figure | unit | floor, legacy | floor, modern | legacy | modern | legacy : floor | modern : floor | of both ratios | modern : legacy | verdict |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    }

    pub(super) fn print(&self) {
        for figure in &FIGURES {
            self.print_row(figure);
        }
    }

    fn print_row(&self, figure: &Figure) {
        // Ratios are computed slice by slice, so that other load affects both sides.
        let spread = |of: fn([f64; 4]) -> f64| {
            let values: Vec<f64> =
                self.slices.iter().map(|samples| of(samples.each_ref().map(figure.of))).collect();
            Spread::of(&values).expect("every front has slices")
        };
        let digits = if figure.more_is_better { 0 } else { 2 };
        let values = [spread(|it| it[0]), spread(|it| it[1]), spread(|it| it[2]), spread(|it| it[3])];
        let values: Vec<String> = values.iter().map(|value| format!("{:.digits$}", value.median)).collect();
        let legacy = spread(|it| it[2] / it[0]);
        let modern = spread(|it| it[3] / it[1]);
        let both = spread(|it| it[3] / it[1] / (it[2] / it[0]));
        let eras = spread(|it| it[3] / it[2]);
        let is_met = match figure.more_is_better {
            true => both.median >= 1.0 - TOLERANCE,
            false => both.median <= 1.0 + TOLERANCE,
        };
        println!(
            "| {} | {} | {} | {} | {legacy:.2} | {modern:.2} | {both:.2} | {eras:.2} | {} |",
            self.front.title(),
            figure.title,
            figure.unit,
            values.join(" | "),
            if is_met { "PASS" } else { "MISSED" },
        );
    }
}
