//! The comparison: the same load on the backend alone, behind the floor, and behind Switchboard; with one server,
//! with ten servers as one, or over HTTP.
//!
//! # Layout
//! - [`options`]: the command line, and the amount of work that follows from it.
//! - [`subject`]: the programs to compare; [`servers`]: the same with many servers behind.
//! - [`running`]: one running subject; [`pipes`]: called over pipes; [`http`]: over HTTP; [`link`]: either.
//! - [`watchdog`]: a time limit for every subject.
//! - [`round`]: all subjects side by side, taking turns, so that changes of the machine affect all alike.
//! - [`latency`], [`throughput`], [`idle`], [`cold_start`], [`payload`], [`lists`], [`starts`], [`sessions`]: one
//!   measurement each.
//! - [`figures`]: the measured values; [`verdict`]: the targets, met or missed; [`report`]: the output of both.

mod cold_start;
mod figures;
mod http;
mod idle;
mod latency;
mod link;
mod lists;
mod options;
mod payload;
mod pipes;
mod report;
mod round;
mod running;
mod servers;
mod sessions;
mod starts;
mod subject;
mod throughput;
mod verdict;
mod watchdog;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use figures::Figures;
pub(crate) use options::Suite;
use options::{Plan, RunOptions, Section};
use subject::Subject;
use watchdog::Watchdog;

/// The error of a subject.
#[derive(Debug)]
struct Failure(String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Self {
        std::io::Error::from(error).into()
    }
}

/// Input and output of all measurements.
struct Bench {
    suite: Suite,
    options: RunOptions,
    plan: Plan,
    subjects: Vec<Subject>,
    watchdog: Watchdog,
    /// The subjects' state folder and stderr; removed with the run.
    scratch: PathBuf,
    figures: Figures,
}

impl Bench {
    /// Reports a failed subject, which is left out of the rest of this measurement.
    fn fail(&mut self, section: Section, round: usize, subject: usize, failure: &Failure) {
        let name = &self.subjects[subject].name;
        let message = format!("{name}, {}, round {}: {}", section.name(), round + 1, failure.0);
        eprintln!("  FAILED: {message}");
        self.figures.fail(section, subject, message);
    }
}

pub(crate) fn main(suites: &[Suite], arguments: &[OsString]) -> Result<ExitCode, String> {
    let Some(options) = RunOptions::parse(arguments)? else {
        println!("{}", options::HELP);
        return Ok(ExitCode::SUCCESS);
    };
    let scratch = std::env::temp_dir().join(format!("switchboard-bench.{}", std::process::id()));
    fs::create_dir_all(scratch.join("state")).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let outcome = compare_all(suites, &options, &scratch);
    // A folder left in /tmp is no reason to fail.
    let _ = fs::remove_dir_all(&scratch);
    outcome
}

fn compare_all(suites: &[Suite], options: &RunOptions, scratch: &Path) -> Result<ExitCode, String> {
    let watchdog = Watchdog::start(options.time_limit);
    let mut markdown = Vec::new();
    let mut json = Vec::new();
    let mut worst = 0;
    for suite in suites.iter().filter(|suite| suite.sections().iter().any(|section| options.wants(*section)))
    {
        let machine = report::Machine::read();
        let bench = compare(*suite, options, &watchdog, scratch)?;
        let lines = verdict::lines(&bench);
        println!("{}", report::terminal(&machine, &bench, &lines));
        markdown.push(report::markdown(&machine, &bench, &lines));
        json.push(report::json(&machine, &bench, &lines));
        worst = worst.max(verdict::exit_code(&bench, &lines, options.strict));
    }
    if let Some(path) = &options.markdown {
        write(path, &markdown.join("\n"))?;
    }
    if let Some(path) = &options.json {
        write(path, &format!("{:#}\n", serde_json::Value::from(json)))?;
    }
    Ok(ExitCode::from(worst))
}

fn compare(suite: Suite, options: &RunOptions, watchdog: &Watchdog, scratch: &Path) -> Result<Bench, String> {
    let subjects = Subject::all(suite, Section::Latency, options, scratch)?;
    let mut bench = Bench {
        suite,
        plan: options.plan(suite),
        figures: Figures::new(subjects.len()),
        subjects,
        options: options.clone(),
        watchdog: watchdog.clone(),
        scratch: scratch.to_owned(),
    };
    for section in suite.sections().iter().filter(|section| options.wants(**section)) {
        eprintln!("measuring {}, {} …", suite.name(), section.name());
        bench.subjects = Subject::all(suite, *section, options, scratch)?;
        match section {
            Section::Latency => latency::measure(&mut bench),
            Section::Throughput => throughput::measure(&mut bench),
            Section::Idle => idle::measure(&mut bench),
            Section::ColdStart => cold_start::measure(&mut bench),
            Section::Payload => payload::measure(&mut bench),
            Section::Lists => lists::measure(&mut bench),
            Section::Starts => starts::measure(&mut bench)?,
            Section::Sessions => sessions::measure(&mut bench),
        }
    }
    Ok(bench)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
