//! A backend's stderr: written to its log file, with the last lines kept for error messages.

use crate::secrets;
use crate::telemetry::Telemetry;
use bytes::{Buf, BytesMut};
use std::collections::VecDeque;
use std::sync::Arc;
use switchboard_core::redact::KeyLines;
use switchboard_process::lock::Lock;
use switchboard_process::pipe::ByteReader;

/// More lines than an error quotes: the cause may precede a long stack trace.
const MAX_LINES: usize = 100;
const MAX_LINE_CHARS: usize = 500;
/// Bytes of a line without an end before it is logged in parts.
const MAX_BUFFERED_BYTES: usize = 16 * MAX_LINE_CHARS;

/// The last lines of a process.
#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    fn push(&mut self, line: &str) {
        if self.0.len() == MAX_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.chars().take(MAX_LINE_CHARS).collect());
    }

    pub(crate) fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

pub(crate) async fn follow(
    server: String,
    mut stderr: ByteReader,
    tail: Arc<Lock<Tail>>,
    telemetry: Arc<Telemetry>,
) {
    let mut buffer = BytesMut::new();
    let mut keys = KeyLines::default();
    loop {
        let ended = !matches!(stderr.read(&mut buffer).await, Ok(1..));
        while let Some(end) = memchr::memchr(b'\n', &buffer) {
            let line = buffer.split_to(end);
            buffer.advance(1);
            take(&server, &keys.mask(&text_of(&line)), &tail, &telemetry);
        }
        // Bounds the buffer for a line without an end.
        if buffer.len() > MAX_BUFFERED_BYTES || (ended && !buffer.is_empty()) {
            let part = match ended {
                true => buffer.split(),
                false => buffer.split_to(end_of_words(&buffer)),
            };
            take(&server, &keys.mask(&text_of(&part)), &tail, &telemetry);
        }
        if ended {
            return;
        }
    }
}

fn text_of(line: &[u8]) -> String {
    // Windows ends lines with CR LF.
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}

/// Length of the whole words in a part of a line: a secret must not be cut in two.
fn end_of_words(part: &[u8]) -> usize {
    let blank = part.iter().rposition(u8::is_ascii_whitespace);
    blank.filter(|at| *at > 0).unwrap_or(part.len())
}

fn take(server: &str, text: &str, tail: &Lock<Tail>, telemetry: &Telemetry) {
    let text = secrets::redact(text);
    tail.lock().push(&text);
    telemetry.stderr(server, text);
}
