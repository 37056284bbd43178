//! Benchmarks of Switchboard, compared with no proxy and with the cheapest possible proxy.
//!
//! # Layout
//! - [`backend`]: `backend` and `soak-backend`, the servers of all measurements.
//! - [`caller`]: timed calls over one connection; [`callers`]: over many; [`listening`]: where to connect over HTTP.
//! - [`procfs`]: CPU time and memory of processes. [`spread`]: median and quartiles. [`one_processor`]: everything on one.
//! - [`pump`]: `pump`, the floor: two copy loops without parsing.
//! - [`aggregate`]: `aggregate`, the floor for many servers: a prefix is cut off, an id is swapped.
//! - [`bridge`]: `bridge`, the floor over HTTP: requests go to a server's pipe, with another id.
//! - [`projects`]: `projects`, one client on several projects, with and without Switchboard.
//! - [`windows`]: `windows`, several windows with several servers, with and without the daemon.
//! - [`run`]: `run`, `many`, `http` and `all`, the comparison of the floors with Switchboard.
//! - [`access`]: `access`, the cost of access control per call.
//! - [`eras`]: `eras`, legacy and modern pass-through on every front.
//! - [`attached`]: `attached`, the cost of sharing the daemon, per window.
//! - [`cost`]: `cost`, memory per window, wake-ups when idle, and calls per second in the default mode.
//! - [`soak`]: `soak`, clients, backends and the daemon killed at random for a long time.
//!
//! Must not use the gateway or the crates below it: Switchboard is measured from outside, with testkit's clients.

#![forbid(unsafe_code)]
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        reason = "the report is this program's output; the fronts' rule does not apply"
    )
)]
#![expect(clippy::print_stderr, reason = "a command line tool: what goes wrong is told on stderr")]

#[cfg(target_os = "linux")]
mod access;
#[cfg(target_os = "linux")]
mod aggregate;
#[cfg(target_os = "linux")]
mod attached;
#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod caller;
#[cfg(target_os = "linux")]
mod callers;
#[cfg(target_os = "linux")]
mod cost;
#[cfg(target_os = "linux")]
mod eras;
#[cfg(target_os = "linux")]
mod listening;
#[cfg(target_os = "linux")]
mod one_processor;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod projects;
#[cfg(target_os = "linux")]
mod pump;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod spread;
#[cfg(target_os = "linux")]
mod windows;

#[cfg(target_os = "linux")]
use run::Suite;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
const USAGE: &str = "\
usage: switchboard-bench run [OPTIONS]           compare direct, pump and switchboard
       switchboard-bench many [OPTIONS]          the same with ten servers behind one connection
       switchboard-bench http [OPTIONS]          one server, whose clients come over HTTP
       switchboard-bench all [OPTIONS]           one after the other
       switchboard-bench pump -- COMMAND ARGS…   the floor: copy bytes to COMMAND and back
       switchboard-bench aggregate --servers N -- COMMAND ARGS…
                                                 the floor of `many`: to N servers, by the tools' prefixes
       switchboard-bench bridge -- COMMAND ARGS… the floor of `http`: from HTTP to COMMAND, with other ids
       switchboard-bench backend [--modern] [--id-last] [--payload plain|code] [--tools N] [--name NAME]
                                                 the MCP server that all of them talk to
       switchboard-bench projects …              processes, memory and CPU time on several projects
       switchboard-bench soak …                  everybody is killed at random, for a long time
       switchboard-bench attached …              latency, start and memory of a window, next to `--solo`
       switchboard-bench eras …                  legacy and modern pass-through on every front
       switchboard-bench translated …            calls between the eras, next to calls that pass through
       switchboard-bench access …                rights, limits, pins and audit, per call
       switchboard-bench cost …                  memory per window, wake-ups when idle, calls/s in the default mode
       switchboard-bench windows …               the same of several windows with four servers each
       switchboard-bench windows folders|clients …
                                                 five windows, or four clients, with twelve real servers
`switchboard-bench run --help` lists the options.";

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<_> = arguments.collect();
    let outcome = match command.to_str() {
        Some("access") => access::main(&rest),
        Some("attached") => attached::main(&rest),
        Some("backend") => backend::main(&rest),
        Some("cost") => cost::main(&rest),
        Some("eras") => eras::main(&rest),
        Some("translated") => eras::translated::main(&rest),
        Some("pump") => pump::main(&rest),
        Some("projects") => projects::main(&rest),
        Some("windows") => windows::main(&rest),
        Some("run") => run::main(&[Suite::One], &rest),
        Some("many") => run::main(&[Suite::Many], &rest),
        Some("http") => run::main(&[Suite::Http], &rest),
        Some("all") => run::main(&[Suite::One, Suite::Many, Suite::Http], &rest),
        Some("aggregate") => aggregate::main(&rest),
        Some("bridge") => bridge::main(&rest),
        Some("soak") => soak::main(&rest),
        Some("soak-backend") => backend::soak(&rest),
        Some("--help" | "-h" | "help") => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        Some(_) | None => Err(USAGE.to_owned()),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::from(2)
    })
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("the comparison reads CPU time and memory from /proc: run it on Linux");
    ExitCode::from(2)
}
