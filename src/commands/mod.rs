//! One file per command.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod example_server;
pub(crate) mod help;
pub(crate) mod schema;
pub(crate) mod stdio;
pub(crate) mod trust;

use std::ffi::OsString;

/// The environment, as the gateway's functions want to be given it.
fn vars(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Writes to stdout what the user asked to see.
fn print(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        // `switchboard schema | head` is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Without a home folder the state goes where temporary files go: it is never a reason not to serve.
fn state_folder() -> std::path::PathBuf {
    let known = switchboard_gateway::config::folders::state_dir(&vars);
    known.unwrap_or_else(|_| switchboard_gateway::temporary_state_folder())
}
