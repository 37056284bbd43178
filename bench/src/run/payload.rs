//! Throughput of messages of 10 MiB, and the memory that they take during and after the calls.

use std::thread;
use std::time::Duration;

use super::Bench;
use super::figures::{Measure, quantile};
use super::options::Section;
use super::round::Round;
use crate::procfs;

/// Wait before each memory measurement: before the large messages, and when their memory should be freed.
const QUIET_BEFORE: Duration = Duration::from_secs(1);
const QUIET_AFTER: Duration = Duration::from_secs(2);
/// Leading bytes of an echoed text that number it, so that an answer to an earlier call does not match.
const STAMP: usize = 16;

#[derive(Clone, Default)]
struct PayloadSamples {
    echo_micros: Vec<u32>,
    answer_micros: Vec<u32>,
    resident_before: f64,
    resident_after: f64,
    peak: f64,
}

pub(super) fn measure(bench: &mut Bench) {
    let mut text = bench.options.payload.text(bench.plan.payload_bytes);
    let bytes = text.len().to_string();
    let length_argument: [&[u8]; 3] = [b"{\"bytes\":", bytes.as_bytes(), b"}"];
    let answered = text.clone();
    for index in 0..bench.plan.payload_rounds {
        let (slices, calls) = (bench.plan.payload_slices, bench.plan.payload_calls);
        let mut tallies = vec![PayloadSamples::default(); bench.subjects.len()];
        let mut round = Round::open(bench, Section::Payload, index);
        thread::sleep(QUIET_BEFORE);
        round.each(|subject, connection| {
            tallies[subject].resident_before = procfs::resident_mib(connection.pid())?;
            Ok(procfs::reset_peak(connection.pid())?)
        });
        // The first slice is the warm-up: buffers grow, and the backend prepares its answer.
        for slice in 0..=slices {
            round.each(|subject, connection| {
                for call in 0..calls {
                    stamp(&mut text, slice * calls + call);
                    let arguments: [&[u8]; 3] = [b"{\"text\":\"", &text, b"\"}"];
                    let took = connection.large_call("echo", &arguments, &text)?;
                    keep(slice, &mut tallies[subject].echo_micros, took);
                }
                Ok(())
            });
        }
        for slice in 0..=slices {
            round.each(|subject, connection| {
                for _ in 0..calls {
                    let took = connection.large_call("answer", &length_argument, &answered)?;
                    keep(slice, &mut tallies[subject].answer_micros, took);
                }
                Ok(())
            });
        }
        round.each(|subject, connection| {
            tallies[subject].peak = procfs::peak_mib(connection.pid())?;
            Ok(())
        });
        thread::sleep(QUIET_AFTER);
        round.each(|subject, connection| {
            tallies[subject].resident_after = procfs::resident_mib(connection.pid())?;
            Ok(())
        });
        for subject in round.close() {
            record(bench, index, subject, &mut tallies[subject]);
        }
    }
}

fn stamp(text: &mut [u8], number: usize) {
    text[..STAMP].copy_from_slice(format!("{number:0STAMP$}").as_bytes());
}

fn keep(slice: usize, micros: &mut Vec<u32>, took: Duration) {
    if slice > 0 {
        micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }
}

fn record(bench: &mut Bench, round: usize, subject: usize, tally: &mut PayloadSamples) {
    let mib = bench.plan.payload_bytes as f64 / f64::from(1 << 20);
    let mut rate = |measure, micros: &mut Vec<u32>, moved: f64| {
        micros.sort_unstable();
        bench.figures.record(measure, subject, round, moved / (quantile(micros, 0.5) / 1e6));
    };
    rate(Measure::EchoRate, &mut tally.echo_micros, 2.0 * mib);
    rate(Measure::AnswerRate, &mut tally.answer_micros, mib);
    if bench.subjects[subject].is_proxy() {
        let kept = tally.resident_after - tally.resident_before;
        bench.figures.record(Measure::PeakMemory, subject, round, tally.peak);
        bench.figures.record(Measure::MemoryKept, subject, round, kept);
    }
}
