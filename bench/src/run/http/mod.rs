//! A running subject that is spoken to over HTTP.
//!
//! - [`subjects`]: who is compared.
//! - [`answer`]: what HTTP/1.1 says; [`client`]: one connection; [`callers`]: many of them at once.

mod answer;
mod callers;
mod client;
pub(super) mod subjects;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Failure;
use super::connection::{digits, wrong};
use super::running::Running;
use super::subject::Subject;
use super::watchdog::Watchdog;
use crate::wire::{self, PROTOCOL_VERSION, TINY_TEXT};
use client::Place;
pub(super) use client::{Badge, Client};

/// How long a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    running: Running,
    /// Held open: the end of either would say that we are gone.
    _pipes: (ChildStdin, ChildStdout),
    place: Place,
    tool: String,
    /// The one caller, from the handshake on.
    caller: Option<Client>,
    /// The others, made when they are needed first.
    callers: Vec<Client>,
    /// The length of a tiny answer without its id.
    tiny_length: usize,
}

impl Connection {
    pub(super) fn spawn(
        subject: &Subject,
        path: &str,
        dog: &Watchdog,
        scratch: &Path,
    ) -> Result<Self, Failure> {
        let (running, to, from) = Running::spawn(subject, dog, scratch)?;
        let (address, token) = listening(&running).map_err(|failure| running.explain(failure))?;
        let place = Place { address, token, path: path.to_owned() };
        let tool = subject.tools[0].clone();
        Ok(Self {
            running,
            _pipes: (to, from),
            place,
            tool,
            caller: None,
            callers: Vec::new(),
            tiny_length: 0,
        })
    }

    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// The handshake, and a first small call whose answer is read in full: the later ones are only compared with it.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let mut caller = self.session()?;
        let id = caller.mint();
        let mut request = Vec::new();
        wire::push_call(&mut request, id, &self.tool, &[]);
        caller.post(request.trim_ascii_end())?;
        let answer = caller.receive()?;
        let message = caller.message(&answer, id)?;
        let parsed: Value = serde_json::from_slice(message).map_err(|error| Failure(error.to_string()))?;
        if parsed["result"]["content"][0]["text"] != TINY_TEXT {
            return Err(wrong(id, message));
        }
        self.tiny_length = message.len() - digits(id);
        self.caller = Some(caller);
        Ok(())
    }

    /// A connection of its own, with a session of its own if the server has sessions.
    pub(super) fn session(&self) -> Result<Client, Failure> {
        let mut client = Client::connect(&self.place)?;
        let id = client.mint();
        let parameters = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "switchboard-bench", "version": env!("CARGO_PKG_VERSION") },
        });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": parameters });
        client.post(request.to_string().as_bytes())?;
        let answer = client.receive()?;
        client.message(&answer, id)?;
        if let Some(session) = &answer.session {
            client.join(session);
        }
        client.post(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        match client.receive()?.status {
            202 => Ok(client),
            status => Err(Failure(format!("a notification was answered with the status {status}"))),
        }
    }

    /// A second connection for the session's own stream, as clients have.
    pub(super) fn stream_of(&self, badge: &Badge) -> Result<Client, Failure> {
        let mut stream = self.again(badge)?;
        stream.open_stream()?;
        Ok(stream)
    }

    /// One more connection of a session.
    pub(super) fn again(&self, badge: &Badge) -> Result<Client, Failure> {
        let mut client = Client::connect(&self.place)?;
        client.speak_as(badge);
        Ok(client)
    }

    pub(super) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        let caller = self.caller.as_mut().expect("the handshake comes first");
        calls(caller, &self.tool, count, self.tiny_length, round_trips)
    }

    /// One call of a session.
    pub(super) fn call_once(&self, client: &mut Client) -> Result<(), Failure> {
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
        // Only what stands around the arguments is made here: they are not copied.
        let cut = start.iter().position(|byte| *byte == b'?').expect("it was put there");
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
            return Err(wrong(id, message));
        }
        Ok(took)
    }

    /// Ends the server as a service manager does.
    pub(super) fn close(self) -> Result<(), Failure> {
        drop((self.caller, self.callers));
        self.running.tell_to_end()?;
        self.running.ended("SIGTERM")
    }
}

/// Sequential small calls.
fn calls(
    client: &mut Client,
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
            return Err(wrong(id, message));
        }
        round_trips.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// Where it listens, and its token, as it says them on stderr.
fn listening(running: &Running) -> Result<(SocketAddr, Option<String>), Failure> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    loop {
        let said = running.said();
        let word_after = |mark: &str| said.split_once(mark)?.1.split_whitespace().next();
        // The line may be there in part.
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
