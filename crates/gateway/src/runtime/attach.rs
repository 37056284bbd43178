//! A client on our standard streams, served by the user's one daemon: through its own streams where they can
//! be handed over, otherwise through a relay.

use super::tasks::{LAST_WRITES_TIMEOUT, Tasks};
use crate::attach::handover::{self, HoldState, Lent, Lookout};
use crate::attach::link::{DaemonCommand, Link};
use crate::attach::relay;
use crate::attach::sweeps::Sweeps;
use crate::backends::{Dispatch, launch};
use crate::config::Config;
use crate::fronts::local::hello::{AdHoc, Newcomer};
use crate::fronts::{self, Arrival, StreamOptions, Wanted};
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::io::task;
use crate::settings::{self, RootOptions};
use crate::telemetry::{Telemetry, WindowLog};
use crate::tokens::Secret;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{ClientId, Core, Event, ServerId, Surroundings};
use switchboard_process::handover::Streams;
use switchboard_process::local::Address;
use switchboard_process::memory::forget_the_start;
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;

/// Time after which a client has made its handshake and has its lists.
const STARTUP_TIME: Duration = Duration::from_secs(2);

/// Client and daemon of an attachment.
pub struct Attach {
    pub config: Config,
    /// Name of the server; `None` for all servers of the config, as one.
    pub server: Option<String>,
    /// Profile of the config that narrows the client's rights.
    pub profile: Option<String>,
    /// Launch of a server that is not in the config.
    pub ad_hoc: Option<AdHoc>,
    pub roots: RootOptions,
    pub address: Address,
    pub state_folder: PathBuf,
    pub command: DaemonCommand,
    pub log: WindowLog,
    /// Token of the client.
    pub token: Option<Secret>,
    pub ignore_parent: bool,
}

/// The client's streams, while every message is relayed.
enum RelayedStreams {
    Own(OwnStdio),
    /// Lent to a daemon before.
    Returned(Streams),
}

/// No daemon can be reached or started; the streams are returned to the caller.
pub struct Alone {
    pub stdio: OwnStdio,
    pub why: io::Error,
}

/// Serves the client until it ends or a signal arrives. Must be called within a tokio runtime.
pub async fn run(attach: Attach, stdio: OwnStdio) -> Result<(), Alone> {
    let parent = Parent::watch();
    let sweeps = Sweeps::new(launch::runs_folder(&attach.state_folder));
    let newcomer = Newcomer {
        // The default is not sent, so that the daemon opens no separate log for this window.
        log: Some(attach.log).filter(|log| !log.is_default()),
        token: attach.token,
        ..relay::newcomer(attach.server.as_deref(), attach.profile, attach.ad_hoc, &attach.roots)
    };
    let limit = attach.config.max_message_bytes;
    let link = Link::new(attach.address, attach.command, newcomer, limit, sweeps.clone());
    let signals = match Signals::new() {
        Ok(signals) => signals,
        // The streams go back to the caller, which can still serve the client without a daemon.
        Err(why) => return Err(Alone { stdio, why }),
    };
    let streams = handover::streams_of(&stdio);
    let (connection, takes_streams) = match link.open(streams.is_some()).await {
        Ok(opened) => opened,
        Err(why) => return Err(Alone { stdio, why }),
    };
    let mut forgetting = Tasks::default();
    forgetting.spawn("forgetting", async {
        tokio::time::sleep(STARTUP_TIME).await;
        // Releases pages of the program that only the start needed: from now on this process mostly waits.
        forget_the_start();
    });
    let grace = attach.config.shutdown_grace;
    let lookout = Lookout { signals, parent, ignore_parent: attach.ignore_parent, grace };
    let (streams, lookout) = match streams.filter(|_| takes_streams) {
        Some(streams) => {
            // The daemon reads the client's streams from here on; a registration here would wake
            // this process for each message.
            drop(stdio);
            let lender = link.clone();
            let lent = async move { handover::lend(&lender, connection, streams, lookout).await };
            // A join error needs no report: a panic in a task has ended the process by then.
            let Ok(lent) = task::spawn("lending", lent).await else { return Ok(()) };
            let Lent::Back(streams, lookout) = lent else {
                sweeps.finished().await;
                return Ok(());
            };
            (RelayedStreams::Returned(streams), lookout)
        }
        None => {
            // Kept for the relay's first start, so that no second connection is made.
            link.keep(connection);
            (RelayedStreams::Own(stdio), lookout)
        }
    };
    relay(link, &attach.config, streams, lookout).await;
    // A running sweep would end with this process, and leave a killed daemon's servers running.
    sweeps.finished().await;
    Ok(())
}

/// Relays every message between the client and the daemon.
async fn relay(link: Arc<Link>, config: &Config, streams: RelayedStreams, lookout: Lookout) {
    let name = link.newcomer().shown().to_owned();
    let settings = relay::settings(config, &name, link.newcomer().refusal_mark.as_deref());
    let hub = Hub::new(Core::new(settings), Dispatch::to(link), Telemetry::silent());
    let client = ClientId(1);
    let mut tasks = Tasks::of(&hub);
    tasks.obey(&hub, lookout.signals);
    let (wants, reader) = (Wanted::One(ServerId(0)), ClientReader::default());
    let arrival = Arrival { client, wants, surroundings: Surroundings::default(), reader };
    let (framing, limit) = (settings::fixed(config.framing), config.max_message_bytes);
    match streams {
        RelayedStreams::Own(OwnStdio { input, output }) => {
            let serving = fronts::stdio::serve(hub.clone(), arrival, (input, output), framing, limit);
            tasks.spawn("serving", serving);
        }
        RelayedStreams::Returned(streams) => {
            let options =
                StreamOptions { framing, max_message_bytes: limit, grace: lookout.grace, server: name };
            tasks.spawn("serving", serve_returned(hub.clone(), arrival, streams, options));
        }
    }
    if !lookout.ignore_parent {
        tasks.follow(&hub, client, lookout.parent);
    }
    hub.finished(client, LAST_WRITES_TIMEOUT).await;
    tasks.end();
}

/// Serves the streams that the daemon has given back.
async fn serve_returned(hub: Arc<Hub>, arrival: Arrival, streams: Streams, options: StreamOptions) {
    let client = arrival.client;
    let served = handover::serve(&hub, arrival, &streams, options, std::future::pending()).await;
    // The client reads no more.
    if served.is_err() || matches!(served, Ok(HoldState::Over)) {
        hub.handle(Event::ClientLost { client });
    }
}
