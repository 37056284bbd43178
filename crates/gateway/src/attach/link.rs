//! Connection to the daemon, which is started on demand. To the core it is a kind of backend that may end at
//! any time. Must not know why a client's streams are handed over.

use crate::attach::sweeps::Sweeps;
use crate::backends::{BackendKind, BackendOrder, BackendOrders};
use crate::fronts::local::hello::{self, Newcomer, Reply, Wants, is_nobody};
use crate::hub::reading::read_backend;
use crate::hub::{BackendSetting, Hub};
use crate::io::task;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_core::{Event, Launch, Peer, StopHow};
use switchboard_process::local::{self, Address, Connection, StartLock};
use switchboard_process::lock::Lock;
use switchboard_protocol::{Framer, Framing};

/// Time limit for a new daemon to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Command that starts a daemon.
#[derive(Debug, Clone)]
pub struct DaemonCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// File for the daemon's stderr.
    pub log: Option<PathBuf>,
}

pub(crate) struct Link {
    address: Address,
    command: DaemonCommand,
    newcomer: Newcomer,
    max_message_bytes: usize,
    sweeps: Sweeps,
    /// Connection made in advance, for the first start.
    first: Lock<Option<Connection>>,
}

impl Link {
    pub(crate) fn new(
        address: Address,
        command: DaemonCommand,
        newcomer: Newcomer,
        max_message_bytes: usize,
        sweeps: Sweeps,
    ) -> Arc<Self> {
        Arc::new(Self { address, command, newcomer, max_message_bytes, sweeps, first: Lock::default() })
    }

    pub(crate) fn newcomer(&self) -> &Newcomer {
        &self.newcomer
    }

    pub(crate) fn sweeps(&self) -> &Sweeps {
        &self.sweeps
    }

    /// Keeps a connection for the first start.
    pub(crate) fn keep(&self, connection: Connection) {
        *self.first.lock() = Some(connection);
    }

    /// Connects and says hello, starting a daemon if there is none. The flag says whether the
    /// daemon takes the client's streams.
    pub(crate) async fn open(&self, streams: bool) -> io::Result<(Connection, bool)> {
        if let Some(opened) = self.try_open(streams).await? {
            return Ok(opened);
        }
        // Only one window starts a daemon at a time; the others wait and find it running.
        let lock = tokio::time::timeout(START_TIMEOUT, StartLock::take(&self.address)).await;
        let late = || {
            io::Error::new(io::ErrorKind::TimedOut, "another window is starting a daemon and takes too long")
        };
        let _lock = lock.map_err(|_| late())??;
        // Another window may have started a daemon while this one waited for the lock.
        if let Some(opened) = self.try_open(streams).await? {
            return Ok(opened);
        }
        let DaemonCommand { program, args, env, log } = &self.command;
        local::start_detached(program, args, env, log.as_deref())?;
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(opened) = self.try_open(streams).await? {
                return Ok(opened);
            }
            if Instant::now() > deadline {
                let text = format!("the daemon did not answer within {} s", START_TIMEOUT.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            tokio::time::sleep(CONNECT_RETRY_INTERVAL).await;
        }
    }

    /// Connects to a running daemon. `None` if there is none, or only one that is about to end.
    async fn try_open(&self, streams: bool) -> io::Result<Option<(Connection, bool)>> {
        let mut connection = match local::connect(&self.address).await {
            Ok(connection) => connection,
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        // The relay's own connection carries messages, so it never offers streams.
        let wants = Wants::Client(Box::new(self.newcomer.clone().offering_streams(streams)));
        let reply = match hello::ask(&mut connection, wants).await {
            Ok(reply) => reply,
            // The daemon ended between connect and answer.
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if hello::is_newer(&hello::version(), &reply.version) {
            // A connection carries one request, so asking the old daemon to end needs another.
            drop(connection);
            self.retire().await;
            return Ok(None);
        }
        match reply {
            // A refusal ends the attempt: the daemon that refuses holds the socket, so no
            // other can be started.
            Reply { error: Some(why), .. } => Err(io::Error::other(why)),
            reply => {
                reply.check_narrowed(&self.newcomer)?;
                Ok(Some((connection, streams && reply.takes_streams())))
            }
        }
    }

    /// Asks an older daemon to end in favor of a newer one.
    async fn retire(&self) {
        if let Ok(mut connection) = local::connect(&self.address).await {
            // A failure is ignored: a daemon that has ended needs no request to end.
            let _ = hello::ask(&mut connection, Wants::Retire).await;
        }
    }
}

impl BackendKind for Link {
    fn start(self: Arc<Self>, hub: Arc<Hub>, launch: Launch, _: BackendSetting, orders: BackendOrders) {
        task::spawn("link", async move { run(&self, hub, launch, orders).await });
    }
}

/// Governs one connection from start to end.
async fn run(link: &Link, hub: Arc<Hub>, launch: Launch, mut orders: BackendOrders) {
    // A separate statement, since a lock taken in the `match` would be held across its await.
    let ready = link.first.lock().take();
    let opened = match ready {
        Some(connection) => Ok(connection),
        None => link.open(false).await.map(|(connection, _)| connection),
    };
    let Connection { reader, writer, peer, .. } = match opened {
        Ok(connection) => connection,
        Err(error) => {
            let mut turn = hub.turn();
            turn.forget(launch);
            let hint = "`switchboard status` shows running daemons; `--solo` works without one".to_owned();
            let reason = format!("cannot reach or start the daemon: {error}");
            return turn.handle(Event::SpawnFailed { launch, reason, hint: Some(hint) });
        }
    };
    // Taken while the daemon runs: afterwards its process id may belong to another process.
    let witness = link.sweeps.witness(peer);
    hub.open_outbox(Peer::Backend(launch), writer, Framing::Newline);
    hub.handle(Event::Spawned { launch, pid: peer });
    let framer = Framer::new(Some(Framing::Newline), link.max_message_bytes);
    let reading = read_backend(&hub, launch, reader, framer);
    tokio::pin!(reading);
    let how = tokio::select! {
        () = &mut reading => {
            link.sweeps.clear_up_after(witness);
            "the connection to the daemon ended"
        }
        order = orders.recv() => {
            // Our half of the connection is closed already. Answers that are under way still
            // arrive within the grace period.
            if let Some(BackendOrder::Stop(StopHow::Gently { grace })) = order {
                let _ = tokio::time::timeout(grace, &mut reading).await;
            }
            "it was closed"
        }
    };
    let mut turn = hub.turn();
    turn.forget(launch);
    turn.handle(Event::BackendEnded { launch, how: how.to_owned(), stderr: String::new(), hint: None });
}
