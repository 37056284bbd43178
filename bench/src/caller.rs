//! Small and large calls over pipes or HTTP, timed. Every answer is checked, so that a broken proxy does not look fast.
//! Knows nothing of rounds and figures.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_testkit::client::{Pipes, Program, Start, ended};
use switchboard_testkit::http::KeepAlive;
use switchboard_testkit::message;
use switchboard_testkit::wire::{self, PROTOCOL_VERSION, TINY_TEXT, digits, wrong_answer};

/// A connection with one request in flight at a time.
pub(crate) trait Transport {
    fn mint(&mut self) -> u64;
    /// Sends one message, which ends with a newline.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
    /// Waits for the answer to the request `id`.
    fn receive(&mut self, id: u64) -> io::Result<&[u8]>;
}

impl Transport for Pipes {
    fn mint(&mut self) -> u64 {
        self.mint()
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.send(message)
    }

    fn receive(&mut self, id: u64) -> io::Result<&[u8]> {
        self.receive(id)
    }
}

impl Transport for KeepAlive {
    fn mint(&mut self) -> u64 {
        self.mint()
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.post(message)
    }

    fn receive(&mut self, id: u64) -> io::Result<&[u8]> {
        self.receive(id)
    }
}

/// A client of one connection.
pub(crate) struct Caller<T> {
    pub(crate) connection: T,
    /// Tools of the small calls, in turn.
    tools: Vec<String>,
    /// The length of a small answer without its id.
    tiny_length: usize,
    /// Further members of every call's parameters, each behind a comma.
    more: Vec<u8>,
    request: Vec<u8>,
}

/// The parameters of `initialize`, in the newest version that has a handshake.
pub(crate) fn initialize_params() -> Value {
    message::initialize_params("switchboard-bench", PROTOCOL_VERSION, json!({}))
}

/// Starts a program, makes the handshake, and lists the tools.
pub(crate) fn listed(start: Start) -> io::Result<(Program, Vec<String>)> {
    let mut program = start.program()?;
    program.initialize(initialize_params())?;
    let tools = program.tools()?;
    Ok((program, tools))
}

impl<T: Transport> Caller<T> {
    pub(crate) fn new(connection: T, tools: Vec<String>) -> Self {
        Self { connection, tools, tiny_length: 0, more: Vec::new(), request: Vec::new() }
    }

    /// Sends this `_meta` with every call.
    pub(crate) fn with_meta(self, meta: &Value) -> Self {
        Self { more: format!(r#","_meta":{meta}"#).into_bytes(), ..self }
    }

    /// A further connection to the same program.
    pub(crate) fn beside(&self, connection: T) -> Self {
        let (tiny_length, more) = (self.tiny_length, self.more.clone());
        Self { tiny_length, more, ..Self::new(connection, self.tools.clone()) }
    }

    /// A caller of the first tool that is named `tiny`, with any prefix.
    pub(crate) fn of_tiny(connection: T, mut tools: Vec<String>) -> Self {
        tools.retain(|name| name.ends_with("tiny"));
        tools.truncate(1);
        Self::new(connection, tools)
    }

    pub(crate) fn tools(&self) -> &[String] {
        &self.tools
    }

    /// A small call of each tool, whose answer is parsed: later ones are only compared with its length.
    pub(crate) fn first_calls(&mut self) -> io::Result<()> {
        if self.tools.is_empty() {
            return Err(io::Error::other("no tool `tiny` is listed"));
        }
        for tool in &self.tools {
            let id = self.connection.mint();
            self.request.clear();
            wire::push_call(&mut self.request, id, tool, &[], &self.more);
            self.connection.send(&self.request)?;
            let answer = self.connection.receive(id)?;
            let parsed: Value = serde_json::from_slice(answer)?;
            if parsed["result"]["content"][0]["text"] != TINY_TEXT {
                return Err(wrong_answer(id, answer));
            }
            self.tiny_length = answer.len() - digits(id);
        }
        Ok(())
    }

    /// Sequential small calls; the round trip of each goes to `round_trips`, in nanoseconds.
    pub(crate) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> io::Result<()> {
        for _ in 0..count {
            let id = self.prepare_tiny();
            let started = Instant::now();
            self.connection.send(&self.request)?;
            let answer = self.connection.receive(id)?;
            let took = started.elapsed();
            check_length(answer, id, self.tiny_length)?;
            round_trips.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// Writes the next small call into the buffer, and returns its id.
    fn prepare_tiny(&mut self) -> u64 {
        let id = self.connection.mint();
        self.request.clear();
        let tool = &self.tools[id as usize % self.tools.len()];
        wire::push_call(&mut self.request, id, tool, &[], &self.more);
        id
    }

    /// A call with a large text up, down or both. The answer must be `expected`, byte for byte.
    pub(crate) fn large_call(
        &mut self,
        tool: &str,
        arguments: &[&[u8]],
        expected: &[u8],
    ) -> io::Result<Duration> {
        let id = self.connection.mint();
        self.request.clear();
        wire::push_call(&mut self.request, id, tool, arguments, &self.more);
        let started = Instant::now();
        self.connection.send(&self.request)?;
        let answer = self.connection.receive(id)?;
        let took = started.elapsed();
        match wire::text(answer).map(|range| &answer[range]) == Some(expected) {
            true => Ok(took),
            false => Err(wrong_answer(id, answer)),
        }
    }
}

impl Caller<Pipes> {
    /// Small calls with this many in flight: each answer of a read causes a new call, and all of
    /// them are sent in one write, like a client that multiplexes many callers.
    pub(crate) fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> io::Result<Duration> {
        let length = self.tiny_length;
        self.calls_at_once(count, callers, |answer, id| answer.len() == length + digits(id))
    }

    /// The same with another check of each answer.
    pub(crate) fn calls_at_once(
        &mut self,
        count: usize,
        callers: usize,
        is_right: impl Fn(&[u8], u64) -> bool,
    ) -> io::Result<Duration> {
        let Self { connection: pipes, tools, more, request, .. } = self;
        let first = pipes.next_id();
        let mut answered = vec![false; count];
        let (mut left, mut free) = (count, callers.min(count));
        let started = Instant::now();
        while left > 0 {
            request.clear();
            let unsent = count - (pipes.next_id() - first) as usize;
            for _ in 0..free.min(unsent) {
                let id = pipes.mint();
                wire::push_call(request, id, &tools[id as usize % tools.len()], &[], more);
            }
            if !request.is_empty() {
                pipes.send(request)?;
            }
            free = 0;
            let lines = pipes.lines();
            if lines.fill()? == 0 {
                return Err(ended());
            }
            while let Some(line) = lines.buffered_line() {
                let answer = lines.bytes(&line);
                let id = wire::answered_id(answer).unwrap_or(0);
                let slot = id.checked_sub(first).and_then(|index| answered.get_mut(index as usize));
                match slot {
                    Some(seen) if !*seen && is_right(answer, id) => *seen = true,
                    Some(_) | None if wire::is_notice(answer) => continue,
                    Some(_) | None => return Err(wrong_answer(id, answer)),
                }
                left -= 1;
                free += 1;
            }
        }
        Ok(started.elapsed())
    }
}

impl Caller<KeepAlive> {
    /// Sends a small call, and returns its id.
    pub(crate) fn begin_tiny(&mut self) -> io::Result<u64> {
        let id = self.prepare_tiny();
        self.connection.post(&self.request)?;
        Ok(id)
    }

    /// Whether the answer to a small call is there, after one read.
    pub(crate) fn is_answered(&mut self, id: u64) -> io::Result<bool> {
        self.connection.fill()?;
        match self.connection.arrived()? {
            Some(_) => check_length(self.connection.message(id)?, id, self.tiny_length).map(|()| true),
            None => Ok(false),
        }
    }
}

fn check_length(answer: &[u8], id: u64, tiny_length: usize) -> io::Result<()> {
    match answer.len() == tiny_length + digits(id) {
        true => Ok(()),
        false => Err(wrong_answer(id, answer)),
    }
}
