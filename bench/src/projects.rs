//! `projects`: one client that works on several projects, each with a real server-filesystem. Without Switchboard it has
//! a server for each of them, as every window of an IDE has; with it, one connection. How many processes is that, how
//! much memory, how much CPU time?

use crate::spawn::{self, Group};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: switchboard-bench projects --switchboard FILE --server FILE [--projects N] [--rounds N] [--calls N]
  --switchboard FILE   the program
  --server FILE        server-filesystem's JS file
  --projects N         how many projects (5)
  --rounds N           how often the client goes through them (4)
  --calls N            calls in a project before it goes on to the next (20)";

struct Options {
    switchboard: PathBuf,
    server: PathBuf,
    projects: usize,
    rounds: usize,
    calls: usize,
}

/// What was seen of all processes together.
#[derive(Default, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) processes: usize,
    pub(crate) nodes: usize,
    pub(crate) mib: f64,
}

struct Outcome {
    most: Seen,
    last: Seen,
    cpu: Duration,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let options = parse(arguments)?;
    let scratch = std::env::temp_dir().join(format!("switchboard-projects-{}", std::process::id()));
    let outcome = compare(&options, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    outcome.map_err(|error| format!("{error}"))
}

fn parse(arguments: &[OsString]) -> Result<Options, String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let value =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let number = |name: &str, default: usize| match value(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} is a number\n{USAGE}")),
        None => Ok(default),
    };
    Ok(Options {
        switchboard: value("--switchboard").ok_or(USAGE)?.into(),
        // Each server starts in another folder.
        server: fs::canonicalize(value("--server").ok_or(USAGE)?)
            .map_err(|error| format!("--server: {error}"))?,
        projects: number("--projects", 5)?,
        rounds: number("--rounds", 4)?,
        calls: number("--calls", 20)?,
    })
}

fn compare(options: &Options, scratch: &Path) -> std::io::Result<ExitCode> {
    let mut folders = Vec::new();
    for number in 1..=options.projects {
        let folder = scratch.join(format!("project-{number}"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("file.txt"), format!("the file of project {number}"))?;
        folders.push(folder.canonicalize()?);
    }
    let node: OsString = "node".into();
    let server: OsString = options.server.clone().into();
    let each = |folders: &[PathBuf]| -> Vec<Vec<OsString>> {
        folders.iter().map(|folder| vec![node.clone(), server.clone(), folder.clone().into()]).collect()
    };
    let config = scratch.join("config.json");
    let entry = json!({
        "command": "node",
        "args": [options.server, "${root}"],
        "rootArguments": ["path"],
    });
    fs::write(&config, json!({ "mcpServers": { "files": entry } }).to_string())?;
    let through = |most: usize, folders: &[PathBuf]| -> Vec<Vec<OsString>> {
        let mut argv: Vec<OsString> =
            vec![options.switchboard.clone().into(), "stdio".into(), "--solo".into()];
        argv.extend(["--server", "files", "--config"].map(OsString::from));
        argv.extend([config.clone().into(), "--max-backends".into(), most.to_string().into()]);
        for folder in folders {
            argv.extend(["--root".into(), folder.clone().into()]);
        }
        vec![argv]
    };
    let (few, all) = (3.min(options.projects), options.projects);
    let outcomes = [
        run(options, scratch, &folders, &each)?,
        run(options, scratch, &folders, &|folders| through(few, folders))?,
        run(options, scratch, &folders, &|folders| through(all, folders))?,
    ];
    let (projects, rounds, calls) = (options.projects, options.rounds, options.calls);
    println!(
        "| {projects} projects, {rounds} rounds of {calls} calls in each | without | at most {few} | at most {all} |"
    );
    println!("|---|---|---|---|");
    let row = |title: &str, value: &dyn Fn(&Outcome) -> String| {
        let [without, few, all] = outcomes.each_ref().map(value);
        println!("| {title} | {without} | {few} | {all} |");
    };
    row("node processes, at most", &|seen| seen.most.nodes.to_string());
    row("all processes, at most", &|seen| seen.most.processes.to_string());
    row("memory, at most (MiB)", &|seen| format!("{:.0}", seen.most.mib));
    row("memory at the end (MiB)", &|seen| format!("{:.0}", seen.last.mib));
    row("CPU time of all processes (s)", &|seen| format!("{:.2}", seen.cpu.as_secs_f64()));
    Ok(ExitCode::SUCCESS)
}

/// The client's work, by one way: as many connections as there are command lines, one for all projects or one each.
fn run(
    options: &Options,
    scratch: &Path,
    folders: &[PathBuf],
    argvs: &dyn Fn(&[PathBuf]) -> Vec<Vec<OsString>>,
) -> std::io::Result<Outcome> {
    let before = children_cpu();
    let mut connections = Vec::new();
    for argv in argvs(folders) {
        connections.push(Connection::open(&argv, scratch)?);
    }
    let roots: Vec<u32> = connections.iter().map(|connection| connection.child.id()).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let most = Arc::new(Mutex::new(Seen::default()));
    let watcher = std::thread::spawn({
        let (is_over, most, roots) = (is_over.clone(), most.clone(), roots.clone());
        move || {
            while !is_over.load(Ordering::Relaxed) {
                let seen = look(&roots);
                if let Ok(mut most) = most.lock() {
                    most.processes = most.processes.max(seen.processes);
                    most.nodes = most.nodes.max(seen.nodes);
                    most.mib = most.mib.max(seen.mib);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    for _ in 0..options.rounds {
        for (number, folder) in folders.iter().enumerate() {
            let which = number.min(connections.len() - 1);
            for _ in 0..options.calls {
                connections[which].read_file(&folder.join("file.txt"), number + 1)?;
            }
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    let last = look(&roots);
    is_over.store(true, Ordering::Relaxed);
    let _ = watcher.join();
    for connection in connections {
        connection.close()?;
    }
    let most = most.lock().map(|most| *most).unwrap_or_default();
    Ok(Outcome { most, last, cpu: children_cpu().saturating_sub(before) })
}

pub(crate) struct Connection {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Connection {
    fn open(argv: &[OsString], scratch: &Path) -> std::io::Result<Self> {
        Self::open_in(argv, scratch, None)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts it, greets it, and asks for its tools.
    pub(crate) fn open_in(argv: &[OsString], scratch: &Path, folder: Option<&Path>) -> std::io::Result<Self> {
        let mut child = spawn::piped_in(argv, Some(scratch), folder, Stdio::null(), Group::Shared)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipes"));
        };
        let mut connection = Self { child, input, output: BufReader::new(output), next: 0 };
        let info = json!({ "name": "projects", "version": "1" });
        connection.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info }),
        )?;
        writeln!(connection.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        connection.ask("tools/list", &json!({}))?;
        Ok(connection)
    }

    fn ask(&mut self, method: &str, params: &Value) -> std::io::Result<Value> {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.input, "{request}")?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err(std::io::Error::other(format!("no answer to {method}")));
            }
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == json!(self.next) {
                return Ok(answer);
            }
        }
    }

    /// How long each of so many small calls takes, one after the other.
    pub(crate) fn times_of_calls(&mut self, count: usize) -> std::io::Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(count);
        let mut line = Vec::new();
        for _ in 0..count {
            self.next += 1;
            let request = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/call\",\"params\":{{\"name\":\"tiny\",\"arguments\":{{}}}}}}\n",
                self.next
            );
            line.clear();
            let start = Instant::now();
            self.input.write_all(request.as_bytes())?;
            if self.output.read_until(b'\n', &mut line)? == 0 {
                return Err(std::io::Error::other("no answer to a small call"));
            }
            times.push(start.elapsed());
        }
        Ok(times)
    }

    fn read_file(&mut self, file: &Path, project: usize) -> std::io::Result<()> {
        let params = json!({ "name": "read_text_file", "arguments": { "path": file } });
        let answer = self.ask("tools/call", &params)?;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        match text == format!("the file of project {project}") {
            true => Ok(()),
            false => Err(std::io::Error::other(format!("a wrong answer for project {project}: {answer}"))),
        }
    }

    pub(crate) fn close(self) -> std::io::Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().map(drop)
    }
}

/// All processes below these, and they themselves.
pub(crate) fn look(roots: &[u32]) -> Seen {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        // The name stands in brackets, and may hold anything.
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        let parent = rest.split_whitespace().nth(1).and_then(|parent| parent.parse::<u32>().ok());
        let name = head.split_once('(').map(|(_, name)| name.to_owned()).unwrap_or_default();
        parents.push((pid, parent.unwrap_or(0), name));
    }
    let mut family: Vec<u32> = roots.to_vec();
    let mut seen = Seen::default();
    let mut at = 0;
    while at < family.len() {
        let pid = family[at];
        family.extend(parents.iter().filter(|(_, parent, _)| *parent == pid).map(|(pid, ..)| *pid));
        at += 1;
    }
    for (pid, _, name) in parents.iter().filter(|(pid, ..)| family.contains(pid)) {
        seen.processes += 1;
        seen.nodes += usize::from(is_node(name));
        seen.mib += share_mib(*pid);
    }
    seen
}

/// By the name of a process. Node names its main thread, and so itself.
pub(crate) fn is_node(name: &str) -> bool {
    matches!(name, "node" | "node-MainThread" | "MainThread")
}

/// The proportional share of memory: what processes share counts once.
pub(crate) fn share_mib(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    kib / 1024.0
}

/// The CPU time of all children that have ended, and of theirs.
fn children_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(')') else { return Duration::ZERO };
    let ticks: u64 =
        rest.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second wherever Linux runs.
    Duration::from_millis(ticks * 10)
}
