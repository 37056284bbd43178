//! The fake server's standard streams, and the record of its input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Stdin, Write};
use std::path::Path;

/// A copy of the input, byte for byte.
pub struct Record(Option<File>);

impl Record {
    /// Opens the record. Also returns the number of this process among those started with the same folder.
    pub fn open(folder: Option<&Path>) -> (u32, Self) {
        let Some(folder) = folder else { return (1, Self(None)) };
        let _ = fs::create_dir_all(folder);
        for launch in 1.. {
            let heard = folder.join(format!("{launch}.heard"));
            match OpenOptions::new().create_new(true).write(true).open(heard) {
                Ok(file) => {
                    // A temporary name first: a reader sees the whole number or nothing.
                    let draft = folder.join(format!("{launch}.draft"));
                    let pid = folder.join(format!("{launch}.pid"));
                    let _ = fs::write(&draft, std::process::id().to_string())
                        .and_then(|()| fs::rename(&draft, pid));
                    return (launch, Self(Some(file)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => break,
            }
        }
        (1, Self(None))
    }

    fn append(&mut self, bytes: &[u8]) {
        if let Some(file) = &mut self.0 {
            let _ = file.write_all(bytes);
        }
    }
}

/// Reads messages from stdin.
pub(super) struct Input {
    stdin: BufReader<Stdin>,
    wants_headers: bool,
    record: Record,
}

impl Input {
    pub(super) fn new(wants_headers: bool, record: Record) -> Self {
        Self { stdin: BufReader::with_capacity(256 << 10, io::stdin()), wants_headers, record }
    }

    /// The next message; `None` at the end of the input.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let mut length = None;
        loop {
            let mut line = Vec::new();
            if !matches!(self.stdin.read_until(b'\n', &mut line), Ok(1..)) {
                return None;
            }
            self.record.append(&line);
            let text = line.trim_ascii();
            if !self.wants_headers {
                return Some(text.to_vec());
            }
            // Other lines are not understood, and not answered.
            match length {
                Some(length) if text.is_empty() => return self.body(length),
                _ => {
                    let text = String::from_utf8_lossy(text);
                    length =
                        text.strip_prefix("Content-Length:").and_then(|n| n.trim().parse().ok()).or(length);
                }
            }
        }
    }

    fn body(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut body = vec![0; length];
        self.stdin.read_exact(&mut body).ok()?;
        self.record.append(&body);
        Some(body)
    }
}

/// Writes to stdout at once. A missing reader is noticed at the end of the input.
pub(super) fn write(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

pub fn rest_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}
