//! The one place of the benchmark that starts a process. It knows nothing of what is started.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// In whose process group a child runs.
#[derive(Clone, Copy)]
pub(crate) enum Group {
    /// Ours: a signal to us reaches the child too.
    Shared,
    /// Its own, so that the child and all that it started can be killed at once by its pid.
    Own,
}

/// Starts `argv` in the folder that we are in.
pub(crate) fn piped(
    argv: &[OsString],
    state: Option<&Path>,
    stderr: Stdio,
    group: Group,
) -> io::Result<Child> {
    piped_in(argv, state, None, stderr, group)
}

/// Starts `argv` with its stdin and stdout on pipes that we hold the other ends of. What Switchboard leaves lies below
/// the folder `state`.
#[expect(
    clippy::disallowed_methods,
    reason = "the benchmark must not use crates/process: it would measure what it is measured with"
)]
pub(crate) fn piped_in(
    argv: &[OsString],
    state: Option<&Path>,
    folder: Option<&Path>,
    stderr: Stdio,
    group: Group,
) -> io::Result<Child> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    if let Some(folder) = state {
        command.env("SWITCHBOARD_STATE_DIR", folder.join("state")).env("XDG_RUNTIME_DIR", folder.join("run"));
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    match group {
        Group::Shared => {}
        Group::Own => {
            command.process_group(0);
        }
    }
    command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {}: {error}", program.to_string_lossy()))
    })
}

/// Starts `argv` as an IDE would, for a window on `folder`, with a home and a runtime folder in `house`.
#[expect(
    clippy::disallowed_methods,
    reason = "the benchmark must not use crates/process: it would measure what it is measured with"
)]
pub(crate) fn window(
    argv: &[&std::ffi::OsStr],
    house: &Path,
    folder: &Path,
    stderr: Stdio,
    group: Group,
) -> io::Result<Child> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", house.join("home")).env("XDG_RUNTIME_DIR", house.join("r"));
    command.env("SWITCHBOARD_STATE_DIR", house.join("state"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    match group {
        Group::Shared => {}
        Group::Own => {
            command.process_group(0);
        }
    }
    command.spawn()
}

/// Starts `argv` in a folder with these variables and no others.
#[expect(
    clippy::disallowed_methods,
    reason = "the benchmark must not use crates/process: it would measure what it is measured with"
)]
pub(crate) fn with_environment(
    argv: &[OsString],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    folder: &Path,
) -> io::Result<Child> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear().envs(variables);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {}: {error}", program.to_string_lossy()))
    })
}
