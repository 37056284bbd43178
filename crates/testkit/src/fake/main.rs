//! `fake-backend`: the library's fake server as a program, and the processes that it may leave behind.

#![deny(unsafe_code)]

#[cfg(target_os = "linux")]
mod zoo;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use switchboard_testkit::fake::{self, Options, Record};

/// Upper limit of its life, even if the test fails.
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
        Err(error) => return usage(&error),
    };
    fake::exit_after(LIFETIME);
    let (launch, record) = Record::open(options.record.as_deref());
    if let Some(text) = &options.stderr {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    if let Some(code) = options.exit_at_start.filter(|_| options.is_faulty(launch)) {
        return ExitCode::from(code);
    }
    if options.never_read && options.is_faulty(launch) {
        fake::rest_for_ever();
    }
    #[cfg(target_os = "linux")]
    if options.stubborn {
        zoo::ignore_requests_to_end();
    }
    #[cfg(target_os = "linux")]
    let _lock = match zoo::Kind::all_named(&options.with) {
        Ok(kinds) if kinds.is_empty() => None,
        Ok(kinds) => options.record.as_deref().map(|record| zoo::open(record, launch, &kinds)),
        Err(error) => return usage(&error),
    };
    fake::serve(options, launch, record)
}

fn usage(error: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "fake-backend: {error}");
    ExitCode::from(64)
}
