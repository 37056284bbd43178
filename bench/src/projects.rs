//! `projects`: one client that works on several projects, each with a real server-filesystem. Without Switchboard it needs
//! one server per project, like every window of an IDE; with it, one connection. Compares processes, memory and CPU
//! time.

use crate::caller::listed;
use crate::procfs::{Family, ended_cpu};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use switchboard_testkit::client::{Program, Start};
use switchboard_testkit::scratch::Scratch;

const USAGE: &str = "\
usage: switchboard-bench projects --switchboard FILE --server FILE [--projects N] [--rounds N] [--calls N]
  --switchboard FILE   the program
  --server FILE        server-filesystem's JS file
  --projects N         how many projects (5)
  --rounds N           how often the client goes through them (4)
  --calls N            calls in a project before it goes on to the next (20)";

struct ProjectsOptions {
    switchboard: PathBuf,
    server: PathBuf,
    projects: usize,
    rounds: usize,
    calls: usize,
}

struct Outcome {
    most: Family,
    last: Family,
    cpu: Duration,
}

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let options = parse(arguments)?;
    compare(&options, &Scratch::new()).map_err(|error| error.to_string())
}

fn parse(arguments: &[OsString]) -> Result<ProjectsOptions, String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let value =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1)).cloned();
    let number = |name: &str, default: usize| match value(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} is a number\n{USAGE}")),
        None => Ok(default),
    };
    Ok(ProjectsOptions {
        switchboard: value("--switchboard").ok_or(USAGE)?.into(),
        // Each server starts in another folder.
        server: fs::canonicalize(value("--server").ok_or(USAGE)?)
            .map_err(|error| format!("--server: {error}"))?,
        projects: number("--projects", 5)?,
        rounds: number("--rounds", 4)?,
        calls: number("--calls", 20)?,
    })
}

fn compare(options: &ProjectsOptions, scratch: &Scratch) -> io::Result<ExitCode> {
    let mut folders = Vec::new();
    for number in 1..=options.projects {
        let folder = scratch.folder(&format!("project-{number}"));
        fs::write(folder.join("file.txt"), format!("the file of project {number}"))?;
        folders.push(folder);
    }
    let node: OsString = "node".into();
    let server: OsString = options.server.clone().into();
    let each = |folders: &[PathBuf]| -> Vec<Vec<OsString>> {
        folders.iter().map(|folder| vec![node.clone(), server.clone(), folder.clone().into()]).collect()
    };
    let entry = json!({
        "command": "node",
        "args": [options.server, "${root}"],
        "rootArguments": ["path"],
    });
    let config = scratch.file("config.json", json!({ "mcpServers": { "files": entry } }).to_string());
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

/// The client's work: with one connection for all projects, or one for each, one per command line.
fn run(
    options: &ProjectsOptions,
    scratch: &Scratch,
    folders: &[PathBuf],
    argvs: &dyn Fn(&[PathBuf]) -> Vec<Vec<OsString>>,
) -> io::Result<Outcome> {
    let before = ended_cpu();
    let mut programs = Vec::new();
    for argv in argvs(folders) {
        programs.push(listed(Start::inside(scratch, &argv[0]).args(&argv[1..]))?.0);
    }
    let roots: Vec<u32> = programs.iter().map(Program::pid).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let (is_over, roots) = (is_over.clone(), roots.clone());
        move || {
            let mut most = Family::default();
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(Family::below(&roots));
                std::thread::sleep(Duration::from_millis(50));
            }
            most
        }
    });
    for _ in 0..options.rounds {
        for (number, folder) in folders.iter().enumerate() {
            let which = number.min(programs.len() - 1);
            for _ in 0..options.calls {
                read_file(&mut programs[which], &folder.join("file.txt"), number + 1)?;
            }
        }
    }
    std::thread::sleep(Duration::from_secs(1));
    let last = Family::below(&roots);
    is_over.store(true, Ordering::Relaxed);
    let most = watcher.join().unwrap_or_default();
    for program in programs {
        program.close()?;
    }
    Ok(Outcome { most, last, cpu: ended_cpu().saturating_sub(before) })
}

fn read_file(program: &mut Program, file: &Path, project: usize) -> io::Result<()> {
    let params = json!({ "name": "read_text_file", "arguments": { "path": file } });
    let answer = program.request("tools/call", params)?;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    match text == format!("the file of project {project}") {
        true => Ok(()),
        false => Err(io::Error::other(format!("a wrong answer for project {project}: {answer}"))),
    }
}
