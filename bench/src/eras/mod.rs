//! `eras`: the cost of modern messages, next to legacy ones, on every front. These take turns with the same calls: the
//! floor with messages of either era, and Switchboard with a client and servers of either era. Modern calls are longer,
//! since they carry `_meta`; Switchboard with legacy calls of that length shows how much of the difference that is.
//!
//! # Layout
//! - `subject`: a running program with its client.
//! - `front`: the programs of each front.
//! - `translated`: a benchmark of its own, with the same programs.
//! - `table`: the measured values and their ratios.

mod subject;
mod front;
mod table;
pub(crate) mod translated;

use crate::one_processor::stay_on_one_processor;
use front::{Front, SUBJECTS};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use subject::{Sample, Subject};
use table::Table;

const USAGE: &str = "\
usage: switchboard-bench eras|translated --switchboard FILE [OPTIONS]
  --switchboard FILE   the program
  --front NAME         solo, daemon, many, http or http-all; may be repeated (all of them)
  --rounds N           how often every program is started (5)
  --slices N           turns of each program in a round (20)
  --quick              two rounds of four turns: to see that it works, not to quote
  --one-processor      runs everything on one processor: on two, the scheduler's choices differ by more than the eras";

/// Calls per turn, one by one and of many callers. A turn is short, so that other load meets all programs alike.
const CALLS: usize = 400;
const CALLS_AT_ONCE: usize = 4_000;

struct EraOptions {
    switchboard: PathBuf,
    fronts: Vec<Front>,
    rounds: usize,
    slices: usize,
    one_processor: bool,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    run_with(arguments, run)
}

fn run_with(arguments: &[OsString], run: fn(&EraOptions) -> io::Result<()>) -> Result<ExitCode, String> {
    let options = options(arguments)?;
    if options.one_processor {
        stay_on_one_processor().map_err(|error| error.to_string())?;
    }
    run(&options).map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

fn options(arguments: &[OsString]) -> Result<EraOptions, String> {
    let (mut switchboard, mut fronts) = (None, Vec::new());
    let (mut rounds, mut slices, mut one_processor) = (5, 20, false);
    let mut rest = arguments.iter().map(|word| word.to_str().unwrap_or_default());
    while let Some(argument) = rest.next() {
        if argument == "--one-processor" {
            one_processor = true;
            continue;
        }
        if argument == "--quick" {
            (rounds, slices) = (2, 4);
            continue;
        }
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse::<usize>().map_err(|_| format!("`{value}` is not a number\n\n{USAGE}"));
        match argument {
            "--switchboard" => {
                let found = fs::canonicalize(value).map_err(|error| format!("{value}: {error}"))?;
                switchboard = Some(found);
            }
            "--front" => fronts.push(Front::named(value).ok_or(USAGE)?),
            "--rounds" => rounds = number()?.max(1),
            "--slices" => slices = number()?.max(1),
            _ => return Err(format!("unknown argument `{argument}`\n\n{USAGE}")),
        }
    }
    if fronts.is_empty() {
        fronts = Front::ALL.to_vec();
    }
    Ok(EraOptions { switchboard: switchboard.ok_or(USAGE)?, fronts, rounds, slices, one_processor })
}

fn run(options: &EraOptions) -> io::Result<()> {
    Table::print_head();
    for front in &options.fronts {
        let mut table = Table::new(*front);
        for _ in 0..options.rounds {
            round(*front, &options.switchboard, options.slices, &mut table)?;
        }
        table.print();
    }
    Ok(())
}

/// Starts all programs of a front, and lets them take turns.
fn round(front: Front, switchboard: &Path, slices: usize, table: &mut Table) -> io::Result<()> {
    let mut subjects = front.open(switchboard)?;
    for subject in &mut subjects {
        turn(subject)?;
    }
    for slice in 0..slices {
        let mut samples = [Sample::default(); SUBJECTS];
        for at in order(slice) {
            samples[at] = turn(&mut subjects[at])?;
        }
        table.push(samples);
    }
    subjects.into_iter().try_for_each(Subject::close)
}

/// The order of the programs in a slice. Over twenty slices each follows each other one equally often: a program is faster
/// if the one before it has left its own code in the caches, as another process of the same program does.
fn order(slice: usize) -> impl Iterator<Item = usize> {
    let distance = 1 + slice / SUBJECTS % (SUBJECTS - 1);
    (0..SUBJECTS).map(move |step| (slice + step * distance) % SUBJECTS)
}
const _: () = assert!(SUBJECTS == 5, "with a number that is not prime, some programs would be left out");

fn turn(subject: &mut Subject) -> io::Result<Sample> {
    subject.measure(CALLS, CALLS_AT_ONCE)
}
