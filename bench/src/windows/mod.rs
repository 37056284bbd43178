//! `windows`: several windows with several real servers each, without Switchboard, and through one or more builds of it.
//!
//! - `four`: four node servers, 5 and 20 windows; the time to serve one more window.
//! - `folders`: windows in a folder each. `clients`: four well-known clients in one folder. Both with the twelve servers of
//!   `servers`; `compare` runs, counts and prints.

mod clients;
mod compare;
mod four;
mod servers;

use compare::{CompareOptions, Scenario};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: switchboard-bench windows --switchboard FILE --modules FOLDER
  four node servers, 5 and 20 windows
  --switchboard FILE   the program
  --modules FOLDER     the node_modules folder with server-everything and server-filesystem

       switchboard-bench windows folders --as NAME=FILE… [OPTIONS]
  windows in a folder each, with twelve real servers as one
       switchboard-bench windows clients --as NAME=FILE… [OPTIONS]
  Claude Code, Codex, Gemini CLI and a terminal in one folder, with the same servers
  --as NAME=FILE       a row of the table: a program, by any name; may be repeated
  --servers FOLDER     where scripts/bench-servers has installed the servers (bench/servers)
  --windows N          how many windows `folders` opens (5)
  --idle SECONDS       how long the CPU time of idle windows is measured (300)
  --auggie             auggie as one more server, from tests/real, with a login that leads nowhere
  --again              each program runs twice in the same home, and the second run counts: everything it learns is stored
  --skip-direct        no row `without switchboard`";

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let scenario = match arguments.first().and_then(|word| word.to_str()) {
        Some("folders") => Scenario::Folders,
        Some("clients") => Scenario::Clients,
        Some("--help" | "-h") => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        Some(_) | None => return four::main(arguments),
    };
    compare::run(scenario, &options(&arguments[1..])?).map_err(|error| error.to_string())
}

fn options(arguments: &[OsString]) -> Result<CompareOptions, String> {
    let mut options = CompareOptions {
        programs: Vec::new(),
        servers: PathBuf::from("bench/servers"),
        windows: 5,
        idle: Duration::from_secs(300),
        with_auggie: false,
        is_direct_skipped: false,
        is_second_run: false,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().and_then(|value| value.to_str()).ok_or_else(|| USAGE.to_owned());
        match argument.to_str() {
            Some("--as") => {
                let (name, file) = value()?.split_once('=').ok_or("--as wants NAME=FILE")?;
                options.programs.push((name.to_owned(), PathBuf::from(file)));
            }
            Some("--servers") => options.servers = PathBuf::from(value()?),
            Some("--windows") => options.windows = number(value()?)?,
            Some("--idle") => options.idle = Duration::from_secs(number(value()?)? as u64),
            Some("--auggie") => options.with_auggie = true,
            Some("--again") => options.is_second_run = true,
            Some("--skip-direct") => options.is_direct_skipped = true,
            Some(_) | None => return Err(format!("unknown argument {argument:?}\n\n{USAGE}")),
        }
    }
    Ok(options)
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number\n\n{USAGE}"))
}
