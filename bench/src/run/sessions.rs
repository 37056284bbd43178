//! Memory of a gateway with many sessions over HTTP, and the number of servers that run for them.

use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use switchboard_testkit::http::{KeepAlive, Web};

use super::figures::{Crowd, Measure};
use super::http::HttpSubject;
use super::link::Link;
use super::options::Section;
use super::round::Round;
use super::{Bench, Failure};
use crate::procfs;

const QUIET: Duration = Duration::from_secs(1);
const CALLING: usize = 200;
const IDLE: usize = 1_000;
/// Name of the benchmark's backend in /proc.
const BACKEND: &str = "switchboard-ben";

pub(super) fn measure(bench: &mut Bench) {
    allow_many_files();
    for index in 0..bench.plan.idle_rounds {
        for crowd in [calling, idle] {
            let mut found = vec![Vec::new(); bench.subjects.len()];
            let mut round = Round::open(bench, Section::Sessions, index);
            round.each(|subject, link| {
                if let Some(server) = link.http() {
                    found[subject] = crowd(server)?;
                }
                Ok(())
            });
            for subject in round.close() {
                for (measure, value) in &found[subject] {
                    bench.figures.record(*measure, subject, index, *value);
                }
            }
        }
    }
}

/// Sessions with a connection of their own, each of which has called.
fn calling(server: &mut HttpSubject) -> Result<Vec<(Measure, f64)>, Failure> {
    let mut clients = Vec::new();
    for _ in 0..CALLING {
        let client = server.session()?;
        clients.push(server.call_once(client)?);
    }
    let resident = memory(server)?;
    let below = procfs::resident_below(server.running().pid());
    let backends = below.iter().filter(|(name, _)| name == BACKEND).count();
    Ok(vec![(Measure::Sessions(Crowd::Calling), resident), (Measure::Backends, backends as f64)])
}

/// Clients close an unused connection, and keep a stream. So sessions are counted first without connections,
/// then with streams, and at last with everything possible.
fn idle(server: &mut HttpSubject) -> Result<Vec<(Measure, f64)>, Failure> {
    let sessions: Vec<Web> =
        (0..IDLE).map(|_| server.session().map(KeepAlive::leave)).collect::<Result<_, _>>()?;
    let without = memory(server)?;
    let mut streams = Vec::new();
    for session in &sessions[..IDLE / 2] {
        let stream = session.get(server.path()).try_send()?;
        if stream.status != 200 || !stream.is_stream() {
            return Err(Failure(format!("no stream, but the status {}", stream.status)));
        }
        streams.push(stream);
    }
    let streaming = memory(server)?;
    let mut clients = Vec::new();
    for session in &sessions {
        let client = KeepAlive::connect(session, server.path())?;
        clients.push(server.call_once(client)?);
    }
    let connected = memory(server)?;
    Ok(vec![
        (Measure::Sessions(Crowd::Idle), without),
        (Measure::Sessions(Crowd::Streaming), streaming),
        (Measure::Sessions(Crowd::Connected), connected),
    ])
}

fn memory(server: &HttpSubject) -> Result<f64, Failure> {
    thread::sleep(QUIET);
    Ok(procfs::resident_mib(server.running().pid())?)
}

/// A connection is a descriptor of ours too.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With too few descriptors the measurement fails with a message.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
