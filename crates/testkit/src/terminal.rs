//! The program in a terminal: its three streams are a pseudo-terminal, whose other end the test reads. Overwritten text
//! stays in the output: it is the bytes written, not the final screen.

use crate::monitor::Monitor;
use crate::patience;
use crate::scratch::Scratch;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::JoinHandle;

const ROWS: u16 = 50;

/// Ends the program when it is dropped.
pub struct Terminal {
    child: Child,
    keyboard: File,
    written: Arc<Monitor<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
    scratch: Scratch,
}

impl Terminal {
    #[track_caller]
    pub(crate) fn start(mut command: Command, scratch: Scratch, columns: u16) -> Self {
        let ours = open(columns).unwrap_or_else(|error| panic!("no terminal: {error}"));
        let theirs = other_end(&ours).unwrap_or_else(|error| panic!("no other end of a terminal: {error}"));
        let copy = |file: &File| file.try_clone().unwrap_or_else(|error| panic!("no descriptor: {error}"));
        command.stdin(copy(&theirs)).stdout(copy(&theirs)).stderr(theirs);
        #[expect(
            clippy::disallowed_methods,
            reason = "this plays a shell, which starts us; dropping it cleans up"
        )]
        let child = command.spawn().unwrap_or_else(|error| panic!("the program cannot be started: {error}"));
        // Copies of the other end would keep the terminal open.
        drop(command);
        let written = Arc::default();
        let reading = Some(listen(copy(&ours), Arc::clone(&written)));
        Self { child, keyboard: ours, written, reading, scratch }
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// All output so far, with plain line ends.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock()).replace("\r\n", "\n")
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        patience::until_true(format!("{text:?} on the terminal: {:?}", self.text()), || {
            self.text().contains(text)
        });
    }

    /// Types this text.
    #[track_caller]
    pub fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap_or_else(|error| panic!("nobody reads: {error}"));
    }

    /// Waits for the program's end; returns its exit code and all output.
    #[track_caller]
    pub fn finish(&mut self) -> (Option<i32>, String) {
        let ended = patience::until("the program ends", || self.child.try_wait().ok().flatten());
        if let Some(reading) = self.reading.take() {
            // The reader ends when the last of the program's descriptors is closed.
            patience::until_true("the terminal is read to its end", || reading.is_finished());
        }
        (ended.code(), self.text())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(columns: u16) -> rustix::io::Result<File> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok(File::from(ours))
}

fn other_end(ours: &File) -> std::io::Result<File> {
    let name = ptsname(ours, Vec::new())?;
    let path = name.to_str().map_err(std::io::Error::other)?;
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path)
}

/// Reads until the other end is closed.
fn listen(mut ours: File, written: Arc<Monitor<Vec<u8>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = ours.read(&mut buffer) {
            written.lock().extend_from_slice(&buffer[..count]);
        }
    })
}
