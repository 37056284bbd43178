//! `cost`: the standing costs of the default mode, in which a window hands its streams to the daemon. Three figures: memory
//! of the daemon per window, wake-ups of an idle daemon and an idle attachment, and calls per second beside the pump.
//!
//! - `house`: a config file with a daemon of its own, open windows, and figures of that daemon from `/proc`.

mod house;

use crate::spread::Spread;
use house::{House, OpenWindow};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: switchboard-bench cost --as NAME=FILE… [--only memory|wakeups|calls]… [OPTIONS]
  what a window costs its daemon, how often both wake up when idle, and calls per second beside the byte pump
  --as NAME=FILE   a program, by any name; may be repeated, to compare builds in one run
  --only WHAT      memory, wakeups or calls; may be repeated (all three)
  --servers N      servers in the config, for the memory (60)
  --windows N      windows, for the memory (20)
  --seconds N      how long wake-ups are counted (20)
  --rounds N       how often every program is started for the calls (5)
  --slices N       turns of each program in a round (20)
  --callers N      calls in flight; may be repeated (1, 8, 64)
  --quiet N        only counts turns of calls before and after which nobody else used the processors; waits N seconds at
                   most for each (0: counts all)";

/// Time that a daemon needs to free the memory of its start.
const SETTLE_TIME: Duration = Duration::from_secs(6);
/// Calls per turn, one by one and with several in flight.
const CALLS: usize = 4_000;
const CALLS_IN_FLIGHT: usize = 20_000;

/// Sampling time of the processor load.
const QUIET_SAMPLE: Duration = Duration::from_millis(60);

/// Upper or lower limits of the figures.
const MAX_KIB_PER_WINDOW: f64 = 64.0;
const MAX_DAEMON_WAKEUPS: f64 = 1.0;
const MAX_ATTACHMENT_WAKEUPS: f64 = 0.1;

struct CostOptions {
    programs: Vec<(String, PathBuf)>,
    only: Vec<String>,
    servers: usize,
    windows: usize,
    seconds: u64,
    rounds: usize,
    slices: usize,
    callers: Vec<usize>,
    quiet: Duration,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let options = options(arguments)?;
    run(&options).map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

fn options(arguments: &[OsString]) -> Result<CostOptions, String> {
    let mut options = CostOptions {
        programs: Vec::new(),
        only: Vec::new(),
        servers: 60,
        windows: 20,
        seconds: 20,
        rounds: 5,
        slices: 20,
        callers: Vec::new(),
        quiet: Duration::ZERO,
    };
    let mut rest = arguments.iter().map(|word| word.to_str().unwrap_or_default());
    while let Some(argument) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse::<usize>().map_err(|_| format!("`{value}` is not a number\n\n{USAGE}"));
        match argument {
            "--as" => {
                let (name, file) = value.split_once('=').ok_or("--as wants NAME=FILE")?;
                let file = fs::canonicalize(file).map_err(|error| format!("{file}: {error}"))?;
                options.programs.push((name.to_owned(), file));
            }
            "--only" => options.only.push(value.to_owned()),
            "--servers" => options.servers = number()?,
            "--windows" => options.windows = number()?.max(4),
            "--seconds" => options.seconds = number()? as u64,
            "--rounds" => options.rounds = number()?,
            "--slices" => options.slices = number()?,
            "--callers" => options.callers.push(number()?),
            "--quiet" => options.quiet = Duration::from_secs(number()? as u64),
            _ => return Err(format!("unknown argument `{argument}`\n\n{USAGE}")),
        }
    }
    if options.programs.is_empty() {
        return Err(USAGE.to_owned());
    }
    if options.callers.is_empty() {
        options.callers = vec![1, 8, 64];
    }
    Ok(options)
}

fn run(options: &CostOptions) -> io::Result<()> {
    let is_wanted = |what: &str| options.only.is_empty() || options.only.iter().any(|wanted| wanted == what);
    println!("| program | figure | unit | target | value | verdict |");
    println!("|---|---|---|---|---|---|");
    for (name, program) in options.programs.iter().filter(|_| is_wanted("memory")) {
        memory(options, name, program)?;
    }
    for (name, program) in options.programs.iter().filter(|_| is_wanted("wakeups")) {
        wakeups(options, name, program)?;
    }
    if is_wanted("calls") {
        calls(options)?;
    }
    Ok(())
}

fn at_most(value: f64, limit: f64) -> &'static str {
    if value < limit { "PASS" } else { "MISSED" }
}

/// Opens windows one after the other, each of which lists all tools and calls one. The slope of the daemon's memory over
/// the second to the last window; the first also pays for what all share.
fn memory(options: &CostOptions, name: &str, program: &Path) -> io::Result<()> {
    let house = House::new(program, options.servers)?;
    let mut windows = vec![house.open()?];
    let daemon = house.daemon()?;
    let mut points = Vec::new();
    for number in 2..=options.windows {
        windows.push(house.open()?);
        if number == 2 || number == options.windows / 2 || number == options.windows {
            sleep(SETTLE_TIME);
            points.push((number as f64, daemon.memory()?));
        }
    }
    let (Some((first, least)), Some((last, most))) = (points.first(), points.last()) else {
        return Err(io::Error::other("too few windows"));
    };
    let per_window = |of: fn(&house::Memory) -> f64| (of(most) - of(least)) / (last - first);
    let (private, resident) =
        (per_window(|memory| memory.private_kib), per_window(|memory| memory.resident_kib));
    let (share, files) = (per_window(|memory| memory.share_kib), per_window(|memory| memory.files_kib));
    let servers = options.servers;
    println!(
        "| {name} | daemon, resident memory per window, {servers} servers | KiB | < {MAX_KIB_PER_WINDOW} | {resident:.0} | {} |",
        at_most(resident, MAX_KIB_PER_WINDOW)
    );
    println!("| {name} | the same, private | KiB | | {private:.0} | |");
    println!("| {name} | the same, proportional share | KiB | | {share:.0} | |");
    println!("| {name} | memory file of a window, mapped or not | KiB | | {files:.0} | |");
    for (windows, memory) in &points {
        println!(
            "| {name} | daemon with {windows} windows, resident | KiB | | {:.0} | |",
            memory.resident_kib
        );
    }
    house.close(windows)
}

/// Voluntary context switches of all threads, after the start.
fn wakeups(options: &CostOptions, name: &str, program: &Path) -> io::Result<()> {
    let house = House::new(program, 1)?;
    let window = house.open()?;
    let (daemon, attachment) = (house.daemon()?, house::Process(window.pid()));
    sleep(2 * SETTLE_TIME);
    let before = (daemon.switches()?, attachment.switches()?);
    sleep(Duration::from_secs(options.seconds));
    let after = (daemon.switches()?, attachment.switches()?);
    let rate = |before: u64, after: u64| (after - before) as f64 / options.seconds as f64;
    let (daemons, attachments) = (rate(before.0, after.0), rate(before.1, after.1));
    println!(
        "| {name} | idle daemon, one window, wake-ups | /s | < {MAX_DAEMON_WAKEUPS} | {daemons:.2} | {} |",
        at_most(daemons, MAX_DAEMON_WAKEUPS)
    );
    println!(
        "| {name} | idle attachment, wake-ups | /s | < {MAX_ATTACHMENT_WAKEUPS} | {attachments:.2} | {} |",
        at_most(attachments, MAX_ATTACHMENT_WAKEUPS)
    );
    house.close(vec![window])
}

/// Calls per second of each subject in one slice, starting with another subject each time. `None` if the machine was not
/// quiet in time.
fn slice_speeds(
    subjects: &mut [OpenWindow],
    slice: usize,
    (count, callers): (usize, usize),
    quiet: Duration,
) -> io::Result<Option<Vec<f64>>> {
    let mut speeds = vec![0.0; subjects.len()];
    let deadline = Instant::now() + quiet;
    loop {
        while !is_quiet()? && Instant::now() < deadline {}
        for step in 0..subjects.len() {
            let subject = (step + slice) % subjects.len();
            speeds[subject] = subjects[subject].calls_per_second(count, callers)?;
        }
        if Instant::now() >= deadline || is_quiet()? {
            break;
        }
    }
    let is_late = !quiet.is_zero() && Instant::now() >= deadline;
    Ok((!is_late).then_some(speeds))
}

/// Measures the pump and every program in turns, so that other load affects all alike. Ratios are per turn.
fn calls(options: &CostOptions) -> io::Result<()> {
    let mut ratios = vec![vec![Vec::new(); options.callers.len()]; options.programs.len()];
    let mut rates = vec![vec![Vec::new(); options.callers.len()]; options.programs.len() + 1];
    for _ in 0..options.rounds {
        let mut houses = Vec::new();
        let mut subjects = vec![OpenWindow::pump()?];
        for (_, program) in &options.programs {
            let house = House::new(program, 1)?;
            subjects.push(house.open()?);
            houses.push(house);
        }
        for (at, &callers) in options.callers.iter().enumerate() {
            let count = if callers == 1 { CALLS } else { CALLS_IN_FLIGHT };
            for subject in &mut subjects {
                subject.calls_per_second(count, callers)?;
            }
            for slice in 0..options.slices {
                let Some(speeds) = slice_speeds(&mut subjects, slice, (count, callers), options.quiet)?
                else {
                    continue;
                };
                rates.iter_mut().zip(&speeds).for_each(|(rates, speed)| rates[at].push(*speed));
                let programs = ratios.iter_mut().zip(&speeds[1..]);
                programs.for_each(|(ratios, speed)| ratios[at].push(speed / speeds[0]));
            }
        }
        for subject in subjects {
            subject.close()?;
        }
        for house in houses {
            house.close(Vec::new())?;
        }
    }
    for (at, callers) in options.callers.iter().enumerate() {
        println!("| pump | calls per second, {callers} in flight | /s | | {} | |", spread(&rates[0][at], 0));
        for (program, (name, _)) in options.programs.iter().enumerate() {
            println!(
                "| {name} | calls per second, {callers} in flight | /s | | {} | |",
                spread(&rates[program + 1][at], 0)
            );
            println!(
                "| {name} | of the pump's, {callers} in flight | × | ≥ {} | {} | |",
                if *callers == 1 {
                    0.8
                } else if *callers < 64 {
                    0.9
                } else {
                    1.0
                },
                spread(&ratios[program][at], 2)
            );
        }
    }
    Ok(())
}

/// Whether the processors are nearly idle while this program sleeps.
fn is_quiet() -> io::Result<bool> {
    let busy = || -> io::Result<(u64, u64)> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).filter_map(|ticks| ticks.parse().ok()).collect();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        Ok((ticks.iter().take(8).sum::<u64>() - idle, idle))
    };
    let before = busy()?;
    sleep(QUIET_SAMPLE);
    let after = busy()?;
    let (busy, idle) = (after.0 - before.0, after.1 - before.1);
    Ok(busy * 20 <= busy + idle)
}

fn spread(values: &[f64], digits: usize) -> String {
    let spread = Spread::of(values);
    spread.map_or_else(|| "not measured: never quiet".to_owned(), |spread| format!("{spread:.digits$}"))
}
