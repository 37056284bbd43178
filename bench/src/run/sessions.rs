//! What a gateway holds in memory that has many sessions over HTTP, and how many servers run for them.

use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::figures::{Crowd, Measure};
use super::http::{Badge, Client, Connection};
use super::link::Link;
use super::options::Section;
use super::round::Round;
use super::{Bench, Failure, procfs};

const QUIET: Duration = Duration::from_secs(1);
const CALLING: usize = 200;
const IDLE: usize = 1_000;
/// How /proc calls the benchmark's backend.
const BACKEND: &str = "switchboard-ben";

pub(super) fn measure(bench: &mut Bench) {
    allow_many_files();
    for index in 0..bench.plan.idle_rounds {
        for crowd in [calling, idle] {
            let mut found = vec![Vec::new(); bench.subjects.len()];
            let mut round = Round::open(bench, Section::Sessions, index);
            round.each(|subject, link| {
                if let Link::Http(server) = link {
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

/// Each has a connection of its own, and has called.
fn calling(server: &mut Connection) -> Result<Vec<(Measure, f64)>, Failure> {
    let mut clients = Vec::new();
    for _ in 0..CALLING {
        let mut client = server.session()?;
        server.call_once(&mut client)?;
        clients.push(client);
    }
    let resident = memory(server)?;
    let below = procfs::resident_below(server.running().pid())?;
    let backends = below.iter().filter(|(name, _)| name == BACKEND).count();
    Ok(vec![(Measure::Sessions(Crowd::Calling), resident), (Measure::Backends, backends as f64)])
}

/// Clients close a connection that they do not use, and keep a stream. So they are counted first without connections,
/// then with streams, and in the end with all that there could be.
fn idle(server: &mut Connection) -> Result<Vec<(Measure, f64)>, Failure> {
    let sessions: Vec<Badge> =
        (0..IDLE).map(|_| server.session().map(Client::leave)).collect::<Result<_, _>>()?;
    let without = memory(server)?;
    let mut clients = Vec::new();
    for session in &sessions[..IDLE / 2] {
        clients.push(server.stream_of(session)?);
    }
    let streaming = memory(server)?;
    for session in &sessions {
        let mut client = server.again(session)?;
        server.call_once(&mut client)?;
        clients.push(client);
    }
    let connected = memory(server)?;
    Ok(vec![
        (Measure::Sessions(Crowd::Idle), without),
        (Measure::Sessions(Crowd::Streaming), streaming),
        (Measure::Sessions(Crowd::Connected), connected),
    ])
}

fn memory(server: &Connection) -> Result<f64, Failure> {
    thread::sleep(QUIET);
    Ok(procfs::resident_mib(server.running().pid())?)
}

/// A connection is a descriptor of ours too.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer than it needs the measurement fails, and says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
