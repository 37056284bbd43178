//! The way to the daemon: found, or started if there is none. For an attachment it is what a server's process is
//! otherwise: something that is started, spoken to, and may end at any time.

use crate::attach::handover::lend;
use crate::attach::sweeps::Sweeps;
use crate::backends::Plan;
use crate::backends::process::Order;
use crate::fronts::local::hello::{self, Newcomer, Reply, Wants};
use crate::hub::Hub;
use crate::io::reader;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use switchboard_core::{Event, Launch, Peer, StopHow};
use switchboard_process::local::{self, Address, Connection, StartLock};
use switchboard_protocol::{Framer, Framing};
use tokio::sync::mpsc;

/// How long a daemon may take until it listens.
const START: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);

/// How a daemon is started.
#[derive(Debug, Clone)]
pub struct DaemonCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// Where its stderr goes.
    pub log: Option<PathBuf>,
}

pub(crate) struct Link {
    pub(crate) address: Address,
    pub(crate) command: DaemonCommand,
    pub(crate) newcomer: Newcomer,
    pub(crate) max_message_bytes: usize,
    pub(crate) sweeps: Sweeps,
    /// A connection that was made before anybody needed it.
    pub(crate) first: Mutex<Option<Connection>>,
}

impl Link {
    /// Connected and greeted; and whether the other takes the client's own streams, if they are offered.
    pub(crate) async fn open(&self, streams: bool) -> io::Result<(Connection, bool)> {
        if let Some(opened) = self.try_open(streams).await? {
            return Ok(opened);
        }
        let lock = tokio::time::timeout(START, StartLock::take(&self.address)).await;
        let late = || {
            io::Error::new(io::ErrorKind::TimedOut, "another window has been starting a daemon for too long")
        };
        let _lock = lock.map_err(|_| late())??;
        // Another may have started it meanwhile.
        if let Some(opened) = self.try_open(streams).await? {
            return Ok(opened);
        }
        let DaemonCommand { program, args, env, log } = &self.command;
        local::start_detached(program, args, env, log.as_deref())?;
        let deadline = Instant::now() + START;
        loop {
            if let Some(opened) = self.try_open(streams).await? {
                return Ok(opened);
            }
            if Instant::now() > deadline {
                let text = format!("the daemon did not answer within {} s", START.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Nothing if nobody listens, or only one that is about to go.
    async fn try_open(&self, streams: bool) -> io::Result<Option<(Connection, bool)>> {
        let mut connection = match local::connect(&self.address).await {
            Ok(connection) => connection,
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let handover = if streams { hello::HANDOVER } else { 0 };
        let wants = Wants::Client(Box::new(Newcomer { handover, ..self.newcomer.clone() }));
        let reply = match hello::ask(&mut connection, wants).await {
            Ok(reply) => reply,
            // It ended just now.
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if hello::is_newer(&hello::version(), &reply.version) {
            drop(connection);
            self.retire().await;
            return Ok(None);
        }
        match reply {
            Reply { error: Some(why), .. } => Err(io::Error::other(why)),
            reply => Ok(Some((connection, streams && lend::takes_streams(&reply)))),
        }
    }

    /// Asks an older daemon to make room for a newer one.
    async fn retire(&self) {
        if let Ok(mut connection) = local::connect(&self.address).await {
            let _ = hello::ask(&mut connection, Wants::Retire).await;
        }
    }
}

/// Nobody listens there, or not any more.
pub(crate) fn is_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// One connection, from its start to its end.
pub(crate) async fn run(hub: Arc<Hub>, launch: Launch, mut orders: mpsc::Receiver<Order>) {
    let Plan::Daemon(link) = hub.plan() else { return };
    let ready = link.first.lock().unwrap_or_else(PoisonError::into_inner).take();
    let opened = match ready {
        Some(connection) => Ok(connection),
        None => link.open(false).await.map(|(connection, _)| connection),
    };
    let Connection { reader, writer, peer, .. } = match opened {
        Ok(connection) => connection,
        Err(error) => {
            let mut turn = hub.turn();
            turn.forget(launch);
            let hint = "`switchboard status` says what is there; `--solo` does without a daemon".to_owned();
            let reason = format!("cannot reach or start the daemon: {error}");
            return turn.handle(Event::SpawnFailed { launch, reason, hint: Some(hint) });
        }
    };
    let witness = link.sweeps.witness(peer);
    hub.open_outbox(Peer::Backend(launch), writer, Framing::Newline);
    hub.handle(Event::Spawned { launch, pid: peer });
    let framer = Framer::new(Some(Framing::Newline), link.max_message_bytes);
    let reading = reader::read_backend(&hub, launch, reader, framer);
    tokio::pin!(reading);
    let how = tokio::select! {
        () = &mut reading => {
            link.sweeps.clear_up_after(witness);
            "the connection to the daemon ended"
        }
        order = orders.recv() => {
            // Our side is closed already. What the daemon still says is heard, for a while.
            if let Some(Order::Stop(StopHow::Gently { grace })) = order {
                let _ = tokio::time::timeout(grace, &mut reading).await;
            }
            "it was closed"
        }
    };
    let mut turn = hub.turn();
    turn.forget(launch);
    turn.handle(Event::BackendEnded { launch, how: how.to_owned(), stderr: String::new(), hint: None });
}
