//! Small and large calls over pipes, timed. Every answer is checked, so that a broken proxy does not look fast. Knows
//! nothing of rounds and figures.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_testkit::client::{Pipes, Program, Start, ended};
use switchboard_testkit::message;
use switchboard_testkit::wire::{self, PROTOCOL_VERSION, TINY_TEXT, digits, wrong_answer};

/// A client of one connection.
pub(crate) struct Caller {
    pub(crate) pipes: Pipes,
    /// The tools that small calls go to, in turn.
    tools: Vec<String>,
    /// The length of a small answer without its id.
    tiny_length: usize,
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

pub(crate) fn check_text(message: &[u8], id: u64) -> io::Result<()> {
    let parsed: Value = serde_json::from_slice(message)?;
    match parsed["result"]["content"][0]["text"] == TINY_TEXT {
        true => Ok(()),
        false => Err(wrong_answer(id, message)),
    }
}

impl Caller {
    pub(crate) fn new(pipes: Pipes, tools: Vec<String>) -> Self {
        Self { pipes, tools, tiny_length: 0, request: Vec::new() }
    }

    /// A caller of the first tool that is named `tiny`, behind whatever prefix.
    pub(crate) fn of_tiny(pipes: Pipes, mut tools: Vec<String>) -> Self {
        tools.retain(|name| name.ends_with("tiny"));
        tools.truncate(1);
        Self::new(pipes, tools)
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
            let id = self.pipes.mint();
            self.request.clear();
            wire::push_call(&mut self.request, id, tool, &[]);
            self.pipes.send(&self.request)?;
            let answer = self.pipes.receive(id)?;
            check_text(answer, id)?;
            self.tiny_length = answer.len() - digits(id);
        }
        Ok(())
    }

    /// Sequential small calls; the round trip of each goes to `round_trips`, in nanoseconds.
    pub(crate) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> io::Result<()> {
        let Self { pipes, tools, tiny_length, request } = self;
        for _ in 0..count {
            let id = pipes.mint();
            request.clear();
            wire::push_call(request, id, &tools[id as usize % tools.len()], &[]);
            let started = Instant::now();
            pipes.send(request)?;
            let answer = pipes.receive(id)?;
            let took = started.elapsed();
            if answer.len() != *tiny_length + digits(id) {
                return Err(wrong_answer(id, answer));
            }
            round_trips.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// Small calls with so many in flight: for every answer that a read brings a new call is sent, all of
    /// them in one write, as a client does that multiplexes many callers.
    pub(crate) fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> io::Result<Duration> {
        let Self { pipes, tools, tiny_length, request } = self;
        let first = pipes.next_id();
        let mut answered = vec![false; count];
        let (mut left, mut free) = (count, callers.min(count));
        let started = Instant::now();
        while left > 0 {
            request.clear();
            let unsent = count - (pipes.next_id() - first) as usize;
            for _ in 0..free.min(unsent) {
                let id = pipes.mint();
                wire::push_call(request, id, &tools[id as usize % tools.len()], &[]);
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
                    Some(seen) if !*seen && answer.len() == *tiny_length + digits(id) => *seen = true,
                    Some(_) | None if wire::is_notice(answer) => continue,
                    Some(_) | None => return Err(wrong_answer(id, answer)),
                }
                left -= 1;
                free += 1;
            }
        }
        Ok(started.elapsed())
    }

    /// One call with a large text up, down or both. The answer must be `expected`, byte for byte.
    pub(crate) fn large_call(
        &mut self,
        tool: &str,
        arguments: &[&[u8]],
        expected: &[u8],
    ) -> io::Result<Duration> {
        let id = self.pipes.mint();
        self.request.clear();
        wire::push_call(&mut self.request, id, tool, arguments);
        let started = Instant::now();
        self.pipes.send(&self.request)?;
        let answer = self.pipes.receive(id)?;
        let took = started.elapsed();
        match wire::text(answer).map(|range| &answer[range]) == Some(expected) {
            true => Ok(took),
            false => Err(wrong_answer(id, answer)),
        }
    }
}
