//! A scripted client: starts the real program, as an IDE would, and speaks to it over pipes. Synchronous: each
//! stream has a thread, and a test reads as it happens.
//!
//! No byte is lost or changed on the way: the program reads exactly the bytes that a test sends, and frames are compared
//! byte by byte. Every wait has a limit, which only fails. For measurements, [`Program`] is the same
//! without threads and limits.

mod input;
mod modern;
mod pipes;
mod start;
mod stream;

pub use modern::Modern;
pub use pipes::{Pipes, Program, ended};
pub use start::{Framing, Start};
pub use stream::Wait;

use crate::message;
use crate::patience::{self, LIMIT};
use crate::pids::{self, Word};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::wine;
use input::Input;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};
use stream::{Stream, show};

/// The protocol version that [`Client::initialize`] asks for.
pub const VERSION: &str = "2025-06-18";

/// Exit status and remaining output of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Output on stdout that the test had not read.
    pub stdout: Vec<u8>,
    pub stderr: String,
}

pub struct Client {
    child: Child,
    status: Option<ExitStatus>,
    input: Input,
    output: Output,
    stderr: Option<Stream>,
    /// Stream that is held open and never read.
    _unread: Option<ChildStderr>,
    framing: Framing,
    /// Frames that arrived during a wait for another, with their content.
    aside: VecDeque<(Vec<u8>, Value)>,
    next_id: u64,
    scratch: Scratch,
}

enum Output {
    Read(Stream),
    Unread(ChildStdout),
    /// Whether the test has closed it.
    Closed,
}

impl Client {
    fn adopt(mut child: Child, start: Start) -> Self {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes");
        };
        let stderr = child.stderr.take();
        let (read, unread) = if start.reads_stderr { (stderr, None) } else { (None, stderr) };
        let output =
            if start.reads_output { Output::Read(Stream::read(stdout)) } else { Output::Unread(stdout) };
        Self {
            child,
            status: None,
            input: Input::write(stdin),
            output,
            stderr: read.map(Stream::read),
            _unread: unread,
            framing: start.framing,
            aside: VecDeque::new(),
            next_id: 1,
            scratch: start.scratch,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The input of the fake backend.
    pub fn record(&self) -> Record {
        Record::in_folder(self.scratch.join("record"))
    }

    // ---- sending

    /// Sends bytes unchanged, in one write.
    pub fn send_bytes(&self, bytes: impl AsRef<[u8]>) {
        self.input.send(bytes.as_ref().to_vec());
    }

    /// Sends bytes in pieces of `size`, one write each.
    pub fn send_in_pieces(&self, bytes: impl AsRef<[u8]>, size: usize) {
        bytes.as_ref().chunks(size).for_each(|piece| self.input.send(piece.to_vec()));
    }

    /// Sends one message in this client's framing.
    pub fn send(&self, message: impl AsRef<[u8]>) {
        let message = message.as_ref();
        let framed = match self.framing {
            Framing::Newline => [message, b"\n"].concat(),
            Framing::ContentLength => {
                [format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes(), message].concat()
            }
        };
        self.input.send(framed);
    }

    /// Waits until all sent bytes have been taken.
    #[track_caller]
    pub fn sent(&self) {
        self.input.written();
    }

    /// Whether all sent bytes have been taken.
    pub fn is_sent(&self) -> bool {
        self.input.is_written()
    }

    /// Closes the input.
    pub fn close_input(&self) {
        self.input.close();
    }

    // ---- receiving

    /// The next frame, without its newline or header, otherwise unchanged.
    #[track_caller]
    pub fn recv(&mut self) -> Vec<u8> {
        if let Some((frame, _)) = self.aside.pop_front() {
            return frame;
        }
        match self.next_frame("a message") {
            Some(frame) => frame,
            None => panic!("the program closed its stdout; it said {:?}", self.stderr_so_far()),
        }
    }

    /// The next frame; `None` if the program closed its stdout first.
    #[track_caller]
    pub fn recv_or_end(&mut self) -> Option<Vec<u8>> {
        self.aside.pop_front().map(|(frame, _)| frame).or_else(|| self.next_frame("a message or the end"))
    }

    #[track_caller]
    pub fn recv_text(&mut self) -> String {
        match String::from_utf8(self.recv()) {
            Ok(text) => text,
            Err(error) => panic!("not UTF-8: {:?}", show(error.as_bytes())),
        }
    }

    #[track_caller]
    pub fn recv_json(&mut self) -> Value {
        parse(&self.recv())
    }

    /// The first message for which `is_it` holds; others stay for [`Self::recv`].
    #[track_caller]
    pub fn recv_where(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        self.frame_where(what, is_it).1
    }

    #[track_caller]
    fn frame_where(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> (Vec<u8>, Value) {
        if let Some(at) = self.aside.iter().position(|(_, value)| is_it(value)) {
            return self.aside.remove(at).unwrap_or_default();
        }
        loop {
            let Some(frame) = self.next_frame(what) else {
                panic!("this did not come: {what}; the program said {:?}", self.stderr_so_far());
            };
            let value = parse(&frame);
            if is_it(&value) {
                return (frame, value);
            }
            self.aside.push_back((frame, value));
        }
    }

    /// The answer to the request with this id.
    #[track_caller]
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let is_it = |value: &Value| value.get("id") == Some(&id) && value.get("method").is_none();
        self.recv_where(&format!("the answer to {id}"), is_it)
    }

    /// The same, and its bytes.
    #[track_caller]
    pub fn raw_answer(&mut self, id: impl Into<Value>) -> (String, Value) {
        let id = id.into();
        let is_it = |value: &Value| value.get("id") == Some(&id) && value.get("method").is_none();
        let (frame, value) = self.frame_where(&format!("the answer to {id}"), is_it);
        (String::from_utf8_lossy(&frame).into_owned(), value)
    }

    /// The next request or notification of this method.
    #[track_caller]
    pub fn told(&mut self, method: &str) -> Value {
        self.recv_where(method, |value| value.get("method").is_some_and(|name| name == method))
    }

    /// The next line with its end; `None` instead of a failure.
    pub fn recv_line_within(&mut self, wait: Duration) -> Wait<Vec<u8>> {
        self.stream().wait_until(Instant::now() + wait, |arrived| arrived.take_line())
    }

    #[track_caller]
    fn next_frame(&mut self, what: &str) -> Option<Vec<u8>> {
        let framing = self.framing;
        let frame = self.stream().wait(what, |arrived| match framing {
            Framing::Newline => arrived.take_line(),
            Framing::ContentLength => arrived.take_body(),
        })?;
        match framing {
            Framing::Newline => Some(frame[..frame.len() - 1].to_vec()),
            Framing::ContentLength => Some(frame),
        }
    }

    #[track_caller]
    fn stream(&self) -> &Stream {
        match &self.output {
            Output::Read(stream) => stream,
            Output::Unread(_) | Output::Closed => panic!("this client does not read"),
        }
    }

    /// Bytes that have arrived and were not read yet.
    pub fn unread_bytes(&self) -> Vec<u8> {
        self.stream().peek()
    }

    /// Starts reading, for a client that was started without.
    pub fn start_reading(&mut self) {
        self.output = match std::mem::replace(&mut self.output, Output::Closed) {
            Output::Unread(pipe) => Output::Read(Stream::read(pipe)),
            other => other,
        };
    }

    /// Closes the end that the program writes to. Only for a client that does not read.
    pub fn close_output(&mut self) {
        self.output = Output::Closed;
    }

    // ---- speaking MCP

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(message::request(id, method, params).to_string());
        id
    }

    /// The same with parameters that are sent to the byte.
    pub fn ask_raw(&mut self, method: &str, params: &str) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        id
    }

    /// Sends a request and returns its whole answer, `result` or `error`.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Calls a tool and returns the whole answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool without waiting, and returns the request's id.
    pub fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(message::notification(method, params).to_string());
    }

    /// The handshake: `initialize`, its answer, `initialized`. Returns the server's result.
    #[track_caller]
    pub fn initialize(&mut self) -> Value {
        let answer = self.request("initialize", initialize_params());
        let Some(result) = answer.get("result") else { panic!("no greeting: {answer}") };
        let result = result.clone();
        self.notify("notifications/initialized", json!({}));
        result
    }

    // ---- the program's stderr and its end

    pub fn stderr_so_far(&self) -> String {
        self.stderr
            .as_ref()
            .map(|stream| String::from_utf8_lossy(&stream.peek()).into_owned())
            .unwrap_or_default()
    }

    /// Waits for this text on stderr.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        patience::until_true(format_args!("`{text}` on stderr"), || self.stderr_so_far().contains(text));
    }

    pub fn signal(&self, word: Word) {
        if self.status.is_none() {
            pids::tell(self.pid(), word);
        }
    }

    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Waits without a limit.
    pub fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    /// Waits for the program's end.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> End {
        patience::until_true(format_args!("the program's end; it said {:?}", self.stderr_so_far()), || {
            self.has_ended()
        });
        let stdout = match &self.output {
            Output::Read(stream) => stream.rest(),
            Output::Unread(_) | Output::Closed => Vec::new(),
        };
        // Wine gives its own stderr to every process, so a daemon that goes on holds it open.
        let last = if wine::loader().is_some() { Stream::peek } else { Stream::rest };
        let stderr = self.stderr.as_ref().map(last).unwrap_or_default();
        End {
            code: self.status.and_then(|status| status.code()),
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// Closes the input and waits for the end.
    #[track_caller]
    pub fn finish(&mut self) -> End {
        self.close_input();
        self.wait_for_end()
    }
}

/// The parameters that [`Client::initialize`] sends.
pub fn initialize_params() -> Value {
    message::initialize_params("testkit", VERSION, json!({}))
}

#[track_caller]
fn parse(frame: &[u8]) -> Value {
    match serde_json::from_slice(frame) {
        Ok(value) => value,
        Err(error) => panic!("not JSON ({error}): {:?}", show(frame)),
    }
}

impl Drop for Client {
    /// Ends the program and its daemon with two signals, without waiting for servers; remaining processes are killed.
    fn drop(&mut self) {
        self.input.close();
        if !self.has_ended() {
            self.signal(Word::Terminate);
            let deadline = Instant::now() + LIMIT / 12;
            while !self.has_ended() && Instant::now() < deadline {
                self.signal(Word::Terminate);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.scratch.is_lent() {
            return;
        }
        // The daemon goes before its servers: it would replace one that is killed.
        self.scratch.stop_daemons();
        self.record().clean_up();
    }
}
