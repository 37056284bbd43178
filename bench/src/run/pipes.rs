//! A running subject that is called over pipes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_testkit::client::Pipes;
use switchboard_testkit::message::INITIALIZED;
use switchboard_testkit::wire::{PROTOCOL_VERSION, digits, wrong_answer};

use super::Failure;
use super::link::Link;
use super::running::Running;
use super::subject::Subject;
use super::watchdog::Watchdog;
use crate::caller::{Caller, initialize_params};

pub(super) struct PipedSubject {
    running: Running,
    caller: Caller<Pipes>,
    has_lists: bool,
    /// The length of the answer to `tools/list` without its id.
    list_length: usize,
}

impl PipedSubject {
    /// Starts the subject, and sends nothing yet.
    pub(super) fn spawn(subject: &Subject, dog: &Watchdog, scratch: &Path) -> Result<Self, Failure> {
        let (running, pipes) = Running::spawn(subject, dog, scratch)?;
        let caller = Caller::new(pipes, subject.tools.clone());
        Ok(Self { running, caller, has_lists: subject.has_lists(), list_length: 0 })
    }

    /// The first request: the subject serves from its answer on.
    pub(super) fn initialize(&mut self) -> Result<(), Failure> {
        let answer = self.caller.connection.request("initialize", initialize_params())?;
        match answer["result"]["protocolVersion"] == PROTOCOL_VERSION {
            true => Ok(()),
            false => Err(Failure(format!("initialize was answered with {answer}"))),
        }
    }

    fn initialized(&mut self) -> Result<(), Failure> {
        Ok(self.caller.connection.send(format!("{INITIALIZED}\n").as_bytes())?)
    }

    /// All tools. Later lists are only compared with the length of this answer.
    fn first_list(&mut self) -> Result<Vec<Value>, Failure> {
        let id = self.caller.connection.mint();
        let answer = self.list(id)?;
        let length = answer.len() - digits(id);
        let tools = tools(id, answer)?;
        self.list_length = length;
        Ok(tools)
    }

    /// The answer to `tools/list`, not parsed.
    fn list(&mut self, id: u64) -> Result<&[u8], Failure> {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
        self.caller.connection.send(request.as_bytes())?;
        Ok(self.caller.connection.receive(id)?)
    }

    /// All messages of a client at its start, up to the answered `tools/list`, which must have this many tools.
    /// Returns the time of the answer.
    pub(super) fn start(&mut self, count: usize) -> Result<Instant, Failure> {
        self.initialize()?;
        self.initialized()?;
        let id = self.caller.connection.mint();
        let answer = self.list(id)?;
        let there = Instant::now();
        match tools(id, answer)?.len() {
            listed if listed == count => Ok(there),
            listed => Err(Failure(format!("{listed} tools were listed, not {count}"))),
        }
    }
}

impl Link for PipedSubject {
    fn running(&self) -> &Running {
        &self.running
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.initialize()?;
        self.initialized()?;
        if self.has_lists {
            let listed = self.first_list()?;
            let is_there = |tool: &&String| listed.iter().any(|one| one["name"] == tool.as_str());
            if let Some(missing) = self.caller.tools().iter().find(|tool| !is_there(tool)) {
                return Err(Failure(format!("tools/list does not offer `{missing}`")));
            }
        }
        Ok(self.caller.first_calls()?)
    }

    fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        Ok(self.caller.tiny_calls(count, round_trips)?)
    }

    fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure> {
        Ok(self.caller.tiny_calls_at_once(count, callers)?)
    }

    fn large_call(&mut self, tool: &str, args: &[&[u8]], expected: &[u8]) -> Result<Duration, Failure> {
        Ok(self.caller.large_call(tool, args, expected)?)
    }

    fn lists(&mut self, count: usize, micros: &mut Vec<u32>) -> Result<(), Failure> {
        for _ in 0..count {
            let id = self.caller.connection.mint();
            let length = self.list_length + digits(id);
            let started = Instant::now();
            let answer = self.list(id)?;
            let took = started.elapsed();
            if answer.len() != length {
                return Err(wrong_answer(id, answer).into());
            }
            micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// Closes stdin, like a client that leaves; the subject must end by itself.
    fn close(self: Box<Self>) -> Result<(), Failure> {
        let _output = self.caller.connection.close_input();
        self.running.ended("its stdin did")
    }
}

fn tools(id: u64, answer: &[u8]) -> Result<Vec<Value>, Failure> {
    let mut parsed: Value = serde_json::from_slice(answer).map_err(|error| Failure(error.to_string()))?;
    match parsed["result"]["tools"].take() {
        Value::Array(tools) => Ok(tools),
        _ => Err(wrong_answer(id, answer).into()),
    }
}
