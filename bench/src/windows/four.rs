//! Several windows, each with four real node servers, with and without Switchboard's daemon. Measures the number of
//! processes, memory, the time to serve one more window, and the size of an attachment.

use super::USAGE;
use crate::attached;
use crate::caller::listed;
use crate::procfs::{self, Family};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Program, Start};
use switchboard_testkit::daemons;
use switchboard_testkit::scratch::Scratch;

/// Further windows, opened to measure how soon they are served.
const TIMES: usize = 21;

struct Setting {
    switchboard: PathBuf,
    scratch: Scratch,
    config: PathBuf,
    /// Names and command lines of the servers.
    servers: Vec<(&'static str, Vec<OsString>)>,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let value =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let canonical = |text: String| fs::canonicalize(&text).map_err(|error| format!("{text}: {error}"));
    let switchboard = canonical(value("--switchboard").ok_or(USAGE)?)?;
    let modules = canonical(value("--modules").ok_or(USAGE)?)?;
    compare(&setting(switchboard, &modules)).map_err(|error| error.to_string())
}

/// Four servers: three that serve all roots of a client with one instance, and one with an instance for each.
fn setting(switchboard: PathBuf, modules: &Path) -> Setting {
    let scratch = Scratch::new();
    let everything = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    let filesystem = modules.join("@modelcontextprotocol/server-filesystem/dist/index.js");
    let node = |args: &[&Path]| -> Vec<OsString> {
        std::iter::once("node".into()).chain(args.iter().map(|arg| (*arg).into())).collect()
    };
    let servers = vec![
        ("one", node(&[&everything])),
        ("two", node(&[&everything])),
        ("three", node(&[&filesystem, Path::new("/tmp")])),
        ("four", node(&[&filesystem, Path::new("${root}")])),
    ];
    let entry = |argv: &[OsString]| {
        let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        json!({ "command": words[0], "args": words[1..] })
    };
    let entries: serde_json::Map<String, Value> =
        servers.iter().map(|(name, argv)| ((*name).to_owned(), entry(argv))).collect();
    let config = scratch.file("config.json", json!({ "linger": "2s", "mcpServers": entries }).to_string());
    Setting { switchboard, scratch, config, servers }
}

impl Setting {
    fn start(&self, (name, argv): &(&str, Vec<OsString>), folder: &Path, is_direct: bool) -> Start {
        let start = match is_direct {
            true => {
                let fill = |word: &OsString| if word == "${root}" { folder.into() } else { word.clone() };
                Start::inside(&self.scratch, &argv[0]).args(argv[1..].iter().map(fill))
            }
            false => {
                let start = Start::inside(&self.scratch, &self.switchboard).args(["stdio", "--config"]);
                start.arg(&self.config).args(["--server", name])
            }
        };
        start.cwd(folder)
    }

    /// All processes of these windows, and of the daemon.
    fn count(&self, windows: &[Program]) -> Family {
        let mut roots: Vec<u32> = windows.iter().map(Program::pid).collect();
        roots.extend(daemons::of(self.scratch.path()));
        Family::below(&roots)
    }
}

fn compare(setting: &Setting) -> io::Result<ExitCode> {
    println!("| windows, projects, servers | | processes | node processes | memory (MiB) |");
    println!("|---|---|---|---|---|");
    for (windows, projects) in [(5, 3), (20, 1)] {
        for is_direct in [true, false] {
            let mut programs = Vec::new();
            for window in 0..windows {
                let folder = setting.scratch.folder(&format!("project-{}", window % projects));
                for server in &setting.servers {
                    programs.push(listed(setting.start(server, &folder, is_direct))?.0);
                }
            }
            let Family { processes, nodes, mib } = setting.count(&programs);
            let way = if is_direct { "without" } else { "with switchboard" };
            let servers = setting.servers.len();
            println!("| {windows}, {projects}, {servers} | {way} | {processes} | {nodes} | {mib:.0} |");
            if !is_direct && windows == 20 {
                warm(setting, &programs[0])?;
            }
            for program in programs {
                program.close()?;
            }
            std::thread::sleep(Duration::from_secs(4));
        }
    }
    println!();
    attached::run(&setting.switchboard)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a further window while all servers run already.
fn warm(setting: &Setting, open: &Program) -> io::Result<()> {
    let folder = setting.scratch.join("project-0");
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let (start, started) = (setting.start(&setting.servers[0], &folder, false), Instant::now());
        let (window, _) = listed(start)?;
        times.push(started.elapsed());
        window.close()?;
    }
    times.sort();
    let middle = times[times.len() / 2].as_secs_f64() * 1e3;
    println!();
    println!(
        "one more window, from its start to the answered tools/list: {middle:.1} ms (median of {TIMES})"
    );
    println!("an attachment, resident: {:.2} MiB", procfs::resident_mib(open.pid())?);
    println!();
    Ok(())
}
