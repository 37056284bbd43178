//! `attached`: the cost of sharing one daemon, compared with `--solo`: per call, at a window's start, and in memory. Both
//! windows are open at once and take turns, so that other load on the machine affects both alike.

use crate::caller::{Caller, listed};
use crate::procfs;
use crate::spread::Spread;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Pipes, Program, Start};
use switchboard_testkit::scratch::Scratch;

const USAGE: &str = "\
usage: switchboard-bench attached --switchboard FILE
  --switchboard FILE   the program";

const TURNS: usize = 80;
const CALLS: usize = 250;
const STARTS: usize = 21;
/// Limits of the figures.
const MAX_ADDED_MICROSECONDS: f64 = 15.0;
const MAX_START_MILLISECONDS: f64 = 15.0;
const MAX_MEMORY_MIB: f64 = 4.0;
/// Time after which an attachment has freed the memory of its start.
const SETTLE_TIME: Duration = Duration::from_secs(3);

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let at = arguments.iter().position(|word| word == "--switchboard").ok_or(USAGE)?;
    let file = arguments.get(at + 1).ok_or(USAGE)?;
    let switchboard = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
    run(&switchboard).map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

pub(crate) fn run(switchboard: &Path) -> io::Result<()> {
    let scratch = Scratch::new();
    let backend = json!({ "command": std::env::current_exe()?, "args": ["backend"] });
    let config = json!({ "linger": "2s", "mcpServers": { "tiny": backend } });
    let config = scratch.file("attached.json", config.to_string());
    let start = || Start::inside(&scratch, switchboard).args(["stdio", "--config"]).arg(&config);
    let open = |start: Start| -> io::Result<_> {
        let (Program { child, pipes }, tools) = listed(start)?;
        let mut caller = Caller::of_tiny(pipes, tools);
        caller.first_calls()?;
        caller.tiny_calls(CALLS * 4, &mut Vec::new())?;
        Ok((child, caller))
    };
    let ((mut attachment, mut attached), (mut alone, mut solo)) =
        (open(start())?, open(start().arg("--solo"))?);
    let mut figures = Figures::default();
    for turn in 0..TURNS {
        // The order alternates, since the second finds other caches.
        let (one, other) = if turn % 2 == 0 {
            let one = median(&mut attached)?;
            (one, median(&mut solo)?)
        } else {
            let other = median(&mut solo)?;
            (median(&mut attached)?, other)
        };
        figures.attached.push(one);
        figures.solo.push(other);
        figures.added.push(one - other);
    }
    for _ in 0..STARTS {
        let (start, started) = (start(), Instant::now());
        let (window, _) = listed(start)?;
        figures.starts.push(started.elapsed().as_secs_f64() * 1e3);
        window.close()?;
    }
    std::thread::sleep(SETTLE_TIME);
    let memory = procfs::resident_mib(attachment.id())?;
    drop((attached, solo));
    attachment.wait()?;
    alone.wait()?;
    figures.show(memory);
    Ok(())
}

#[derive(Default)]
struct Figures {
    attached: Vec<f64>,
    solo: Vec<f64>,
    added: Vec<f64>,
    starts: Vec<f64>,
}

impl Figures {
    fn show(&self, memory: f64) {
        let verdict = |value: f64, target: f64| if value <= target { "PASS" } else { "MISSED" };
        let spread = |values: &[f64]| Spread::of(values).expect("every figure has values");
        let (attached, solo) = (spread(&self.attached), spread(&self.solo));
        let (added, starts) = (spread(&self.added), spread(&self.starts));
        println!("| a window | unit | target | value | verdict |");
        println!("|---|---|---|---|---|");
        println!("| round trip, attached, median | µs | | {attached} | |");
        println!("| round trip, solo, median | µs | | {solo} | |");
        println!(
            "| added by being attached | µs | ≤ {MAX_ADDED_MICROSECONDS} | {added} | {} |",
            verdict(added.median, MAX_ADDED_MICROSECONDS)
        );
        println!(
            "| from its start to the answered tools/list | ms | ≤ {MAX_START_MILLISECONDS} | {starts} | {} |",
            verdict(starts.median, MAX_START_MILLISECONDS)
        );
        println!(
            "| an attachment, resident | MiB | ≤ {MAX_MEMORY_MIB} | {memory:.2} | {} |",
            verdict(memory, MAX_MEMORY_MIB)
        );
    }
}

/// The median round trip of some calls, in microseconds.
fn median(caller: &mut Caller<Pipes>) -> io::Result<f64> {
    let mut times = Vec::with_capacity(CALLS);
    caller.tiny_calls(CALLS, &mut times)?;
    times.sort_unstable();
    Ok(f64::from(times[times.len() / 2]) / 1e3)
}
