//! A running subject, called over pipes or over HTTP. The only view that measurements have of it.

use std::path::Path;
use std::time::Duration;

use super::Failure;
use super::http::HttpSubject;
use super::pipes::PipedSubject;
use super::running::Running;
use super::subject::{Subject, Via};
use super::watchdog::Watchdog;

pub(super) enum Link {
    Pipes(PipedSubject),
    Http(HttpSubject),
}

impl Link {
    /// Starts the subject, and sends nothing yet.
    pub(super) fn spawn(subject: &Subject, dog: &Watchdog, scratch: &Path) -> Result<Self, Failure> {
        match &subject.via {
            Via::Pipes => PipedSubject::spawn(subject, dog, scratch).map(Self::Pipes),
            Via::Http { path } => HttpSubject::spawn(subject, path, dog, scratch).map(Self::Http),
        }
    }

    fn running(&self) -> &Running {
        match self {
            Self::Pipes(pipes) => pipes.running(),
            Self::Http(http) => http.running(),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.running().pid()
    }

    /// Runs `turn` with this subject's time counting, and explains a failure.
    pub(super) fn turn(
        &mut self,
        turn: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.running().begin_turn();
        let outcome = turn(self).map_err(|failure| self.running().explain(failure));
        self.running().end_turn();
        outcome
    }

    /// Brings it to where it can be called.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        match self {
            Self::Pipes(pipes) => pipes.settle(),
            Self::Http(http) => http.settle(),
        }
    }

    /// Sequential small calls; the round trip of each goes to `round_trips`, in nanoseconds.
    pub(super) fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure> {
        match self {
            Self::Pipes(pipes) => Ok(pipes.caller().tiny_calls(count, round_trips)?),
            Self::Http(http) => http.tiny_calls(count, round_trips),
        }
    }

    /// Small calls of so many callers: over pipes they share one connection, over HTTP each has a connection of its own.
    pub(super) fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure> {
        match self {
            Self::Pipes(pipes) => Ok(pipes.caller().tiny_calls_at_once(count, callers)?),
            Self::Http(http) => http.tiny_calls_at_once(count, callers),
        }
    }

    /// One call with a large text up, down or both. The answer must be `expected`, byte for byte.
    pub(super) fn large_call(
        &mut self,
        tool: &str,
        arguments: &[&[u8]],
        expected: &[u8],
    ) -> Result<Duration, Failure> {
        match self {
            Self::Pipes(pipes) => Ok(pipes.caller().large_call(tool, arguments, expected)?),
            Self::Http(http) => http.large_call(tool, arguments, expected),
        }
    }

    /// One list after the other; the time of each goes to `micros`.
    pub(super) fn lists(&mut self, count: usize, micros: &mut Vec<u32>) -> Result<(), Failure> {
        match self {
            Self::Pipes(pipes) => pipes.lists(count, micros),
            Self::Http(_) => Err(Failure("lists are not measured over HTTP".to_owned())),
        }
    }

    /// Ends the subject as its user would, and waits for its end.
    pub(super) fn close(self) -> Result<(), Failure> {
        match self {
            Self::Pipes(pipes) => pipes.close(),
            Self::Http(http) => http.close(),
        }
    }
}
