//! `fake-ide`: a client in a process of its own, so that a test can kill it.
//!
//! `fake-ide FOLDER [--leak] -- COMMAND …` starts the command as an IDE would, greets it, starts another
//! process beside it, and then does nothing. In the folder it leaves `program` and `sibling`, their process
//! ids, and then `greeted`. With `--leak` the sibling holds the write end of the command's stdin, as happens
//! where a program starts several others and its pipes are inherited.

#![forbid(unsafe_code)]

use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Whatever happens to the test, neither this process nor its sibling lives longer.
const LIFETIME: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut halves = words.splitn(2, |word| word == "--");
    let (own, command) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let (folder, leaks) = match own {
        [folder] => (Path::new(folder), false),
        [folder, flag] if flag == "--leak" => (Path::new(folder), true),
        _ => return Err("fake-ide FOLDER [--leak] -- COMMAND …".into()),
    };
    let (name, args) = command.split_first().ok_or("a command is missing")?;

    let mut program = spawn(Command::new(name).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let (Some(mut stdin), Some(stdout)) = (program.stdin.take(), program.stdout.take()) else {
        unreachable!("both were asked to be pipes");
    };
    note(folder, "program", program.id())?;
    let who = json!({ "name": "fake-ide", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    writeln!(stdin, "{greeting}")?;
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut String::new())?;
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;

    let mut sibling = Command::new("sleep");
    sibling.arg(LIFETIME.as_secs().to_string()).stdin(Stdio::null()).stderr(Stdio::null());
    sibling.stdout(if leaks { second(&stdin)? } else { Stdio::null() });
    note(folder, "sibling", spawn(&mut sibling)?.id())?;
    note(folder, "greeted", 1)?;
    std::thread::sleep(LIFETIME);
    Ok(())
}

fn spawn(command: &mut Command) -> std::io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "this plays an IDE; the test that kills it cleans up")]
    command.spawn()
}

/// The same end of the pipe once more.
fn second(stdin: &ChildStdin) -> std::io::Result<Stdio> {
    #[cfg(unix)]
    let end = std::os::fd::AsFd::as_fd(stdin).try_clone_to_owned()?;
    #[cfg(windows)]
    let end = std::os::windows::io::AsHandle::as_handle(stdin).try_clone_to_owned()?;
    Ok(end.into())
}

/// Under another name first: a reader sees the whole number or nothing.
fn note(folder: &Path, name: &str, number: u32) -> std::io::Result<()> {
    let draft = folder.join(format!("{name}.draft"));
    fs::write(&draft, number.to_string())?;
    fs::rename(draft, folder.join(name))
}
