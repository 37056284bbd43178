//! A running subject that is called over HTTP.
//!
//! - [`subjects`]: the programs to compare.
//! - [`callers`]: many connections at once.

mod callers;
pub(super) mod subjects;

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use switchboard_testkit::client::Pipes;
use switchboard_testkit::http::{KeepAlive, Web};
use switchboard_testkit::wire::{self, PROTOCOL_VERSION, digits, wrong_answer};

use super::Failure;
use super::running::Running;
use super::subject::Subject;
use super::watchdog::Watchdog;
use crate::caller::{check_text, initialize_params};

/// How long a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct HttpSubject {
    running: Running,
    /// Held open: the end of either pipe would mean that we are gone.
    _pipes: Pipes,
    web: Web,
    path: String,
    tool: String,
    /// The single caller, from the handshake on.
    caller: Option<KeepAlive>,
    /// Many callers, connected when they are needed first.
    callers: Vec<KeepAlive>,
    /// The length of a small answer without its id.
    tiny_length: usize,
}

impl HttpSubject {
    pub(super) fn spawn(
        subject: &Subject,
        path: &str,
        dog: &Watchdog,
        scratch: &Path,
    ) -> Result<Self, Failure> {
        let (running, pipes) = Running::spawn(subject, dog, scratch)?;
        let (address, token) = listening(&running).map_err(|failure| running.explain(failure))?;
        let mut web = Web::at(address).with("Mcp-Protocol-Version", PROTOCOL_VERSION);
        if let Some(token) = token {
            web = web.with("Authorization", &format!("Bearer {token}"));
        }
        Ok(Self {
            running,
            _pipes: pipes,
            web,
            path: path.to_owned(),
            tool: subject.tools[0].clone(),
            caller: None,
            callers: Vec::new(),
            tiny_length: 0,
        })
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// The path of the MCP endpoint.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The handshake, and a first small call whose answer is parsed: later ones are only compared with its length.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let mut caller = self.session()?;
        let id = caller.mint();
        let mut request = Vec::new();
        wire::push_call(&mut request, id, &self.tool, &[]);
        caller.post(request.trim_ascii_end())?;
        let answer = caller.receive()?;
        let message = caller.message(&answer, id)?;
        check_text(message, id)?;
        self.tiny_length = message.len() - digits(id);
        self.caller = Some(caller);
        Ok(())
    }

    /// A connection of its own, with a session of its own if the server has sessions.
    pub(super) fn session(&self) -> Result<KeepAlive, Failure> {
        let mut client = KeepAlive::connect(&self.web, &self.path)?;
        client.initialize(initialize_params())?;
        Ok(client)
    }

    pub(super) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        let caller = self.caller.as_mut().expect("the handshake comes first");
        calls(caller, &self.tool, count, self.tiny_length, round_trips)
    }

    /// One call of a session.
    pub(super) fn call_once(&self, client: &mut KeepAlive) -> Result<(), Failure> {
        calls(client, &self.tool, 1, self.tiny_length, &mut Vec::new())
    }

    pub(super) fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure> {
        while self.callers.len() < callers {
            self.callers.push(self.session()?);
        }
        callers::call(&mut self.callers[..callers], &self.tool, count, self.tiny_length)
    }

    pub(super) fn large_call(
        &mut self,
        tool: &str,
        arguments: &[&[u8]],
        expected: &[u8],
    ) -> Result<Duration, Failure> {
        let caller = self.caller.as_mut().expect("the handshake comes first");
        let id = caller.mint();
        let mut start = Vec::new();
        wire::push_call(&mut start, id, tool, &[b"?"]);
        // Only the parts around the arguments are made here: the arguments are not copied.
        let cut = start.iter().position(|byte| *byte == b'?').expect("the mark was just written");
        let parts: Vec<&[u8]> = [&start[..cut]]
            .into_iter()
            .chain(arguments.iter().copied())
            .chain([start[cut + 1..].trim_ascii_end()])
            .collect();
        let started = Instant::now();
        caller.post_parts(&parts)?;
        let answer = caller.receive()?;
        let took = started.elapsed();
        let message = caller.message(&answer, id)?;
        if wire::text(message).map(|range| &message[range]) != Some(expected) {
            return Err(wrong_answer(id, message).into());
        }
        Ok(took)
    }

    /// Ends the server as a service manager does.
    pub(super) fn close(self) -> Result<(), Failure> {
        drop((self.caller, self.callers));
        self.running.tell_to_end();
        self.running.ended("SIGTERM")
    }
}

/// Sequential small calls.
fn calls(
    client: &mut KeepAlive,
    tool: &str,
    count: usize,
    tiny_length: usize,
    round_trips: &mut Vec<u32>,
) -> Result<(), Failure> {
    let mut request = Vec::new();
    for _ in 0..count {
        let id = client.mint();
        request.clear();
        wire::push_call(&mut request, id, tool, &[]);
        let started = Instant::now();
        client.post(request.trim_ascii_end())?;
        let answer = client.receive()?;
        let took = started.elapsed();
        let message = client.message(&answer, id)?;
        if message.len() != tiny_length + digits(id) {
            return Err(wrong_answer(id, message).into());
        }
        round_trips.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// The address and the token, as the server prints them on stderr.
fn listening(running: &Running) -> Result<(SocketAddr, Option<String>), Failure> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    loop {
        let said = running.said();
        let word_after = |mark: &str| said.split_once(mark)?.1.split_whitespace().next();
        // A line may have been read in part.
        let is_whole = said.ends_with('\n');
        if let Some(address) = word_after("listening at ").filter(|_| is_whole) {
            let address = address
                .parse()
                .map_err(|_| Failure(format!("it listens at `{address}`, which is no address")))?;
            return Ok((address, word_after("Bearer ").map(str::to_owned)));
        }
        if Instant::now() > deadline {
            return Err(Failure("it does not say where it listens".to_owned()));
        }
        thread::sleep(Duration::from_millis(1));
    }
}
