//! `fake-backend`: an MCP server that plays, on demand, the faults that real servers show rarely.
//!
//! What concerns the whole process is chosen by options (`options.rs`); what concerns one call is chosen by the
//! call itself: the tools (`tools.rs`) are named after the fault. Everything it hears is written down.
//!
//! Never to be used for anything but tests: it does what its client says, including its own end.

#![deny(unsafe_code)]

mod options;
mod offer;
mod server;
mod template;
mod tools;
mod wire;
#[cfg(target_os = "linux")]
mod zoo;

use options::{Framing, Options};
use server::Server;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Whatever happens to the test, this process does not outlive it by more than this.
const LIFETIME: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let [role, kind, folder] = &std::env::args().skip(1).collect::<Vec<_>>()[..]
        && matches!(role.as_str(), "--parent" | "--member")
        && let Some(kind) = zoo::Kind::named(kind)
    {
        zoo::live(role, kind, folder.as_ref());
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fake-backend: {error}");
            return ExitCode::from(64);
        }
    };
    std::thread::spawn(|| {
        std::thread::sleep(LIFETIME);
        std::process::exit(99);
    });
    let (launch, record) = wire::Record::open(options.record.as_deref());
    if let Some(text) = &options.stderr {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    if let Some(code) = options.exit_at_start.filter(|_| options.is_faulty(launch)) {
        return ExitCode::from(code);
    }
    if options.never_read && options.is_faulty(launch) {
        wire::rest_for_ever();
    }
    #[cfg(target_os = "linux")]
    if options.stubborn {
        zoo::ignore_requests_to_end();
    }
    #[cfg(target_os = "linux")]
    let _lock = options
        .record
        .as_deref()
        .filter(|_| !options.with.is_empty())
        .map(|record| zoo::open(record, launch, &options.with));
    let mut hear = wire::LearntDialect::new(options.framing == Framing::ContentLength, record);
    let mut server = Server::new(options, launch);
    server.begin();
    while let Some(message) = hear.next() {
        server.heard(&message);
        if server.is_deaf() {
            wire::rest_for_ever();
        }
    }
    server.end()
}
