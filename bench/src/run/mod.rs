//! The comparison: the same load on the backend alone, behind the pump, and behind Switchboard.
//!
//! # Layout
//! - [`options`]: what the user asked for, and how much work that is.
//! - [`subject`]: who is compared; [`connection`]: one running subject, spoken to; [`watchdog`]: no subject
//!   can hold the run up; [`procfs`]: CPU time and memory of a process.
//! - [`round`]: all subjects side by side, taking turns, so that a machine that drifts drifts for all.
//! - [`latency`], [`throughput`], [`idle`], [`cold_start`], [`payload`]: one measurement each.
//! - [`figures`]: what was measured; [`verdict`]: the promises, kept or not; [`report`]: both, to be read.

mod cold_start;
mod connection;
mod figures;
mod idle;
mod latency;
mod options;
mod payload;
mod procfs;
mod report;
mod round;
mod subject;
mod throughput;
mod verdict;
mod watchdog;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use figures::Figures;
use options::{Options, Plan, Section};
use subject::Subject;
use watchdog::Watchdog;

/// A subject did not do what it should have: the message says what.
#[derive(Debug)]
struct Failure(String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// What every measurement needs, and what they fill.
struct Bench {
    plan: Plan,
    payload: crate::wire::Payload,
    subjects: Vec<Subject>,
    watchdog: Watchdog,
    /// The subjects' state folder and what they print on stderr; gone when the run is.
    scratch: PathBuf,
    figures: Figures,
}

impl Bench {
    /// Reports that a subject did not come through; it takes no further part in this measurement.
    fn fail(&mut self, section: Section, round: usize, subject: usize, failure: &Failure) {
        let name = &self.subjects[subject].name;
        let message = format!("{name}, {}, round {}: {}", section.name(), round + 1, failure.0);
        eprintln!("  FAILED: {message}");
        self.figures.fail(section, subject, message);
    }
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let Some(options) = Options::parse(arguments)? else {
        println!("{}", options::HELP);
        return Ok(ExitCode::SUCCESS);
    };
    let scratch = std::env::temp_dir().join(format!("switchboard-bench.{}", std::process::id()));
    fs::create_dir_all(scratch.join("state")).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let outcome = compare(&options, scratch.clone());
    // A folder that stays behind in /tmp is not worth failing for.
    let _ = fs::remove_dir_all(&scratch);
    outcome
}

fn compare(options: &Options, scratch: PathBuf) -> Result<ExitCode, String> {
    let machine = report::Machine::read();
    let subjects = Subject::all(options)?;
    let plan = options.plan();
    let watchdog = Watchdog::start(options.time_limit);
    let figures = Figures::new(subjects.len());
    let mut bench = Bench { plan, payload: options.payload, subjects, watchdog, scratch, figures };
    for section in Section::ALL {
        if !options.wants(section) {
            continue;
        }
        eprintln!("measuring {} …", section.name());
        match section {
            Section::Latency => latency::measure(&mut bench),
            Section::Throughput => throughput::measure(&mut bench),
            Section::Idle => idle::measure(&mut bench),
            Section::ColdStart => cold_start::measure(&mut bench),
            Section::Payload => payload::measure(&mut bench),
        }
    }
    let lines = verdict::lines(&bench);
    println!("{}", report::terminal(&machine, &bench, &lines));
    if let Some(path) = &options.markdown {
        write(path, &report::markdown(&machine, &bench, &lines))?;
    }
    if let Some(path) = &options.json {
        write(path, &report::json(&machine, &bench, &lines))?;
    }
    Ok(verdict::exit_code(&bench, &lines, options.strict))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
