//! How long it takes from starting the program until it has answered `tools/list`, with few servers and with many,
//! without a catalogue from an earlier time and with one.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::connection::Connection;
use super::figures::{Catalogue, Measure, quantile};
use super::options::Section;
use super::procfs;
use super::servers::{self, Shape};
use super::subject::{Role, Subject};
use super::{Bench, Failure};

const SERVERS: [usize; 3] = [1, 10, 50];
/// How /proc calls the benchmark's backend.
const BACKEND: &str = "switchboard-ben";

pub(super) fn measure(bench: &mut Bench) -> Result<(), String> {
    let mut crews = Vec::new();
    for servers in SERVERS {
        let shape = Shape::with(servers);
        crews.push((shape, servers::subjects(shape, &bench.options, &bench.scratch)?));
    }
    for round in 0..bench.plan.start_rounds {
        for (shape, subjects) in &crews {
            for catalogue in [Catalogue::Cold, Catalogue::Warm] {
                measure_one(bench, round, *shape, subjects, catalogue);
            }
        }
    }
    Ok(())
}

fn measure_one(bench: &mut Bench, round: usize, shape: Shape, subjects: &[Subject], catalogue: Catalogue) {
    let mut micros = vec![Vec::new(); subjects.len()];
    for turn in 0..bench.plan.starts {
        for subject in (0..subjects.len()).map(|step| (step + turn) % subjects.len()) {
            let takes_part =
                subjects[subject].is_of(Section::Starts) && has(&subjects[subject], shape, catalogue);
            if !takes_part || bench.figures.failed(Section::Starts, subject) {
                continue;
            }
            // The cold starts of this round come first, and the last of them leaves the catalogue for the warm ones.
            let folder = bench.scratch.join(format!("starts-{}-{subject}", shape.servers));
            match start(bench, &subjects[subject], shape, catalogue, &folder) {
                Ok(took) => micros[subject].push(took),
                Err(failure) => bench.fail(Section::Starts, round, subject, &failure),
            }
        }
    }
    for (subject, mut samples) in micros.into_iter().enumerate() {
        samples.sort_unstable();
        if !samples.is_empty() {
            let measure = Measure::Started(catalogue, shape.servers);
            bench.figures.record(measure, subject, round, quantile(&samples, 0.5) / 1e3);
        }
    }
}

/// A server that is asked directly is one, and remembers nothing.
fn has(subject: &Subject, shape: Shape, catalogue: Catalogue) -> bool {
    subject.role != Role::Direct || (shape.servers == 1 && catalogue == Catalogue::Cold)
}

/// Microseconds from the spawn to the answer.
fn start(
    bench: &Bench,
    subject: &Subject,
    shape: Shape,
    catalogue: Catalogue,
    folder: &Path,
) -> Result<u32, Failure> {
    if catalogue == Catalogue::Cold && folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let started = Instant::now();
    let mut took = None;
    let mut connection = Connection::spawn(subject, &bench.watchdog, folder)?;
    connection.turn(|connection| {
        took = Some(connection.start(shape.servers * shape.tools)?.duration_since(started));
        if catalogue == Catalogue::Warm {
            let below = procfs::resident_below(connection.pid())?;
            if below.iter().any(|(name, _)| name == BACKEND) {
                return Err(Failure("it started servers, although it had a catalogue".to_owned()));
            }
        }
        Ok(())
    })?;
    connection.close()?;
    let took = took.expect("a turn that came through has set it");
    Ok(u32::try_from(took.as_micros()).unwrap_or(u32::MAX))
}
