//! A backend's stderr: written to its log file, with the last lines kept for error messages.

use crate::telemetry::Telemetry;
use bytes::{Buf, BytesMut};
use std::collections::VecDeque;
use std::sync::Arc;
use switchboard_core::redact::redact;
use switchboard_process::lock::Lock;
use switchboard_process::pipe::ByteReader;

/// More lines than an error quotes: the cause may precede a long stack trace.
const MAX_LINES: usize = 100;
const MAX_LINE_CHARS: usize = 500;

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
    loop {
        let ended = !matches!(stderr.read(&mut buffer).await, Ok(1..));
        while let Some(end) = memchr::memchr(b'\n', &buffer) {
            let line = buffer.split_to(end);
            buffer.advance(1);
            take(&server, &line, &tail, &telemetry);
        }
        // Bounds the buffer for a line without an end.
        if buffer.len() > 16 * MAX_LINE_CHARS || (ended && !buffer.is_empty()) {
            take(&server, &buffer.split(), &tail, &telemetry);
        }
        if ended {
            return;
        }
    }
}

fn take(server: &str, line: &[u8], tail: &Lock<Tail>, telemetry: &Telemetry) {
    // Windows ends lines with CR LF.
    let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
    // The log redacts its own copy.
    tail.lock().push(&redact(&text));
    telemetry.stderr(server, text);
}
