//! The soak: for a long time clients, backends and a daemon are killed at random, under load. No request may be lost without
//! an error, misdelivered or executed twice; no process may be left, and no resource may grow.
//!
//! # Layout
//! - [`window`]: one client and its attachment; its requests and answers.
//! - [`chaos`]: the kills. [`census`]: running processes and their resources.
//!
//! There are two daemons, for two configs: one that is killed too, and one that is not, which is watched for growth.

mod census;
mod chaos;
mod window;

use census::Census;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use switchboard_testkit::scratch::Scratch;

pub(crate) const HELP: &str = "\
usage: switchboard-bench soak --switchboard PATH [--minutes N] [--seed N]";

const WINDOWS_PER_DAEMON: usize = 6;
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Time without kills at the end.
const CALM_TIME: Duration = Duration::from_secs(4);
/// Time limit for everything to end after the last client: the linger, and the daemon's own second, on a busy machine.
const END_TIMEOUT: Duration = Duration::from_secs(15);

/// The counters.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Windows,
    Requests,
    Answers,
    Errors,
    Cancelled,
    /// Requests open when their own client was killed.
    Abandoned,
    Lost,
    Wrong,
    Progress,
    KilledClients,
    KilledBackends,
    KilledDaemons,
}

/// Labels in the order of [`Count`].
#[rustfmt::skip]
const COUNTED: [&str; 12] = [
    "windows", "requests", "answers", "errors", "cancelled", "abandoned", "LOST", "WRONG", "progress", "clients killed",
    "backends killed", "daemons killed",
];

#[derive(Default)]
pub(crate) struct Counters([AtomicU64; COUNTED.len()]);

impl Counters {
    pub(crate) fn add(&self, what: Count) {
        self.0[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self, what: Count) -> u64 {
        self.0[what as usize].load(Ordering::Relaxed)
    }

    fn line(&self) -> String {
        let counted = self.0.iter().zip(COUNTED);
        let counted = counted.map(|(count, name)| format!("{} {name}", count.load(Ordering::Relaxed)));
        counted.collect::<Vec<_>>().join(", ")
    }
}

/// State that all threads share.
pub(crate) struct World {
    pub(crate) switchboard: PathBuf,
    pub(crate) scratch: Scratch,
    pub(crate) seed: u64,
    pub(crate) is_over: AtomicBool,
    /// Whether kills are over: at the end all killed processes have been replaced.
    pub(crate) is_calm: AtomicBool,
    pub(crate) counters: Counters,
}

impl World {
    /// The config of a daemon that is killed, or of the one that is not.
    pub(crate) fn config(&self, is_rough: bool) -> PathBuf {
        self.scratch.join(if is_rough { "rough.json" } else { "steady.json" })
    }

    /// Reports an error that must not happen.
    pub(crate) fn complain(&self, of: Count, text: &str) {
        self.counters.add(of);
        eprintln!("  {text}");
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// SplitMix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let (mut switchboard, mut minutes, mut seed) = (None, 60.0_f64, u64::from(std::process::id()));
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value =
            rest.next().ok_or_else(|| format!("{} wants a value\n{HELP}", argument.to_string_lossy()))?;
        let number = || value.to_str().unwrap_or_default();
        match argument.to_str() {
            Some("--switchboard") => switchboard = Some(PathBuf::from(value)),
            Some("--minutes") => minutes = number().parse().map_err(|_| HELP.to_owned())?,
            Some("--seed") => seed = number().parse().map_err(|_| HELP.to_owned())?,
            _ => return Err(HELP.to_owned()),
        }
    }
    let switchboard = switchboard.ok_or_else(|| HELP.to_owned())?;
    let switchboard =
        switchboard.canonicalize().map_err(|error| format!("{}: {error}", switchboard.display()))?;
    let (scratch, is_over, is_calm) = (Scratch::new(), AtomicBool::new(false), AtomicBool::new(false));
    let world = World { switchboard, scratch, seed, is_over, is_calm, counters: Counters::default() };
    furnish(&world).map_err(|error| error.to_string())?;
    println!("soak of {minutes} minutes in {}, seed {seed}", world.scratch.path().display());
    let faults = run(&world, Duration::from_secs_f64(minutes * 60.0));
    if faults.is_empty() {
        println!("nothing lost, misdelivered, repeated, left or grown");
        return Ok(ExitCode::SUCCESS);
    }
    faults.iter().for_each(|fault| println!("FAULT: {fault}"));
    println!("logs are in {}", world.scratch.path().display());
    world.scratch.keep();
    Ok(ExitCode::FAILURE)
}

/// Workspaces, and the two configs.
fn furnish(world: &World) -> std::io::Result<()> {
    for name in ["0", "1", "2"] {
        world.scratch.folder(name);
    }
    let own = std::env::current_exe()?;
    for is_rough in [true, false] {
        let done = world.scratch.join(if is_rough { "rough.done" } else { "steady.done" });
        let server = serde_json::json!({ "command": own, "args": ["soak-backend", done], "maxInFlight": 64 });
        let config =
            serde_json::json!({ "mcpServers": { "soak": server }, "linger": "500ms", "shutdownGrace": "1s" });
        fs::write(world.config(is_rough), config.to_string())?;
    }
    Ok(())
}

fn run(world: &World, time: Duration) -> Vec<String> {
    let began = Instant::now();
    let mut census = Census::default();
    std::thread::scope(|scope| {
        for number in 0..2 * WINDOWS_PER_DAEMON {
            scope.spawn(move || window::live(world, number, number % 2 == 0));
        }
        scope.spawn(|| chaos::reign(world));
        let mut told = Instant::now();
        while began.elapsed() < time {
            std::thread::sleep(SAMPLE_INTERVAL);
            world.is_calm.store(began.elapsed() + CALM_TIME > time, Ordering::Relaxed);
            census.take(world);
            if told.elapsed() > time / 12 {
                told = Instant::now();
                println!("{:>5} s: {}; {}", began.elapsed().as_secs(), census.last(), world.counters.line());
            }
        }
        world.is_over.store(true, Ordering::Relaxed);
    });
    println!("{:>5} s: {}", began.elapsed().as_secs(), world.counters.line());
    println!("the steady daemon: {}", census.story());
    let mut faults = census.growth();
    let counters = &world.counters;
    for (count, what) in [(Count::Lost, "requests lost without an error"), (Count::Wrong, "wrong answers")] {
        if counters.get(count) > 0 {
            faults.push(format!("{} {what}", counters.get(count)));
        }
    }
    if counters.get(Count::Answers) < counters.get(Count::Requests) / 2 {
        faults.push("most requests came to nothing".to_owned());
    }
    faults.extend(left(world));
    faults.extend(["rough.done", "steady.done"].iter().filter_map(|name| twice(&world.scratch.join(name))));
    faults
}

/// Processes and files left after the last client.
fn left(world: &World) -> Vec<String> {
    let deadline = Instant::now() + END_TIMEOUT;
    while !census::all(world).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut left: Vec<String> =
        census::all(world).iter().map(|pid| format!("left: {}", census::show(*pid))).collect();
    let files = fs::read_dir(world.scratch.join("run/switchboard")).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    left.extend(
        names
            .filter(|name| !name.ends_with("lock") && !name.ends_with("start"))
            .map(|name| format!("left: {name}")),
    );
    left
}

/// Calls that backends received twice.
fn twice(done: &Path) -> Option<String> {
    let text = fs::read_to_string(done).unwrap_or_default();
    let mut tags: Vec<&str> = text.lines().collect();
    tags.sort_unstable();
    let count = tags.windows(2).filter(|pair| pair[0] == pair[1]).count();
    (count > 0).then(|| format!("{count} of {} calls were handed over twice", tags.len()))
}
