//! A running program, called by one client over pipes or HTTP.

use crate::caller::{Caller, Transport};
use crate::{callers, listening, procfs};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::process::Child;
use switchboard_testkit::client::{Pipes, Program, Start};
use switchboard_testkit::http::KeepAlive;
use switchboard_testkit::message::{self, MODERN, Profile};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::wire::PROTOCOL_VERSION;

/// Callers at once: over pipes they share one connection, over HTTP each has its own.
pub(super) const CALLERS: usize = 64;

/// The messages of a client and its server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Legacy,
    /// Legacy, with calls as long as modern ones: their `_meta` has unknown keys.
    LongLegacy,
    Modern,
    /// A legacy client with a modern server.
    ToModern,
    /// A modern client with a legacy server.
    ToLegacy,
}

impl Speech {
    pub(super) fn has_modern_server(self) -> bool {
        matches!(self, Self::Modern | Self::ToModern)
    }

    fn has_modern_client(self) -> bool {
        matches!(self, Self::Modern | Self::ToLegacy)
    }
}

/// The figures of one turn.
#[derive(Clone, Copy, Default)]
pub(super) struct Sample {
    /// Median round trip of one caller, in microseconds.
    pub(super) round_trip: f64,
    /// Calls per second of many callers.
    pub(super) rate: f64,
    /// CPU time of the program per call of many callers, in microseconds.
    pub(super) cpu: f64,
}

/// The processes that carry the messages.
pub(super) enum Serving {
    Itself,
    /// The daemon, to which the started program has given its streams.
    Daemon(Vec<u32>),
}

enum Client {
    Pipes(Box<Caller<Pipes>>),
    /// The first caller makes sequential calls.
    Http {
        callers: Vec<Caller<KeepAlive>>,
        _pipes: Pipes,
    },
}

pub(super) struct Subject {
    child: Child,
    client: Client,
    serving: Serving,
    /// Removed with the subject, after the end of its daemon.
    _scratch: Scratch,
}

/// Capabilities of a usual client, in both eras.
fn capabilities() -> Value {
    json!({ "elicitation": {}, "roots": { "listChanged": true } })
}

fn legacy_hello() -> Value {
    message::initialize_params("testkit", PROTOCOL_VERSION, capabilities())
}

fn dress(params: Value) -> Value {
    Profile::declaring(capabilities()).dress(params)
}

impl Speech {
    fn dressed<T: Transport>(self, caller: Caller<T>) -> Caller<T> {
        let meta = dress(json!({}))["_meta"].take();
        let unknown = |(key, value): (&String, &Value)| (key.replacen("io.", "xx.", 1), value.clone());
        match self {
            Self::Legacy | Self::ToModern => caller,
            Self::LongLegacy => {
                caller.with_meta(&meta.as_object().into_iter().flatten().map(unknown).collect())
            }
            Self::Modern | Self::ToLegacy => caller.with_meta(&meta),
        }
    }
}

impl Subject {
    /// Starts a program that is called over its pipes.
    pub(super) fn over_pipes(
        start: Start,
        scratch: Scratch,
        speech: Speech,
        tools: Vec<String>,
    ) -> io::Result<Self> {
        let Program { child, mut pipes } = start.program()?;
        let hello = match speech.has_modern_client() {
            false => pipes.initialize(legacy_hello())?,
            // The floor for many servers answers every request but calls with the same welcome.
            true => pipes.request("server/discover", dress(json!({})))?,
        };
        if hello["result"].is_null() {
            return Err(io::Error::other(format!("the first request was answered with {hello}")));
        }
        let mut caller = speech.dressed(Caller::new(pipes, tools));
        caller.first_calls()?;
        let client = Client::Pipes(Box::new(caller));
        Ok(Self { child, client, serving: Serving::Itself, _scratch: scratch })
    }

    /// Starts a program that is called over HTTP, at the address that it prints on stderr.
    pub(super) fn over_http(
        start: Start,
        scratch: Scratch,
        speech: Speech,
        path: &str,
        tool: &str,
    ) -> io::Result<Self> {
        let log = scratch.join("stderr");
        let Program { child, pipes } = start.stderr(File::create(&log)?).program()?;
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let web = listening::web(said, &scratch.state(""))?;
        let web = match speech.has_modern_client() {
            false => web.with("MCP-Protocol-Version", PROTOCOL_VERSION),
            true => {
                let web = web.with("MCP-Protocol-Version", MODERN);
                web.with("Mcp-Method", "tools/call").with("Mcp-Name", tool)
            }
        };
        let callers = (0..CALLERS).map(|_| {
            let mut connection = KeepAlive::connect(&web, path)?;
            if !speech.has_modern_client() {
                connection.initialize(legacy_hello())?;
            }
            let mut caller = speech.dressed(Caller::new(connection, vec![tool.to_owned()]));
            caller.first_calls()?;
            Ok(caller)
        });
        let client = Client::Http { callers: callers.collect::<io::Result<_>>()?, _pipes: pipes };
        Ok(Self { child, client, serving: Serving::Itself, _scratch: scratch })
    }

    pub(super) fn served_by(self, serving: Serving) -> Self {
        Self { serving, ..self }
    }

    pub(super) fn measure(&mut self, calls: usize, calls_at_once: usize) -> io::Result<Sample> {
        let mut times = Vec::with_capacity(calls);
        match &mut self.client {
            Client::Pipes(caller) => caller.tiny_calls(calls, &mut times)?,
            Client::Http { callers, .. } => callers[0].tiny_calls(calls, &mut times)?,
        }
        times.sort_unstable();
        let before = self.cpu_ns()?;
        let took = match &mut self.client {
            Client::Pipes(caller) => caller.tiny_calls_at_once(calls_at_once, CALLERS)?,
            Client::Http { callers, .. } => callers::call(callers, calls_at_once)?,
        };
        let spent = self.cpu_ns()? - before;
        Ok(Sample {
            round_trip: f64::from(times[times.len() / 2]) / 1e3,
            rate: calls_at_once as f64 / took.as_secs_f64(),
            cpu: spent as f64 / 1e3 / calls_at_once as f64,
        })
    }

    fn cpu_ns(&self) -> io::Result<u64> {
        match &self.serving {
            Serving::Itself => procfs::cpu_ns(self.child.id()),
            Serving::Daemon(daemons) => daemons.iter().map(|daemon| procfs::cpu_ns(*daemon)).sum(),
        }
    }

    pub(super) fn close(mut self) -> io::Result<()> {
        if let Client::Http { .. } = self.client {
            pids::tell(self.child.id(), Word::Terminate);
        }
        drop(self.client);
        self.child.wait().map(drop)
    }
}
