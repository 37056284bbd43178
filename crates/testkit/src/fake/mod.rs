//! An MCP server over stdio that produces, on demand, faults that are rare in real servers; or, for measurements, answers
//! as fast as possible. Only for tests: a client can make it do anything, including its own end.
//!
//! # Layout
//! - [`options`]: behaviour of the whole process, chosen by its command line.
//! - `server`: the methods that every server has.
//! - `tools`: behaviour of one call; tools are named after the fault. `template`: texts to be written to the byte.
//! - `modern`: the methods and tools of the modern era (`--era`). `tasks`: its tasks extension.
//! - `offer`: lists and capabilities from a file.
//! - `stdio`: the standard streams, and a record of the input.
//! - `fast`: a few tools for measurements, answered without parsing.

pub mod options;
mod server;
mod tools;
mod template;
mod modern;
mod tasks;
mod offer;
mod stdio;
#[cfg(unix)]
mod fast;

#[cfg(unix)]
pub use fast::{Fast, unbuffered};
pub use options::Options;
pub use server::Server;
pub use stdio::{Record, rest_for_ever};

use options::Framing;
use std::process::ExitCode;
use std::time::Duration;
use stdio::Input;

/// Serves until the end of the input.
pub fn serve(options: Options, launch: u32, record: Record) -> ExitCode {
    let mut input = Input::new(options.framing == Framing::ContentLength, record);
    let mut server = Server::new(options, launch);
    server.begin();
    while let Some(message) = input.next() {
        server.heard(&message);
        if server.is_deaf() {
            rest_for_ever();
        }
    }
    server.end()
}

/// Ends this process after the time limit, with exit code 99.
pub fn exit_after(lifetime: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(lifetime);
        std::process::exit(99);
    });
}
