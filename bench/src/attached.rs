//! `attached`: what a window pays for sharing one daemon with others, next to `--solo`: per call, at its start, and in
//! memory. Both are open at once and take turns, so that what else the machine does hits both alike.

use crate::projects::Connection;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: switchboard-bench attached --switchboard FILE
  --switchboard FILE   the program";

const TURNS: usize = 80;
const CALLS: usize = 250;
const STARTS: usize = 21;
/// What is promised.
const MAX_ADDED_MICROSECONDS: f64 = 15.0;
const MAX_START_MILLISECONDS: f64 = 15.0;
const MAX_MEMORY_MIB: f64 = 4.0;
/// By then an attachment has given back what it needed to start.
const SETTLE_TIME: Duration = Duration::from_secs(3);

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let at = arguments.iter().position(|word| word == "--switchboard").ok_or(USAGE)?;
    let file = arguments.get(at + 1).ok_or(USAGE)?;
    let switchboard = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let scratch = std::env::temp_dir().join(format!("sb-attached-{}", std::process::id()));
    let outcome = run(&switchboard, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    outcome.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

pub(crate) fn run(switchboard: &Path, scratch: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(scratch.join("run"))?;
    fs::set_permissions(scratch.join("run"), fs::Permissions::from_mode(0o700))?;
    let scratch = scratch.canonicalize()?;
    let backend = json!({ "command": std::env::current_exe()?, "args": ["backend"] });
    let config = scratch.join("attached.json");
    fs::write(&config, json!({ "linger": "2s", "mcpServers": { "tiny": backend } }).to_string())?;
    let open = |more: &[&str]| {
        let mut argv: Vec<OsString> =
            vec![switchboard.into(), "stdio".into(), "--config".into(), config.clone().into()];
        argv.extend(more.iter().map(OsString::from));
        Connection::open_in(&argv, &scratch, Some(&scratch))
    };
    let (mut attached, mut solo) = (open(&[])?, open(&["--solo"])?);
    let mut figures = Figures::default();
    for connection in [&mut attached, &mut solo] {
        connection.times_of_calls(CALLS * 4)?;
    }
    for turn in 0..TURNS {
        // Whoever comes second finds another cache.
        let (one, other) = if turn % 2 == 0 {
            let one = median(attached.times_of_calls(CALLS)?);
            (one, median(solo.times_of_calls(CALLS)?))
        } else {
            let other = median(solo.times_of_calls(CALLS)?);
            (median(attached.times_of_calls(CALLS)?), other)
        };
        figures.attached.push(one);
        figures.solo.push(other);
        figures.added.push(one - other);
    }
    for _ in 0..STARTS {
        let start = Instant::now();
        let connection = open(&[])?;
        figures.starts.push(start.elapsed().as_secs_f64() * 1e3);
        connection.close()?;
    }
    std::thread::sleep(SETTLE_TIME);
    let memory = resident(attached.pid());
    attached.close()?;
    solo.close()?;
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
    fn show(mut self, memory: f64) {
        let verdict = |value: f64, target: f64| if value <= target { "PASS" } else { "MISSED" };
        let (attached, solo) = (middle(&mut self.attached), middle(&mut self.solo));
        let (added, starts) = (middle(&mut self.added), middle(&mut self.starts));
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

/// The middle, and where a quarter and three quarters are.
struct Middle {
    median: f64,
    quarters: (f64, f64),
}

impl std::fmt::Display for Middle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1}–{:.1})", self.median, self.quarters.0, self.quarters.1)
    }
}

fn middle(values: &mut [f64]) -> Middle {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    Middle { median: at(2), quarters: (at(1), at(3)) }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn resident(pid: u32) -> f64 {
    let text = fs::read_to_string(PathBuf::from(format!("/proc/{pid}/status"))).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1024.0
}
