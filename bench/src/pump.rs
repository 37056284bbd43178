//! The floor: the least that a proxy in a process of its own can cost. Two threads copy bytes, one for each direction,
//! without parsing. No splice(2) either (`io::copy` would use it), since a proxy that must read its messages cannot.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{ExitCode, Stdio};
use std::thread;

use switchboard_testkit::client::Start;
use switchboard_testkit::fake::unbuffered;

const BUFFER: usize = 64 * 1024;

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let command = match arguments.split_first() {
        Some((dashes, command)) if dashes == "--" && !command.is_empty() => command,
        Some(_) | None => return Err("usage: switchboard-bench pump -- COMMAND ARGS…".to_owned()),
    };
    pump(command).map_err(|error| format!("pump: {error}"))
}

/// Ends when the child's stdout does: by then every request has been answered.
fn pump(command: &[OsString]) -> io::Result<ExitCode> {
    let mut child = Start::plain(command).stderr(Stdio::inherit()).spawn()?;
    let to_child = child.stdin.take().expect("stdin was asked to be a pipe");
    let from_child = child.stdout.take().expect("stdout was asked to be a pipe");
    let from_client = unbuffered(io::stdin())?;
    let to_client = unbuffered(io::stdout())?;

    // The thread is never joined: it may block in a read from a silent client. Its
    // end closes the child's stdin, which tells the child that the client has left.
    thread::spawn(move || copy(from_client, to_child));
    copy(from_child, to_client)?;

    let status = child.wait()?;
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
