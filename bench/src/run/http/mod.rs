//! A running subject that is called over HTTP.
//!
//! - [`subjects`]: the programs to compare.

pub(super) mod subjects;

use std::path::Path;
use std::time::Duration;

use switchboard_testkit::client::Pipes;
use switchboard_testkit::http::{KeepAlive, Web};
use switchboard_testkit::wire::PROTOCOL_VERSION;

use super::Failure;
use super::link::Link;
use super::running::{self, Running};
use super::subject::Subject;
use super::watchdog::Watchdog;
use crate::caller::{Caller, initialize_params};
use crate::{callers, listening};

pub(super) struct HttpSubject {
    running: Running,
    /// Held open: the end of either pipe would mean that the client is gone.
    _pipes: Pipes,
    web: Web,
    path: String,
    /// The first caller makes sequential calls; all make concurrent calls. Connected when needed.
    callers: Vec<Caller<KeepAlive>>,
    tools: Vec<String>,
}

impl HttpSubject {
    pub(super) fn spawn(
        subject: &Subject,
        path: &str,
        dog: &Watchdog,
        scratch: &Path,
    ) -> Result<Self, Failure> {
        let (running, pipes) = Running::spawn(subject, dog, scratch)?;
        let web = listening::web(|| running.said(), &running::state_folder(scratch));
        let web = web.map_err(|error| running.explain(error.into()))?;
        let web = web.with("Mcp-Protocol-Version", PROTOCOL_VERSION);
        Ok(Self {
            running,
            _pipes: pipes,
            web,
            path: path.to_owned(),
            callers: Vec::new(),
            tools: subject.tools.clone(),
        })
    }

    /// The path of the MCP endpoint.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A connection of its own, with a session of its own if the server has sessions.
    pub(super) fn session(&self) -> Result<KeepAlive, Failure> {
        let mut client = KeepAlive::connect(&self.web, &self.path)?;
        client.initialize(initialize_params())?;
        Ok(client)
    }

    /// The caller whose answers are the reference.
    pub(super) fn first(&mut self) -> &mut Caller<KeepAlive> {
        self.callers.first_mut().expect("`settle` comes first")
    }

    /// A single small call over this connection.
    pub(super) fn call_once(&mut self, client: KeepAlive) -> Result<Caller<KeepAlive>, Failure> {
        let mut caller = self.first().beside(client);
        caller.tiny_calls(1, &mut Vec::new())?;
        Ok(caller)
    }
}

impl Link for HttpSubject {
    fn running(&self) -> &Running {
        &self.running
    }

    fn settle(&mut self) -> Result<(), Failure> {
        let mut caller = Caller::new(self.session()?, self.tools.clone());
        caller.first_calls()?;
        self.callers = vec![caller];
        Ok(())
    }

    fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        Ok(self.first().tiny_calls(count, round_trips)?)
    }

    fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure> {
        while self.callers.len() < callers {
            let session = self.session()?;
            let caller = self.first().beside(session);
            self.callers.push(caller);
        }
        Ok(callers::call(&mut self.callers[..callers], count)?)
    }

    fn large_call(&mut self, tool: &str, args: &[&[u8]], expected: &[u8]) -> Result<Duration, Failure> {
        Ok(self.first().large_call(tool, args, expected)?)
    }

    fn http(&mut self) -> Option<&mut HttpSubject> {
        Some(self)
    }

    /// Ends the server as a service manager does.
    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.callers);
        self.running.tell_to_end();
        self.running.ended("SIGTERM")
    }
}
