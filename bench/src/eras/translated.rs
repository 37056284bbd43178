//! `translated`: the cost of a translated call compared with one that passes through. A legacy client calls a legacy and a
//! modern server in turns, and so does a modern client. A translated call may take 10 µs longer.

use super::front::{ClientEra, Front};
use super::subject::{Sample, Subject};
use super::{CALLS, CALLS_AT_ONCE, EraOptions, run_with};
use crate::spread::Spread;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// Limit on the cost of translation per call, in microseconds.
const ALLOWED: f64 = 10.0;

/// The name of a figure, and the function that reads it from a sample.
type Figure = (&'static str, fn(&Sample) -> f64);

const FIGURES: [Figure; 2] =
    [("round trip, 1 caller", |sample| sample.round_trip), ("CPU per call, 64 callers", |sample| sample.cpu)];

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    run_with(arguments, run)
}

fn run(options: &EraOptions) -> io::Result<()> {
    println!("| client | front | figure | unit | passed through | translated | difference | verdict |");
    println!("|---|---|---|---|---|---|---|---|");
    for client in ClientEra::ALL {
        for front in &options.fronts {
            let mut slices = Vec::new();
            for _ in 0..options.rounds {
                round(*front, client, options, &mut slices)?;
            }
            print(*front, client, &slices);
        }
    }
    Ok(())
}

fn round(
    front: Front,
    client: ClientEra,
    options: &EraOptions,
    slices: &mut Vec<[Sample; 2]>,
) -> io::Result<()> {
    let mut subjects = front.open_translated(&options.switchboard, client)?;
    for subject in &mut subjects {
        subject.measure(CALLS, CALLS_AT_ONCE)?;
    }
    for slice in 0..options.slices {
        let mut samples = [Sample::default(); 2];
        // Each side starts equally often.
        for at in [slice % 2, (slice + 1) % 2] {
            samples[at] = subjects[at].measure(CALLS, CALLS_AT_ONCE)?;
        }
        slices.push(samples);
    }
    subjects.into_iter().try_for_each(Subject::close)
}

fn print(front: Front, client: ClientEra, slices: &[[Sample; 2]]) {
    for (title, of) in FIGURES {
        let median = |value: fn(f64, f64) -> f64| {
            let values: Vec<f64> = slices.iter().map(|[one, two]| value(of(one), of(two))).collect();
            Spread::of(&values).expect("every front has slices").median
        };
        let (passed, translated) = (median(|passed, _| passed), median(|_, translated| translated));
        let added = median(|passed, translated| translated - passed);
        let verdict = if added <= ALLOWED { "PASS" } else { "MISSED" };
        println!(
            "| {} | {} | {title} | µs | {passed:.2} | {translated:.2} | {added:+.2} | {verdict} |",
            client.title(),
            front.title()
        );
    }
}
