//! Memory of an idle proxy with one backend.

use std::thread;
use std::time::Duration;

use super::Bench;
use super::figures::Measure;
use super::options::Section;
use super::round::Round;
use crate::procfs;

const QUIET: Duration = Duration::from_secs(1);
const CALLS: usize = 20;

pub(super) fn measure(bench: &mut Bench) {
    for index in 0..bench.plan.idle_rounds {
        let mut resident = vec![0.0; bench.subjects.len()];
        let mut beside = vec![Vec::new(); bench.subjects.len()];
        let mut round = Round::open(bench, Section::Idle, index);
        round.each(|_, connection| connection.tiny_calls(CALLS, &mut Vec::new()));
        thread::sleep(QUIET);
        round.each(|subject, connection| {
            resident[subject] = procfs::resident_mib(connection.pid())?;
            beside[subject] = procfs::resident_below(connection.pid());
            Ok(())
        });
        for subject in round.close() {
            if !bench.subjects[subject].is_proxy() {
                continue;
            }
            bench.figures.record(Measure::IdleMemory, subject, index, resident[subject]);
            for (name, mib) in &beside[subject] {
                let measure = match name.as_str() {
                    "sb-guard" => Measure::GuardMemory,
                    "sb-warden" => Measure::WardenMemory,
                    _ => continue,
                };
                bench.figures.record(measure, subject, index, *mib);
            }
        }
    }
}
