//! One running subject, and the client that speaks to it: the handshake, calls, and the checks that keep a
//! broken proxy from looking fast. It knows nothing of rounds and figures.

use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};

use super::Failure;
use super::running::Running;
use super::subject::Subject;
use super::watchdog::Watchdog;
use crate::wire::{self, Lines, PROTOCOL_VERSION, TINY_TEXT};

pub(super) struct Connection {
    running: Running,
    to: ChildStdin,
    lines: Lines<ChildStdout>,
    next_id: u64,
    /// The tools that small calls go to, in turn.
    tools: Vec<String>,
    has_lists: bool,
    /// The length of the answer to `tools/list` without its id.
    list_length: usize,
    /// The length of a tiny answer without its id.
    tiny_length: usize,
    request: Vec<u8>,
}

impl Connection {
    /// Starts the subject and says nothing yet.
    pub(super) fn spawn(subject: &Subject, dog: &Watchdog, scratch: &Path) -> Result<Self, Failure> {
        let (running, to, from) = Running::spawn(subject, dog, scratch)?;
        Ok(Self {
            running,
            to,
            lines: Lines::new(from),
            next_id: 1,
            tools: subject.tools.clone(),
            has_lists: subject.has_lists(),
            list_length: 0,
            tiny_length: 0,
            request: Vec::new(),
        })
    }

    pub(super) fn pid(&self) -> Pid {
        self.running.pid()
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// Runs `turn` with this subject's time counting, and says why if it failed.
    pub(super) fn turn(
        &mut self,
        turn: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.running.begin_turn();
        let outcome = turn(self).map_err(|failure| self.running.explain(failure));
        self.running.end_turn();
        outcome
    }

    /// The first request of all: from here on the subject is there.
    pub(super) fn initialize(&mut self) -> Result<(), Failure> {
        let parameters = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "switchboard-bench", "version": env!("CARGO_PKG_VERSION") },
        });
        let result = self.ask("initialize", &parameters)?;
        if result["protocolVersion"] != PROTOCOL_VERSION {
            return Err(Failure(format!("initialize was answered with {result}")));
        }
        Ok(())
    }

    /// What follows `initialize`, up to a first small call of each tool whose answer is read in full: the later
    /// ones are only compared with it.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        self.initialized()?;
        if self.has_lists {
            let listed = self.first_list()?;
            let is_there = |tool: &&String| listed.iter().any(|one| one["name"] == tool.as_str());
            if let Some(missing) = self.tools.iter().find(|tool| !is_there(tool)) {
                return Err(Failure(format!("tools/list does not offer `{missing}`")));
            }
        }
        for tool in 0..self.tools.len() {
            self.first_call(tool)?;
        }
        Ok(())
    }

    pub(super) fn initialized(&mut self) -> Result<(), Failure> {
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
    }

    /// All tools, read in full.
    fn first_list(&mut self) -> Result<Vec<Value>, Failure> {
        let id = self.mint();
        let answer = self.listed(id)?;
        let length = answer.len() - digits(id);
        let mut parsed: Value = serde_json::from_slice(answer).map_err(|error| Failure(error.to_string()))?;
        match parsed["result"]["tools"].take() {
            Value::Array(tools) => {
                self.list_length = length;
                Ok(tools)
            }
            _ => Err(wrong(id, answer)),
        }
    }

    fn first_call(&mut self, tool: usize) -> Result<(), Failure> {
        let id = self.mint();
        let mut request = Vec::new();
        wire::push_call(&mut request, id, &self.tools[tool], &[]);
        self.send(&request)?;
        let answer = self.receive(id)?;
        let parsed: Value = serde_json::from_slice(answer).map_err(|error| Failure(error.to_string()))?;
        if parsed["result"]["content"][0]["text"] != TINY_TEXT {
            return Err(wrong(id, answer));
        }
        self.tiny_length = answer.len() - digits(id);
        Ok(())
    }

    /// The answer to `tools/list`, however long, and not looked at.
    fn listed(&mut self, id: u64) -> Result<&[u8], Failure> {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
        self.send(request.as_bytes())?;
        self.receive(id)
    }

    /// One list after the other; what each took goes to `micros`.
    pub(super) fn lists(&mut self, count: usize, micros: &mut Vec<u32>) -> Result<(), Failure> {
        for _ in 0..count {
            let id = self.mint();
            let length = self.list_length + digits(id);
            let started = Instant::now();
            let answer = self.listed(id)?;
            let took = started.elapsed();
            if answer.len() != length {
                return Err(wrong(id, answer));
            }
            micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// What a client does when it starts, up to the answered `tools/list`; the answer must have so many tools.
    /// Returns when it was there.
    pub(super) fn start(&mut self, tools: usize) -> Result<Instant, Failure> {
        self.initialize()?;
        self.initialized()?;
        let id = self.mint();
        let answer = self.listed(id)?;
        let there = Instant::now();
        let parsed: Value = serde_json::from_slice(answer).map_err(|error| Failure(error.to_string()))?;
        match &parsed["result"]["tools"] {
            Value::Array(listed) if listed.len() == tools => Ok(there),
            Value::Array(listed) => Err(Failure(format!("{} tools were listed, not {tools}", listed.len()))),
            _ => Err(wrong(id, answer)),
        }
    }

    /// Sequential small calls; the round trip of each goes to `round_trips`, in nanoseconds.
    pub(super) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        let mut request = std::mem::take(&mut self.request);
        for _ in 0..count {
            let id = self.mint();
            request.clear();
            wire::push_call(&mut request, id, self.tool(id), &[]);
            let started = Instant::now();
            self.send(&request)?;
            let length = self.tiny_length + digits(id);
            let answer = self.receive(id)?;
            let took = started.elapsed();
            if answer.len() != length {
                return Err(wrong(id, answer));
            }
            round_trips.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        }
        self.request = request;
        Ok(())
    }

    /// Small calls with so many in flight: for every answer that a read brings a new call is sent, all of
    /// them in one write, as a client does that multiplexes many callers.
    pub(super) fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure> {
        let first = self.next_id;
        let mut answered = vec![false; count];
        let mut left = count;
        let mut request = std::mem::take(&mut self.request);
        let started = Instant::now();
        let mut free = callers.min(count);
        while left > 0 {
            request.clear();
            let unsent = count - (self.next_id - first) as usize;
            for _ in 0..free.min(unsent) {
                let id = self.mint();
                wire::push_call(&mut request, id, self.tool(id), &[]);
            }
            if !request.is_empty() {
                self.send(&request)?;
            }
            free = 0;
            if self.lines.fill()? == 0 {
                return Err(ended());
            }
            while let Some(line) = self.lines.buffered_line() {
                let answer = self.lines.bytes(&line);
                let id = answered_id(answer).unwrap_or(0);
                let slot = id.checked_sub(first).and_then(|index| answered.get_mut(index as usize));
                match slot {
                    Some(seen) if !*seen && answer.len() == self.tiny_length + digits(id) => *seen = true,
                    Some(_) | None if is_notice(answer) => continue,
                    Some(_) | None => return Err(wrong(id, answer)),
                }
                left -= 1;
                free += 1;
            }
        }
        self.request = request;
        Ok(started.elapsed())
    }

    /// One call with a large text up, down or both. The answer must be `expected`, byte for byte.
    pub(super) fn large_call(
        &mut self,
        tool: &str,
        arguments: &[&[u8]],
        expected: &[u8],
    ) -> Result<Duration, Failure> {
        let id = self.mint();
        let mut request = std::mem::take(&mut self.request);
        request.clear();
        wire::push_call(&mut request, id, tool, arguments);
        let started = Instant::now();
        self.send(&request)?;
        let answer = self.receive(id)?;
        let took = started.elapsed();
        let text = wire::text(answer).map(|range| &answer[range]);
        if text != Some(expected) {
            return Err(wrong(id, answer));
        }
        self.request = request;
        Ok(took)
    }

    /// Ends the subject as a client does that leaves: its stdin is closed, and it must go by itself.
    pub(super) fn close(self) -> Result<(), Failure> {
        drop(self.to);
        self.running.ended("its stdin did")
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Failure> {
        let id = self.mint();
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        self.send(format!("{request}\n").as_bytes())?;
        let answer = self.receive(id)?;
        let mut parsed: Value = serde_json::from_slice(answer).map_err(|error| Failure(error.to_string()))?;
        if parsed["result"].is_null() {
            return Err(wrong(id, answer));
        }
        Ok(parsed["result"].take())
    }

    fn tool(&self, id: u64) -> &str {
        &self.tools[id as usize % self.tools.len()]
    }

    fn mint(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes).map_err(|error| Failure(format!("writing to it: {error}")))
    }

    /// The answer to the request `id`, which is the only one in flight.
    fn receive(&mut self, id: u64) -> Result<&[u8], Failure> {
        loop {
            let Some(line) = self.lines.next_line()? else { return Err(ended()) };
            let answer = self.lines.bytes(&line);
            if answered_id(answer) == Some(id) {
                return Ok(self.lines.bytes(&line));
            }
            if !is_notice(answer) {
                return Err(wrong(id, answer));
            }
        }
    }
}

pub(super) fn answered_id(answer: &[u8]) -> Option<u64> {
    wire::number(wire::field(answer, b"\"id\"")?)
}

/// Notifications and a proxy's own requests are legal and have nothing to do with what is measured.
fn is_notice(line: &[u8]) -> bool {
    wire::field(line, b"\"method\"").is_some()
}

pub(super) fn digits(id: u64) -> usize {
    id.checked_ilog10().map_or(1, |power| power as usize + 1)
}

fn ended() -> Failure {
    Failure("it ended, or closed its stdout, while answers were due".to_owned())
}

pub(super) fn wrong(id: u64, answer: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    Failure(format!("wrong answer to request {id}, {} bytes: {shown}", answer.len()))
}
