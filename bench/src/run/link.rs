//! A running subject and its client, over pipes or HTTP: the interface for measurements.

use std::path::Path;
use std::time::Duration;

use super::Failure;
use super::http::HttpSubject;
use super::pipes::PipedSubject;
use super::running::Running;
use super::subject::{Subject, Via};
use super::watchdog::Watchdog;

pub(super) trait Link {
    fn running(&self) -> &Running;

    /// Makes the handshake, and a first call whose answer is parsed.
    fn settle(&mut self) -> Result<(), Failure>;

    /// Sequential small calls; the round trip of each goes to `round_trips`, in nanoseconds.
    fn tiny_calls(&mut self, count: usize, round_trips: &mut Vec<u32>) -> Result<(), Failure>;

    /// Small calls of this many callers: over pipes they share one connection, over HTTP each has its own.
    fn tiny_calls_at_once(&mut self, count: usize, callers: usize) -> Result<Duration, Failure>;

    /// A call with a large text up, down or both. The answer must be `expected`, byte for byte.
    fn large_call(&mut self, tool: &str, args: &[&[u8]], expected: &[u8]) -> Result<Duration, Failure>;

    /// Sequential lists; the time of each goes to `micros`.
    fn lists(&mut self, _count: usize, _micros: &mut Vec<u32>) -> Result<(), Failure> {
        Err(Failure("lists are not measured over HTTP".to_owned()))
    }

    fn http(&mut self) -> Option<&mut HttpSubject> {
        None
    }

    /// Ends the subject as its user would, and waits for its end.
    fn close(self: Box<Self>) -> Result<(), Failure>;

    fn pid(&self) -> u32 {
        self.running().pid()
    }
}

/// Starts the subject, and sends nothing yet.
pub(super) fn spawn(subject: &Subject, dog: &Watchdog, scratch: &Path) -> Result<Box<dyn Link>, Failure> {
    Ok(match &subject.via {
        Via::Pipes => Box::new(PipedSubject::spawn(subject, dog, scratch)?),
        Via::Http { path } => Box::new(HttpSubject::spawn(subject, path, dog, scratch)?),
    })
}

/// Runs `turn` with this subject's time counting, and explains a failure.
pub(super) fn turn<L: Link + ?Sized>(
    link: &mut L,
    turn: impl FnOnce(&mut L) -> Result<(), Failure>,
) -> Result<(), Failure> {
    link.running().begin_turn();
    let outcome = turn(link).map_err(|failure| link.running().explain(failure));
    link.running().end_turn();
    outcome
}
