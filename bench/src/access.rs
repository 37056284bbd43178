//! `access`: the cost of access control per call. Two solo windows on the same server take turns: the owner's, without any
//! limit; and that of a token with rights, a profile, limits on three levels, pinned tools and an audited call each. All
//! processes run on one processor: on two, the scheduler's choices differ by more than the checks cost.

use crate::caller::{Caller, listed};
use crate::one_processor::stay_on_one_processor;
use crate::procfs;
use crate::spread::Spread;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, ExitCode};
use switchboard_testkit::client::{Pipes, Program, Start};
use switchboard_testkit::scratch::Scratch;

const USAGE: &str = "\
usage: switchboard-bench access --switchboard FILE
  --switchboard FILE   the program";

const TURNS: usize = 80;
const CALLS: usize = 500;
/// Limit of the figure.
const MAX_ADDED_MICROSECONDS: f64 = 3.0;
/// High enough to refuse nothing.
const RATE: &str = "100000/s";

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let at = arguments.iter().position(|word| word == "--switchboard").ok_or(USAGE)?;
    let file = arguments.get(at + 1).ok_or(USAGE)?;
    let switchboard = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
    run(&switchboard).map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

/// A window, with its process.
struct MeasuredWindow {
    child: Child,
    caller: Caller<Pipes>,
}

impl MeasuredWindow {
    fn open(start: Start) -> io::Result<Self> {
        let (Program { child, pipes }, tools) = listed(start)?;
        let mut caller = Caller::of_tiny(pipes, tools);
        caller.first_calls()?;
        caller.tiny_calls(CALLS * 4, &mut Vec::new())?;
        Ok(Self { child, caller })
    }

    /// The median round trip of some calls and the CPU time of each, in microseconds.
    fn measure(&mut self) -> io::Result<[f64; 2]> {
        let mut times = Vec::with_capacity(CALLS);
        let before = procfs::cpu_ns(self.child.id())?;
        self.caller.tiny_calls(CALLS, &mut times)?;
        let spent = procfs::cpu_ns(self.child.id())? - before;
        times.sort_unstable();
        Ok([f64::from(times[times.len() / 2]) / 1e3, spent as f64 / 1e3 / CALLS as f64])
    }

    fn close(mut self) -> io::Result<()> {
        drop(self.caller);
        self.child.wait().map(drop)
    }
}

pub(crate) fn run(switchboard: &Path) -> io::Result<()> {
    stay_on_one_processor()?;
    let scratch = Scratch::new();
    let backend = json!({ "command": std::env::current_exe()?, "args": ["backend"] });
    let plain = json!({ "mcpServers": { "tiny": backend } });
    let plain = scratch.file("plain.json", plain.to_string());
    let guarded = scratch.file("guarded.json", guarded(backend).to_string());
    let start = |config: &Path| {
        Start::inside(&scratch, switchboard).args(["stdio", "--solo", "--config"]).arg(config)
    };
    let token = create_token(Start::inside(&scratch, switchboard))?;
    let mut owner = MeasuredWindow::open(start(&plain))?;
    let mut guest = MeasuredWindow::open(start(&guarded).env("SWITCHBOARD_TOKEN", token))?;
    let mut figures = AccessFigures::default();
    for turn in 0..TURNS {
        // The order alternates, since the second finds other caches.
        let (one, other) = if turn % 2 == 0 {
            let one = owner.measure()?;
            (one, guest.measure()?)
        } else {
            let other = guest.measure()?;
            (owner.measure()?, other)
        };
        figures.push(one, other);
    }
    owner.close()?;
    guest.close()?;
    check_audit(&scratch.home())?;
    figures.show();
    Ok(())
}

/// Fails unless the calls of the token, and only they, were recorded.
fn check_audit(home: &Path) -> io::Result<()> {
    let file = home.join(".local/state/switchboard/logs/audit.jsonl");
    let lines =
        fs::read_to_string(file)?.lines().filter(|line| line.contains(r#""identity":"bench""#)).count();
    match lines > TURNS * CALLS {
        true => Ok(()),
        false => Err(io::Error::other(format!("{lines} calls were recorded"))),
    }
}

/// The config with every check.
fn guarded(mut backend: Value) -> Value {
    backend["limits"] = json!({ "rate": RATE, "concurrent": 1000, "tools": { "ti*": RATE } });
    backend["pinning"] = "hold".into();
    let profile = json!({ "servers": ["tiny"], "tools": ["t*"], "methods": { "deny": ["tasks/*"] } });
    json!({
        "mcpServers": { "tiny": backend },
        "profiles": { "narrow": profile },
        "access": { "stdio": "token" },
        "audit": { "clients": "all", "maxBytes": "1GB" },
    })
}

/// The last word of the command's output.
fn create_token(start: Start) -> io::Result<String> {
    let rights = ["--servers", "tiny", "--tools", "*tiny*", "--profile", "narrow"];
    let limits = ["--rate", RATE, "--concurrent", "1000"];
    let made = start.args(["token", "create", "bench"]).args(rights).args(limits).start().finish();
    let text = String::from_utf8_lossy(&made.stdout);
    match text.split_whitespace().last() {
        Some(token) if made.code == Some(0) => Ok(token.to_owned()),
        Some(_) | None => Err(io::Error::other(format!("no token was created: {}", made.stderr))),
    }
}

#[derive(Default)]
struct AccessFigures {
    owner: [Vec<f64>; 2],
    guest: [Vec<f64>; 2],
    added: [Vec<f64>; 2],
}

impl AccessFigures {
    fn push(&mut self, owner: [f64; 2], guest: [f64; 2]) {
        for at in 0..2 {
            self.owner[at].push(owner[at]);
            self.guest[at].push(guest[at]);
            self.added[at].push(guest[at] - owner[at]);
        }
    }

    fn show(&self) {
        let spread = |values: &[f64]| Spread::of(values).expect("every figure has values");
        println!("| a call | unit | target | owner, no limits | token, all checks | added | verdict |");
        println!("|---|---|---|---|---|---|---|");
        for (at, name) in ["round trip, median", "CPU time of Switchboard"].into_iter().enumerate() {
            let added = spread(&self.added[at]);
            let verdict = if added.median <= MAX_ADDED_MICROSECONDS { "PASS" } else { "MISSED" };
            println!(
                "| {name} | µs | ≤ {MAX_ADDED_MICROSECONDS} | {} | {} | {added} | {verdict} |",
                spread(&self.owner[at]),
                spread(&self.guest[at]),
            );
        }
    }
}
