//! The measured values of a front and their ratios, as rows of a table. Must not measure.

use super::front::{Front, SUBJECTS};
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
    /// Of each slice, in the order of [`Front::open`].
    slices: Vec<[Sample; SUBJECTS]>,
}

impl Table {
    pub(super) fn new(front: Front) -> Self {
        Self { front, slices: Vec::new() }
    }

    pub(super) fn push(&mut self, samples: [Sample; SUBJECTS]) {
        self.slices.push(samples);
    }

    pub(super) fn print_head() {
        println!(
            "| front | figure | unit | floor, legacy | floor, modern | legacy | long legacy | modern | legacy : floor | modern : floor | of both ratios | modern : legacy | modern : long legacy | verdict |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    }

    pub(super) fn print(&self) {
        for figure in &FIGURES {
            self.print_row(figure);
        }
    }

    fn print_row(&self, figure: &Figure) {
        // Ratios are computed slice by slice, so that other load affects both sides.
        let spread = |of: fn([f64; SUBJECTS]) -> f64| {
            let values: Vec<f64> =
                self.slices.iter().map(|samples| of(samples.each_ref().map(figure.of))).collect();
            Spread::of(&values).expect("every front has slices")
        };
        let digits = if figure.more_is_better { 0 } else { 2 };
        let medians: [fn([f64; SUBJECTS]) -> f64; SUBJECTS] =
            [|it| it[0], |it| it[1], |it| it[2], |it| it[3], |it| it[4]];
        let values = medians.map(|of| format!("{:.digits$}", spread(of).median));
        let legacy = spread(|[floor, _, legacy, _, _]| legacy / floor);
        let modern = spread(|[_, floor, _, _, modern]| modern / floor);
        let both =
            spread(|[floor, modern_floor, legacy, _, modern]| modern / modern_floor / (legacy / floor));
        let eras = spread(|[_, _, legacy, _, modern]| modern / legacy);
        let same_length = spread(|[_, _, _, legacy, modern]| modern / legacy);
        let is_met = match figure.more_is_better {
            true => both.median >= 1.0 - TOLERANCE,
            false => both.median <= 1.0 + TOLERANCE,
        };
        println!(
            "| {} | {} | {} | {} | {legacy:.2} | {modern:.2} | {both:.2} | {eras:.2} | {same_length:.2} | {} |",
            self.front.title(),
            figure.title,
            figure.unit,
            values.join(" | "),
            if is_met { "PASS" } else { "MISSED" },
        );
    }
}
