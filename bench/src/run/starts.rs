//! Time from the start of the program to its answer to `tools/list`, with few servers and with many,
//! without a stored catalogue and with one.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::figures::{Catalogue, Measure, quantile};
use super::link::{self, Link};
use super::options::Section;
use super::pipes::PipedSubject;
use super::servers::{self, Shape};
use super::subject::{Role, Subject};
use super::watchdog::Watchdog;
use super::{Bench, Failure};
use crate::procfs;

const SERVERS: [usize; 3] = [1, 10, 50];
/// Name of the benchmark's backend in /proc.
const BACKEND: &str = "switchboard-ben";
/// Maximum number of starts until the catalogue is complete.
const FILLING: usize = 10;

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
            let takes_part = is_of(&subjects[subject], shape, catalogue);
            if !takes_part || bench.figures.failed(Section::Starts, subject) {
                continue;
            }
            let place = Place {
                watchdog: &bench.watchdog,
                folder: bench.scratch.join(format!("starts-{}-{subject}", shape.servers)),
                subject: &subjects[subject],
                shape,
            };
            let took = match catalogue {
                Catalogue::Cold => place.cold(),
                Catalogue::Warm => place.warm(turn == 0),
            };
            match took {
                Ok(took) => micros[subject].push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX)),
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

/// A server that is asked directly has no catalogue.
fn is_of(subject: &Subject, shape: Shape, catalogue: Catalogue) -> bool {
    let has_both = subject.role != Role::Direct;
    subject.is_of(Section::Starts) && (has_both || (shape.servers == 1 && catalogue == Catalogue::Cold))
}

/// A subject, and its state folder.
struct Place<'a> {
    watchdog: &'a Watchdog,
    folder: PathBuf,
    subject: &'a Subject,
    shape: Shape,
}

impl Place<'_> {
    fn cold(&self) -> Result<Duration, Failure> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)?;
        self.start().map(|(took, _)| took)
    }

    fn warm(&self, is_first: bool) -> Result<Duration, Failure> {
        // A client that leaves at once may leave before everything is on disk.
        let patience = if is_first { FILLING } else { 0 };
        for _ in 0..=patience {
            if let (took, Began::Nothing) = self.start()? {
                return Ok(took);
            }
        }
        Err(Failure("it started servers, although it had a catalogue".to_owned()))
    }

    /// Time from the spawn to the answer.
    fn start(&self) -> Result<(Duration, Began), Failure> {
        let started = Instant::now();
        let mut connection = PipedSubject::spawn(self.subject, self.watchdog, &self.folder)?;
        let mut outcome = None;
        link::turn(&mut connection, |connection| {
            let took = connection.start(self.shape.servers * self.shape.tools)?.duration_since(started);
            let below = procfs::resident_below(connection.pid());
            let servers = below.iter().any(|(name, _)| name == BACKEND);
            outcome = Some((took, if servers { Began::Servers } else { Began::Nothing }));
            Ok(())
        })?;
        Box::new(connection).close()?;
        Ok(outcome.expect("a turn that came through has set it"))
    }
}

/// The processes below a subject that has answered.
enum Began {
    Nothing,
    Servers,
}
